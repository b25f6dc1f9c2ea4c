"""HTML and XML keep their tags, and their text is the translation of their text."""

import re
import sys
from collections import Counter
from html.parser import HTMLParser
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.documents.translators import backwards, identity, unaligned, upper

from regard.documents.characters import decode
from regard.documents.elements import MarkupOptions
from regard.documents.markup import Markup
from regard.documents.scanner import Format, scan
from regard.inference.result import Translation

# What is put one after another to make a document that may have any fault.
SNIPPETS = [
    *("word", "Two words", "a.b", "!", ",", " ", "\n", "  ", "\xa0", "é", "日本語", "\ud800", "\0", "\u200b", "0"),
    *(
        "&",
        "&amp;",
        "&lt;b&gt;",
        "&copy",
        "&notit;",
        "&#x41;",
        "&#65",
        "&#0;",
        f"&#{'9' * 5000};",
        f"&#{'0' * 5000}65;",
        "&foo;",
        "&#xD800;",
    ),
    *("<b>", "</b>", "<i class='x'>", "</i>", '<a href="1>2">', "</a>", "<B>", "<b/>", "<x id=1>", "</x>", "<é>"),
    *("<p>", "</p>", "<li>", "<br>", "<br/>", "<img src=x>", "<wbr>", "<div translate=no>", "</div>", "<pre>", "</pre"),
    *(">", "<span class='notranslate'>", "</span>", "<code>", "</code>", "<sup>", "</sup>", "<td>", "<table>", "<tt>"),
    *("<!-- c -->", "<!--", "-->", "<!-->", "<!x>", "<?php x ?>", "<![CDATA[", "]]>", "</>", "</ x>", "<!DOCTYPE a ["),
    *("<script>", "</script>", "<style>", "</style >", "<title>", "</title>", "<textarea>", "</textarea>", "</pre>"),
    *("<", "</", "<a", "<a b='", '<a b="', "=", "'", '"', "/", "<keep>", "</keep>", "x < y", "1 > 0", "<plaintext>"),
]

snippets = st.lists(st.sampled_from(SNIPPETS), max_size=25).map("".join)
formats: st.SearchStrategy[Format] = st.sampled_from(["html", "xml"])

_words = st.sampled_from(["one", "two", "three.", "(four)", "fi-ve", "s&amp;x", "&lt;b&gt;", "“seven”", "I"])
_texts = st.lists(_words, min_size=1, max_size=4).map(" ".join)
_opening = ["<b>", "<i class='a>b'>", "<a href='x'>", "<span>", "<u>", "<code>", "<em translate='no'>"]
_points = st.sampled_from(["<img src='x'/>", "<!-- x -->", "<wbr/>", "<i></i>", "<script>if (a < b)</script>"])


def _wrap(opening: str, content: str) -> str:
    return f"{opening}{content}</{opening[1:].split()[0].rstrip('>')}>"


def _joined(content: st.SearchStrategy[str], separator: str) -> st.SearchStrategy[str]:
    return st.lists(content, min_size=1, max_size=4).map(separator.join)


# Inline elements in each other, with spaces around all of them and without.
_inline = st.recursive(
    st.one_of(_texts, _points),
    lambda inner: st.one_of(
        st.builds(_wrap, st.sampled_from(_opening), _joined(inner, " ")),
        st.builds(_wrap, st.sampled_from(_opening), _joined(inner, "")),
    ),
    max_leaves=8,
)
sentences = st.one_of(_joined(_inline, " "), _joined(_inline, ""))
pages = st.recursive(
    sentences,
    lambda inner: st.builds(_wrap, st.sampled_from(["<p>", "<div>", "<b>", "<td class=x>"]), _joined(inner, "\n")),
    max_leaves=5,
)


def markup_of(text: str, form: Format = "html") -> Counter[str]:
    return Counter(token.raw for token in scan(text, form) if token.kind != "text")


class _TextReader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""

    def handle_data(self, data: str) -> None:
        if self.cdata_elem is None:
            self.text += data


def text_of(html: str) -> str:
    """Return the text of well-formed HTML as Python's own parser reads it, with single spaces."""
    reader = _TextReader()
    reader.feed(html)
    reader.close()
    return " ".join(reader.text.split())


def is_well_nested(html: str) -> bool:
    stack = []
    for token in scan(html, "html"):
        if token.kind == "start":
            stack.append(token.name)
        elif token.kind == "end" and (not stack or stack.pop() != token.name):
            return False
    return not stack


@settings(max_examples=300)
@given(snippets, formats)
def test_an_unchanged_text_leaves_the_document_unchanged(source: str, form: Format) -> None:
    assert Markup(source, MarkupOptions(form)).translate(identity).text == source


@settings(max_examples=300)
@given(snippets, formats)
def test_no_markup_is_lost_or_added(source: str, form: Format) -> None:
    options = MarkupOptions(form, ignore_tags=frozenset("x"))
    for translate in (upper, backwards, unaligned):
        assert markup_of(Markup(source, options).translate(translate).text, form) == markup_of(source, form)


