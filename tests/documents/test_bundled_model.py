"""Documents that the bundled models translate: tags stand where their words are, and the text is as without tags."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest
from tests.documents.test_markup import is_well_nested, markup_of, text_of

from regard.documents.elements import MarkupOptions
from regard.documents.markup import Markup
from regard.errors import DataError
from regard.inference.result import Translation
from regard.inference.translator_loader import load_translator

Translate = Callable[[Sequence[str]], list[Translation]]


@pytest.fixture(scope="module")
def translate() -> Iterator[Translate]:
    with load_translator() as translator:
        decode = replace(translator.decode, alignment=True)
        yield lambda texts: translator.translate(texts, decode)


@pytest.mark.parametrize(
    ("source", "translated"),
    [
        ("I went to <b>Paris</b> last summer.", "Je suis allé à <b>Paris</b> l'été dernier."),
        ("It is a <i>dog</i>, not <u>a cat</u>.", "C'est un <i>chien</i>, pas <u>un chat</u>."),
        ("<a href='x'><b>I am a student.</b></a>", "<a href='x'><b>Je suis étudiant.</b></a>"),
        ("Two <b>old</b> dogs.", "Deux <b>vieux</b> chiens."),
        ("<p>It is <em>very</em> expensive.<br>She sings.</p>", "<p>C'est <em>très</em> cher.<br>Elle chante.</p>"),
        ("I am <b>tired</b> <img>.", "Je suis <b>fatigué</b><img>."),  # "fatigué." is linked to "."
        ("<b>She</b> sings. <img src=x>", "<b>Elle</b> chante. <img src=x>"),
    ],
)
def test_html(translate: Translate, source: str, translated: str) -> None:
    assert Markup(source).translate(translate).text == translated


def test_the_text_is_that_of_the_plain_translation(translate: Translate) -> None:
    sentences = [
        "The <b>animal</b> didn't cross the <i>street</i> because it was <u>too <b>tired</b></u>.",
        "<a href='/'>My brother</a> <img src=x>bought a new <em>car</em> yesterday<sup>2</sup>, didn't he?",
        "“I don't know,” <span>she <i>said</i></span> &mdash; and then she <b>left</b>.",
        "<i>He</i> <b>has</b> <u>never</u> <s>been</s> <q>there</q>.",
        "Send the <strong>25</strong> letters to <a href='mailto:a@b.org'>tom@example.com</a> &amp; wait.",
    ]
    result = Markup("\n".join(f"<p>{each}</p>" for each in sentences)).translate(translate)
    page = result.text
    assert is_well_nested(page)
    assert markup_of(page) == markup_of("\n".join(f"<p>{each}</p>" for each in sentences))
    plain = translate([text_of(each.replace("<sup>2</sup>", "")) for each in sentences])
    found = [text_of(each.replace("<sup>2</sup>", "")) for each in re.findall("<p>(.*)</p>", page)]
    assert found == [" ".join(each.text.split()) for each in plain]
    assert result.alignment == "words"


def test_what_is_protected_stays_where_the_model_puts_it(translate: Translate) -> None:
    for source, kept in (
        (
            "We had dinner at <span translate='no'>Blue <b>Sky</b></span> yesterday.",
            "<span translate='no'>Blue <b>Sky</b></span>",
        ),
        ("Have you ever seen <code>x &lt; 1</code>?", "<code>x &lt; 1</code>"),
    ):
        result = Markup(source).translate(translate)
        assert kept in result.text
        assert not [one for one in result.warnings if one.kind == "lost span"]
    options = MarkupOptions("xml", ignore_tags=frozenset("x"))
    source = 'Hello <x id="7"></x>, you have <x id="8"></x> messages.'
    result = Markup(source, options).translate(translate)
    assert result.text.index('<x id="7"></x>') < result.text.index('<x id="8"></x>')
    assert markup_of(result.text, "xml") == markup_of(source, "xml")


def test_text_that_looks_like_a_script_stays_text(translate: Translate) -> None:
    source = "<p>Never write &lt;script&gt;alert(1)&lt;/script&gt; in a <b>letter</b> to &lt;b&gt;me&lt;/b&gt;.</p>"
    result = Markup(source).translate(translate).text
    assert markup_of(result) == markup_of(source)
    assert "&lt;script&gt;" in result


@pytest.mark.parametrize("text", ["<b>\0</b> two &#0; dogs", "<b></b>", "", "<p> </p>", "\ufeff<b>x</b>"])
def test_odd_characters(translate: Translate, text: str) -> None:
    assert markup_of(Markup(text).translate(translate).text) == markup_of(text)


def test_half_a_surrogate_pair_is_refused_where_it_would_be_translated(translate: Translate) -> None:
    assert Markup("<b title='\ud800'>\ud800!</b>").translate(translate).text == "<b title='\ud800'>\ud800!</b>"
    with pytest.raises(DataError, match="half of a surrogate pair"):
        Markup("<b>\ud800</b> dogs").translate(translate)
