"""DeepL's interface: its shapes and its error messages."""

from typing import Any

import pytest
from tests.server.routes.conftest import Translate
from tests.server.running import RunningServer

TIRED = "I am tired."


def translate(server: RunningServer, **fields: Any) -> Any:
    response = server.post("/v2/translate", json={"text": [TIRED], "target_lang": "FR", **fields})
    assert response.status_code == 200, response.text
    return response.json()["translations"]


def test_json(server: RunningServer, expected: Translate) -> None:
    plain = {"detected_source_language": "EN", "text": expected(TIRED)}
    assert translate(server) == [plain]
    assert translate(server, source_lang="en", show_billed_characters=True) == [{**plain, "billed_characters": 11}]
    asked = translate(server, model_type="prefer_quality_optimized")
    assert asked == [{**plain, "model_type_used": "quality_optimized"}]


def test_a_form_with_repeated_texts(server: RunningServer, expected: Translate) -> None:
    fields = [("text", TIRED), ("text", "Où est le chat ?"), ("target_lang", "en-GB"), ("show_billed_characters", "1")]
    assert server.post("/v2/translate", data=fields).json()["translations"] == [
        {"detected_source_language": "EN", "text": TIRED, "billed_characters": 0},
        {"detected_source_language": "FR", "text": expected("Où est le chat ?", "fr", "en"), "billed_characters": 16},
    ]


def test_an_empty_text_keeps_its_place(server: RunningServer, expected: Translate) -> None:
    fields = [("text", ""), ("text", TIRED), ("text", ""), ("target_lang", "FR"), ("source_lang", "EN")]
    translations = server.post("/v2/translate", data=fields).json()["translations"]
    assert [each["text"] for each in translations] == ["", expected(TIRED), ""]
    assert [each["text"] for each in translate(server, text=["", TIRED], source_lang="EN")] == ["", expected(TIRED)]


def test_line_breaks(server: RunningServer, expected: Translate) -> None:
    text = "I am\ntired."
    assert translate(server, text=text, source_lang="EN")[0]["text"] == expected(text)
    for value in ("0", "nonewlines"):
        assert translate(server, text=text, source_lang="EN", split_sentences=value)[0]["text"] == expected(TIRED)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"text": None}, "Parameter 'text' not specified"),
        ({"text": []}, "Parameter 'text' not specified"),
        ({"text": 5}, "text must be a text, not a number"),
        ({"text": [[]]}, "text must be a text, not a list"),
        ({"target_lang": None}, "Parameter 'target_lang' not specified"),
        ({"target_lang": "XX"}, "Value for 'target_lang' not supported."),
        ({"source_lang": "XX"}, "Value for 'source_lang' not supported."),
        ({"tag_handling": "markdown"}, "Value for 'tag_handling' not supported."),
        ({"formality": "more"}, "'formality' is not supported for given 'target_lang'."),
    ],
)
def test_errors(server: RunningServer, fields: dict[str, Any], message: str) -> None:
    response = server.post("/v2/translate", json={"text": ["a"], "target_lang": "FR", **fields})
    assert (response.status_code, response.json()) == (400, {"message": message})


def test_a_text_that_is_too_long(server: RunningServer) -> None:
    response = server.post("/v2/translate", json={"text": ["a" * 5_001], "target_lang": "FR", "source_lang": "EN"})
    assert (response.status_code, response.json()["message"]) == (413, "a text may have at most 5,000 characters")


def test_tags(server: RunningServer, expected: Translate) -> None:
    text = 'I am <b>tired</b> <x id="7"></x>.'
    for handling in ("xml", "html"):
        [found] = translate(server, text=text, tag_handling=handling, ignore_tags=["x"])
        assert found["tag_handling_version"] == "v2"
        assert "<b>fatigué</b>" in found["text"] and '<x id="7"></x>' in found["text"]
    lines = "<doc><par>I am tired.</par><par>Where is the cat?</par></doc>"
    translated = f"<doc><par>{expected(TIRED)}</par><par>{expected('Where is the cat?')}</par></doc>"
    assert translate(server, text=lines, tag_handling="xml")[0]["text"] == translated
    [kept] = translate(server, text=lines, tag_handling="xml", ignore_tags="doc")
    assert kept["text"] == lines