@settings(max_examples=30)
@given(pages)
def test_elements_stay_nested(source: str) -> None:
    assert is_well_nested(source)
    for translate in (upper, backwards, unaligned):
        result = Markup(source).translate(translate).text
        assert is_well_nested(result)
        assert markup_of(result) == markup_of(source)


@settings(max_examples=60)
@given(sentences)
def test_the_text_is_the_translation_of_the_text(source: str) -> None:
    document = Markup(source)
    if document.texts:
        [text] = document.texts
        assert _without_signs(re.sub("</?keep>", "", text)) == _without_signs(text_of(source))
        [translation] = backwards([text])
        result = text_of(document.translate(backwards).text)
        assert _without_signs(result) == _without_signs(translation.text)


def _without_signs(text: str) -> str:
    """Return a text without < and >, which the translator does not see in protected parts."""
    return " ".join(re.sub("[<>]", " ", text).split())


@pytest.mark.parametrize(
    ("source", "translated"),
    [
        # Elements follow their words.
        ("I see <b>a dog</b>.", "<b>DOG. A</b> SEE I"),
        ("<i>see</i> <b>two <u>dogs</u></b>", "<b><u>DOGS</u> TWO</b> <i>SEE</i>"),
        ("<p><b>one two</b></p>\n<p>three</p>", "<p><b>TWO ONE</b></p>\n<p>THREE</p>"),
        # What is glued to a word in the source is widened to the whole word.
        ("un<b>der</b> it", "IT <b>UNDER</b>"),
        # Space at the borders of an element belongs to the text around it.
        ("one <b> two </b>three", "THREE <b>TWO</b> ONE"),
        ("  one <b>two</b>\n", "  <b>TWO</b> ONE\n"),
        # Elements without words, and markup without text, stay with the word after or before them.
        ("one<img> two", "TWO ONE<img>"),
        ("one <img>two", "<img>TWO ONE"),
        ("<img>one <!-- c --> two <i></i>", "<img><!-- c -->TWO ONE <i></i>"),
        ("one<sup><a href=x>[1]</a></sup> two", "TWO ONE<sup><a href=x>[1]</a></sup>"),
        ("1<sup>st</sup> two", "TWO <sup>1ST</sup>"),
        # What is not translated stays as it is, tags and references included.
        ("one <code>a&eacute;</code> two", "TWO <code>a&eacute;</code> ONE"),
        ("one <i translate='no'>a <b>b</b></i>, two", "TWO <i translate='no'>a <b>b</b></i>, ONE"),
        ("<b class='x notranslate'>one</b> two", "TWO <b class='x notranslate'>one</b>"),
        ("<b class='notranslated'>one</b> two", "TWO <b class='notranslated'>ONE</b>"),
        ("<b title=' translate=no'>one</b> two", "TWO <b title=' translate=no'>ONE</b>"),
        ("<div translate=no><p>one</p></div>two", "<div translate=no><p>one</p></div>TWO"),
        ("<ul><li translate=no>one<li>two</ul>", "<ul><li translate=no>one<li>TWO</ul>"),
        ("one <script>x<y</script>two", "<script>x<y</script>TWO ONE"),
        # Text that is no markup is written so that it stays text.
        ("&lt;script&gt; &amp;amp; two", "TWO &amp;AMP; &lt;SCRIPT&gt;"),
        ("1 < 2 & 3&nbsp;4", "4 3 &amp; 2 &lt;&nbsp;1"),
        ("<title>a <b></title>", "<title>&lt;B&gt; A</title>"),
        # Line breaks count in preformatted text only.
        ("one\n  two", "TWO ONE"),
        ("<pre>one\n  two</pre>", "<pre>TWO\n  ONE</pre>"),
        # Elements that do not end where they should separate texts.
        ("one two<b> three four<p>five</b>", "TWO ONE<b> FOUR THREE<p>FIVE</b>"),
        ("<b>one two<i>three four</b>five six</i>", "<b>TWO ONE<i>FOUR THREE</b>SIX FIVE</i>"),
        ("one two<br>three four", "TWO ONE<br>FOUR THREE"),
        ("<b>one two<p>three</p></b>", "<b>TWO ONE<p>THREE</p></b>"),
    ],
)
def test_html(source: str, translated: str) -> None:
    assert Markup(source).translate(backwards).text == translated


@pytest.mark.parametrize(
    ("source", "translated"),
    [
        ('one <x id="1"></x> <b>two</b>', '<b>TWO</b> <x id="1"></x> ONE'),
        ('<x id="1"/> two', 'TWO <x id="1"/>'),
        ("one &two; &#50;&amp;", "2&amp; &two; ONE"),
        ("one\n  two", "TWO\n  ONE"),
        # Elements with no text beside them separate texts, unless they are a part of a text.
        ("<r><p>one two</p><p>three four</p></r>", "<r><p>TWO ONE</p><p>FOUR THREE</p></r>"),
        ("<r>\n <g><p>one</p><p>two <b>three</b></p></g></r>", "<r>\n <g><p>ONE</p><p><b>THREE</b> TWO</p></g></r>"),
        ("<r>one <g><b>two</b> <i>three</i></g></r>", "<r><g><i>THREE</i> <b>TWO</b></g> ONE</r>"),
        ("<b>one</b> <i>two</i>", "<i>TWO</i> <b>ONE</b>"),
        ("one<![CDATA[two <b>]]&gt;]]>", "ONE<![CDATA[<B>]]&GT; TWO]]>"),
    ],
)
def test_xml(source: str, translated: str) -> None:
    options = MarkupOptions("xml", ignore_tags=frozenset("x"))
    assert Markup(source, options).translate(backwards).text == translated


