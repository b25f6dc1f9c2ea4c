"""HTML and XML keep their tags, and their text is the translation of their text."""

import re
from collections import Counter
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st
from tests.documents.translators import backwards, identity, unaligned, upper

from regard.documents.elements import MarkupOptions
from regard.documents.markup import Markup
from regard.documents.scanner import Format, scan

# What is put one after another to make a document that may have any fault.
_SNIPPETS = [
    *("word", "Two words", "a.b", "!", ",", " ", "\n", "  ", "\xa0", "é", "日本語", "\ud800", "\0", "\u200b", "0"),
    *("&", "&amp;", "&lt;b&gt;", "&copy", "&notit;", "&#x41;", "&#65", "&#0;", f"&#{'9' * 5000};", "&foo;", "&#xD800;"),
    *("<b>", "</b>", "<i class='x'>", "</i>", '<a href="1>2">', "</a>", "<B>", "<b/>", "<x id=1>", "</x>", "<é>"),
    *(
        "<p>",
        "</p>",
        "<li>",
        "<br>",
        "<br/>",
        "<img src=x>",
        "<wbr>",
        "<div translate=no>",
        "</div>",
        "<pre>",
        "</pre>",
    ),
    *("<span class='notranslate'>", "</span>", "<code>", "</code>", "<sup>", "</sup>", "<td>", "<table>"),
    *("<!-- c -->", "<!--", "-->", "<!-->", "<!x>", "<?php x ?>", "<![CDATA[", "]]>", "</>", "</ x>", "<!DOCTYPE a ["),
    *(
        "<script>",
        "</script>",
        "<style>",
        "</style >",
        "<title>",
        "</title>",
        "<textarea>",
        "</textarea>",
        "<plaintext>",
    ),
    *(
        "</textarea>",
        "<",
        ">",
        "</",
        "<a",
        "<a b='",
        '<a b="',
        "=",
        "'",
        '"',
        "/",
        "<keep>",
        "</keep>",
        "x < y",
        "1 > 0",
        "<3",
    ),
]

snippets = st.lists(st.sampled_from(_SNIPPETS), max_size=25).map("".join)
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


@given(snippets, formats)
def test_an_unchanged_text_leaves_the_document_unchanged(source: str, form: Format) -> None:
    assert Markup(source, MarkupOptions(form)).translate(identity).text == source


@given(snippets, formats)
def test_no_markup_is_lost_or_added(source: str, form: Format) -> None:
    options = MarkupOptions(form, ignore_tags=frozenset("x"))
    for translate in (upper, backwards, unaligned):
        assert markup_of(Markup(source, options).translate(translate).text, form) == markup_of(source, form)


@given(pages)
def test_elements_stay_nested(source: str) -> None:
    assert is_well_nested(source)
    for translate in (upper, backwards, unaligned):
        result = Markup(source).translate(translate).text
        assert is_well_nested(result)
        assert markup_of(result) == markup_of(source)


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
