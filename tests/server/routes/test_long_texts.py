"""Long texts in documents, which are divided into sentences."""

from pathlib import Path

import pytest
from tests.server.conftest import KeyedServer

import regard
from regard.server.routes.document_translation import divide

LIMIT = 1_000  # of the server with keys


@pytest.mark.parametrize(
    "text",
    [
        "One. Two! Three? Four",
        "  One.  Two\n\nThree ",
        "no stop " * 20,
        "a" * 100,
        "一。二！三" * 9,
        "<keep>J. S</keep> is. No.",
    ],
)
def test_a_text_is_divided_into_sentences(text: str) -> None:
    plan = divide(text, 18)
    assert "".join(part + space for (part, _), space in plan) == text
    assert len(plan) > 1 and max(len(part) for (part, _), _ in plan) <= 18
    assert divide(text, 1_000) == [((text, False), "")]


def test_protected_spans_are_not_divided() -> None:
    text = "<keep>J. S</keep> is. No."
    assert [part for (part, _), _ in divide(text, 21)] == ["<keep>J. S</keep> is.", "No."]


def upload(keyed: KeyedServer, name: str, content: str) -> str:
    fields = {"source": "en", "target": "xx", "api_key": keyed.full}
    answer = keyed.server.post("/translate_file", files={"file": (name, content)}, data=fields).json()
    return keyed.server.get(answer["translatedFileUrl"].removeprefix(keyed.server.url)).text


def test_a_file_with_a_long_line(keyed: KeyedServer, tiny_translations: dict[str, str]) -> None:
    sentences = list(tiny_translations)
    line = "  ".join(sentences * 30)
    assert len(line) > LIMIT
    expected = "  ".join(list(tiny_translations.values()) * 30)
    assert (
        upload(keyed, "a.txt", f"{sentences[0]}\n{line}\n---\n")
        == f"{tiny_translations[sentences[0]]}\n{expected}\n---\n"
    )


@pytest.fixture(scope="module")
def tiny_translations(tiny: Path) -> dict[str, str]:
    sentences = ["the cat sees a red house.", "a house!", "the red cat?"]
    with regard.load(tiny) as model:
        return {text: each.text for text, each in zip(sentences, model.translate(sentences), strict=True)}


def test_a_file_with_a_long_paragraph(keyed: KeyedServer, tiny_translations: dict[str, str]) -> None:
    sentences = list(tiny_translations)
    text = upload(keyed, "a.html", f"<p>{' '.join(sentences * 30)}</p><i>{sentences[1]}</i>")
    expected = " ".join(list(tiny_translations.values()) * 30)
    assert text == f"<p>{expected}</p><i>{tiny_translations[sentences[1]]}</i>"


def test_placeholders_do_not_make_a_text_too_long(keyed: KeyedServer) -> None:
    """A text of less than 1,000 characters is longer for the translator, which gets signs around each placeholder."""
    text = 'the <x id="7"></x> cat ' * 40
    body = {"text": [text], "target_lang": "XX", "source_lang": "EN", "tag_handling": "xml", "ignore_tags": ["x"]}
    answer = keyed.server.post("/v2/translate", json=body, headers=keyed.bearer(keyed.full))
    assert (answer.status_code, answer.json()["translations"][0]["text"].count('<x id="7"></x>')) == (200, 40)
