"""Spans, terms, numbers, warnings and the structure of a text, in translations of the bundled models."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from regard.inference.translator import Translator
from regard.inference.translator_loader import load_translator
from regard.settings.decode import DecodeSettings
from regard.spans.glossary import Glossary
from regard.spans.patterns import find_spans

TEXTS = Path(__file__).parent / "everyday_texts.txt"

# The indentation, the list marker and the outer tag of a line, cells of a table, tabs, and two spaces at the end.
STRUCTURE = re.compile(r"^\s*(?:[-*>#]+ |\d\. |<p>)?|\||\t|</p>$|  $")

ALIGNED = DecodeSettings(alignment=True)


@pytest.fixture(scope="module")
def translator() -> Iterator[Translator]:
    with load_translator() as loaded:
        yield loaded


@pytest.mark.parametrize(
    ("text", "translation"),
    [
        ("Please visit https://example.com today.", "https://example.com"),
        ("Have you ever seen `x = 1`?", "`x = 1`"),
        ("We had dinner at <keep>Blue Sky</keep>.", "Blue Sky"),
        ("Call me at +33 1 23 45 67 89.", "+33 1 23 45 67 89"),
    ],
)
def test_a_span_is_kept_where_the_model_puts_it(translator: Translator, text: str, translation: str) -> None:
    one = translator.translate(text, ALIGNED)
    [span] = one.spans
    assert one.text[slice(*span.target)] == span.text == translation
    assert span.placed_by == "model"
    assert "lost span" not in [warning.kind for warning in one.warnings]
    source, target = text.split(), one.text.split()
    assert one.alignment is not None
    assert all(s < len(source) and t < len(target) for s, t in one.alignment)
    position = next(number for number, word in enumerate(target) if translation.split()[-1] in word)
    assert any(translation.split()[-1] in source[s] for s, t in one.alignment if t == position)


def test_texts_do_not_depend_on_their_batch(translator: Translator) -> None:
    texts = ["%s gave %s to %s.", "I am a student.", "Visit https://example.com.", "{a}", "See {a} and {b}.", "No."]
    together = translator.translate(texts, ALIGNED)
    for one, text in zip(together, texts, strict=True):
        alone = translator.translate(text, ALIGNED)
        assert (one.text, one.spans, one.warnings, one.alignment) == (
            alone.text,
            alone.spans,
            alone.warnings,
            alone.alignment,
        )
    assert together[3].text == "{a}"


def test_a_text_without_spans_is_translated_as_without_protection(translator: Translator) -> None:
    texts = ["I am a student.", "The animal didn't cross the street because it was too tired."]
    protected = translator.translate(texts, ALIGNED)
    assert protected == translator.translate(texts, replace(ALIGNED, protect=False))  # the same batch, so equal scores
    assert all(one.spans == () for one in protected)


def test_a_lost_span_is_reported(translator: Translator) -> None:
    one = translator.translate("%s gave %s to %s.")
    assert one.text.count("%s") == 3
    assert [warning.kind for warning in one.warnings] == ["lost span"]
    assert one.warnings[0].source is not None
    assert one.warnings[0].message == "the model lost %s, which was put at the end"


def test_pairs_of_tags_are_placed_by_the_alignment(translator: Translator) -> None:
    one = translator.translate("I see a <b>cat</b> in the garden.")
    assert "<b>chat</b>" in one.text
    assert one.warnings == ()


def test_terms_of_a_glossary(translator: Translator) -> None:
    glossary = Glossary({"cat": "matou", "garden": "parc"})
    one = translator.translate("The cat sleeps in the garden.", glossary=glossary)
    plain = translator.translate("The cat sleeps in the garden.")
    assert one.text == plain.text.replace("chat", "matou").replace("jardin", "parc") != plain.text
    assert [(span.kind, span.text) for span in one.spans] == [("term", "matou"), ("term", "parc")]
    assert translator.translate("I am a student.", glossary=glossary) == translator.translate("I am a student.")


def test_warnings(translator: Translator) -> None:
    def kinds(text: str, **changes: object) -> list[str]:
        return [one.kind for one in translator.translate(text, DecodeSettings(**changes)).warnings]  # type: ignore[arg-type]

    assert kinds("I am a student.") == []
    assert kinds("I am a student.", max_length=2) == ["length limit"]
    assert "unknown characters" in kinds("I am a 学生.")
    assert "missing number" in kinds("I was born in 7391.")


def test_a_text_in_another_language_has_one_warning(translator: Translator) -> None:
    french = "Les enfants jouent dans le jardin.\nOù est la gare ?"
    german = "Wir sehen uns morgen früh am Bahnhof."
    translations = translator.translate([french, german, "The children play in the garden.", "Oui.", "{a}", ""])
    assert [[one.message for one in each.warnings if one.kind == "language"] for each in translations] == [
        ["the text seems to be in the language fr, but the model translates from en"],
        ["the text seems to be in another language, but the model translates from en"],
        *[[]] * 4,
    ]


def test_warnings_and_spans_have_positions_in_the_whole_text(translator: Translator) -> None:
    text = "I am a student.\n- Visit https://example.com today.\n\n  2) I was born in 7391."
    one = translator.translate(text)
    [span] = one.spans
    assert text[slice(*span.source)] == one.text[slice(*span.target)] == "https://example.com"
    [number] = [warning for warning in one.warnings if warning.kind == "missing number"]
    assert number.source is not None
    assert text[slice(*number.source)] == "7391"


def test_structure_comes_out_as_it_went_in(translator: Translator) -> None:
    one = translator.translate("# I see.\r\n\r\n  - I see.\r\n\t* I see.  \n> 1. I see.\n- [ ] I see.\tI see.\n")
    see = translator.translate("I see.").text
    assert one.text == f"# {see}\r\n\r\n  - {see}\r\n\t* {see}  \n> 1. {see}\n- [ ] {see}\t{see}\n"


def test_a_line_with_many_spans_is_divided_but_no_span_is(translator: Translator) -> None:
    text = " and ".join(f"https://example.com/{'x' * 400}/{number}" for number in range(14))
    one = translator.translate(text)
    spans = [word for word in text.split() if word != "and"]
    assert list(dict.fromkeys(span.text for span in one.spans)) == spans
    assert all(one.text.count(span) for span in spans)


def test_everyday_texts_keep_their_spans_and_their_structure(translator: Translator) -> None:
    """E-mails, documentation and messages of programs, as users send them."""
    texts = TEXTS.read_text("utf-8").removesuffix("\n").split("\n=====\n")
    assert len(texts) == 20
    for text, one in zip(texts, translator.translate(texts, DecodeSettings(beam_size=1)), strict=True):
        lines, translated = text.split("\n"), one.text.split("\n")
        assert [STRUCTURE.findall(line) for line in translated] == [STRUCTURE.findall(line) for line in lines]
        assert all(one.text.count(span.text) >= text.count(span.text) for span in find_spans(text))
        assert all(one.text[slice(*span.target)] == span.text == text[slice(*span.source)] for span in one.spans)


def test_code_blocks_tables_and_signs_are_not_translated(translator: Translator) -> None:
    see = translator.translate("I see.").text
    text = "```sh\nI see.\n```\n| I see. | I see. |\n|---|---|\n---\nI see.\\n\\nI see."
    assert translator.translate(text).text == text.replace("I see.", see).replace(see, "I see.", 1)