def test_options() -> None:
    source = "<r><p>one two</p> <q>three</q></r>"
    for options, translated in (
        (MarkupOptions("xml", find_structure=False), "<r><q>THREE</q> <p>TWO ONE</p></r>"),
        (MarkupOptions("xml", splitting_tags=frozenset("p")), "<r><p>TWO ONE</p> <q>THREE</q></r>"),
        (MarkupOptions("xml", non_splitting_tags=frozenset("pq")), "<r><q>THREE</q> <p>TWO ONE</p></r>"),
    ):
        assert Markup(source, options).translate(backwards).text == translated
    assert Markup("a\n b", MarkupOptions("xml", collapse_space=True)).texts == ("a b",)
    assert Markup("a\n b", MarkupOptions(collapse_space=False)).texts == ("a\n b",)
    assert Markup("a<p>b", MarkupOptions(non_splitting_tags=frozenset("p"))).texts == ("a", "b")
    assert Markup("a<p>b</p>", MarkupOptions(non_splitting_tags=frozenset("p"))).texts == ("ab",)
    assert Markup("a<i>b</i>", MarkupOptions(splitting_tags=frozenset("I"))).texts == ("a", "b")


def test_without_alignment_each_text_between_tags_is_translated_by_itself() -> None:
    result = Markup("<p>one two <b>three four</b>.</p>").translate(unaligned)
    assert result.text == "<p>TWO ONE <b>FOUR THREE</b>.</p>"
    assert result.alignment == "none"
    [warning] = result.warnings
    assert warning.kind == "markup" and warning.message.startswith("the model has no word alignment")
    # Not needed where no place depends on it.
    for source in ("<p>one two</p>", "<b><i>one two</i></b>", "<img>one two<!-- c -->"):
        assert Markup(source).translate(unaligned).alignment == "words"


_UNITS = [
    *("<b>", "<b>x ", "<b>x</b> ", "<i><b></i>x</b> ", "<p>x <b>y</b></p>", "<div><b>", "<b><p>", "</b>", "<b><i></b>"),
    *("x", "x.", "x. ", "x<img>", "x <x></x> ", "<code>x</code> ", "<code>", "<li translate=no>x", "<sup>1", "<sup>"),
    *("&#9", "&a;", "&lt;keep>x&lt;/keep> ", " ", "<!---->x ", "<title>x</title>", "<pre>\n", "<x/>", "<keep>"),
]


@pytest.mark.parametrize("form", ["html", "xml"])
def test_the_work_is_linear(form: Format) -> None:
    """A document of twice the size takes about twice as many function calls, with the calls of the interpreter."""
    for unit in _UNITS:
        calls = []
        for size in (1_000, 2_000):
            document_calls = 0

            def count(*_: object) -> None:
                nonlocal document_calls
                document_calls += 1

            def translate(texts: list[str]) -> list[Translation]:
                sys.setprofile(None)
                translations = backwards(texts)
                sys.setprofile(count)
                return translations

            source = unit * (size // len(unit))
            sys.setprofile(count)
            try:
                Markup(source, MarkupOptions(form, ignore_tags=frozenset("x"))).translate(translate)
            finally:
                sys.setprofile(None)
            calls.append(document_calls)
        assert calls[1] <= 2.3 * calls[0] + 500, (unit, calls)


def test_placing_is_linear() -> None:
    """A text of twice the size takes about twice as many lines of code."""
    lines = []
    for size in (300, 600):
        count = 0

        def step(_: FrameType, event: str, __: object) -> Any:
            nonlocal count
            count += event == "line"
            return step

        document = Markup("a " + "<img>" * size + " !" * size)
        sys.settrace(step)
        try:
            document.translate(upper)
        finally:
            sys.settrace(None)
        lines.append(count)
    assert lines[1] <= 2.3 * lines[0], lines


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("&#0065;&#x00041;&#X0;&#00;&#0A", "AA\ufffd\ufffd\ufffdA"),
        (f"&#{'0' * 5000}65;&#x{'0' * 5000}41;", "AA"),
        (f"&#{'0' * 5000}", "\ufffd"),
        (f"&#{'9' * 5000};", "\ufffd"),
    ],
)
def test_zeros_at_the_start_of_a_number_do_not_count(raw: str, text: str) -> None:
    assert decode(raw, "html") == text


def test_markup_without_an_end_is_reported() -> None:
    result = Markup("<p>one two<!-- x").translate(backwards)
    assert result.text == "<p>TWO ONE<!-- x"
    [warning] = result.warnings
    assert warning.message == "the markup at character 10 has no end; what follows was not translated"