def test_formality_that_may_be_ignored(server: RunningServer) -> None:
    assert translate(server, formality="prefer_more") == translate(server, formality="default") == translate(server)


def test_languages(server: RunningServer) -> None:
    sources = [{"language": "EN", "name": "English"}, {"language": "FR", "name": "French"}]
    assert server.get("/v2/languages").json() == server.get("/v2/languages?type=source").json() == sources
    targets = server.get("/v2/languages", data={"type": "target"}).json()
    assert [each["language"] for each in targets] == ["EN-GB", "EN-US", "FR"]
    assert {each["supports_formality"] for each in targets} == {False}
    wrong = server.get("/v2/languages?type=both")
    message = "Parameter 'type' is invalid. 'source' and 'target' are valid values."
    assert (wrong.status_code, wrong.json()) == (400, {"message": message})


def test_usage_without_a_quota(server: RunningServer) -> None:
    usage = server.get("/v2/usage").json()
    assert usage["character_limit"] == 1_000_000_000_000
    assert usage["character_count"] >= 0


def test_glossaries(server: RunningServer) -> None:
    assert server.get("/v2/glossary-language-pairs").json() == {"supported_languages": []}
    assert server.get("/v2/glossaries").json() == {"glossaries": []}
    fields = {"name": "a", "source_lang": "en", "target_lang": "fr", "entries": "a\tb", "entries_format": "tsv"}
    for version in ("v2", "v3"):
        refusal = server.post(f"/{version}/glossaries", json=fields)
        assert refusal.status_code == 400
        assert refusal.json()["detail"] == "Unsupported glossary source/target language pair"
        missing = server.get(f"/{version}/glossaries/1/entries")
        assert (missing.status_code, missing.json()) == (404, {"message": "Glossary not found"})
    used = server.post("/v2/translate", json={"text": ["a"], "target_lang": "FR", "glossary_id": "1"})
    assert (used.status_code, used.json()) == (404, {"message": "Glossary not found"})


def test_a_document(server: RunningServer, expected: Translate) -> None:
    handle = server.post(
        "/v2/document", files={"file": ("notes.txt", b"I am tired.\nWhere is the cat?")}, data={"target_lang": "fr"}
    ).json()
    url, key = f"/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}
    server.wait_until(lambda: server.post(url, json=key).json()["status"] == "done")
    assert server.post(url, data=key).json() == {
        "document_id": handle["document_id"],
        "status": "done",
        "billed_characters": 28,  # line breaks are not translated
    }
    result = server.post(f"{url}/result", json=key)
    assert result.text == f"{expected(TIRED)}\n{expected('Where is the cat?')}"
    for wrong in ({"document_key": "0" * 64}, {}):
        for path in (url, f"{url}/result"):
            refusal = server.post(path, json=wrong)
            assert (refusal.status_code, refusal.json()) == (404, {"message": "Document not found"})
    # The open address of LibreTranslate's files does not give it to those who know only the identifier.
    for name in (handle["document_id"], f"{handle['document_id']}-", f"{handle['document_id']}-{'0' * 64}"):
        assert server.get(f"/download_file/{name}.txt").status_code == 404


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        (None, {"target_lang": "FR"}, "Parameter 'file' not specified"),
        ("a.txt", {}, "Parameter 'target_lang' not specified"),
        ("a.txt", {"target_lang": "FR", "output_format": "pdf"}, "Value for 'output_format' not supported."),
        ("a.docx", {"target_lang": "FR"}, "files of the type .docx cannot be translated, only .txt, .html and .htm"),
    ],
)
def test_documents_that_are_refused(
    server: RunningServer, name: str | None, fields: dict[str, str], message: str
) -> None:
    files = {"file": (name, b"a")} if name else None
    response = server.post("/v2/document", files=files, data=fields)
    assert (response.status_code, response.json()) == (400, {"message": message})


def test_unknown_paths(server: RunningServer) -> None:
    assert server.get("/v2/missing").json() == {"message": "Not Found"}
    wrong = server.get("/v2/translate")
    assert (wrong.status_code, wrong.json()) == (405, {"message": "Method Not Allowed"})
