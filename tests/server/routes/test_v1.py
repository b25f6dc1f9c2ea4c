"""Our own interface."""

from typing import Any

import pytest
from tests.server.routes.conftest import Translate
from tests.server.running import RunningServer

import regard

TIRED = "I am tired."


def translate(server: RunningServer, **fields: Any) -> Any:
    response = server.post("/v1/translate", json={"text": TIRED, "target": "fr", **fields})
    assert response.status_code == 200, response.text
    return response.json()["translations"]


def test_a_text(server: RunningServer) -> None:
    with regard.load("en-fr") as model:
        expected = model.translate(TIRED)
    assert translate(server) == [
        {
            "text": expected.text,
            "score": pytest.approx(expected.score),
            "log_probability": pytest.approx(expected.log_probability),
            "source": "en",
            "target": "fr",
            "detected": {"language": "en", "confidence": 100},
            "models": ["en-fr"],
            "pivot": None,
            "alternatives": [],
            "warnings": [],
            "words": None,
            "source_words": None,
        }
    ]


def test_texts_in_several_languages(server: RunningServer, expected: Translate) -> None:
    first, second, third = translate(server, text=[TIRED, "Où est le chat ?", ""], target="EN-us")
    assert [first["text"], first["models"], first["score"]] == [TIRED, [], None]
    assert [second["text"], second["models"]] == [expected("Où est le chat ?", "fr", "en"), ["fr-en"]]
    assert third["text"] == ""
    # The language of the model, not that of the word, which is French as well.
    [named] = translate(server, text="information, table", target="fr", model="en-fr")
    assert [named["source"], named["models"], named["detected"]] == ["en", ["en-fr"], None]
    [given] = translate(server, source="en", model="en-fr")
    assert given["detected"] is None


def test_n_best(server: RunningServer) -> None:
    [best] = translate(server, n_best=5)
    others = best["alternatives"]
    assert len({best["text"], *(each["text"] for each in others)}) == 5
    scores = [best["score"], *(each["score"] for each in others)]
    assert scores == sorted(scores, reverse=True)


def test_words(server: RunningServer) -> None:
    text = "Where is 😀 the cat of https://example.com today?"
    [found] = translate(server, text=text, words=True, source="en")
    words, source_words = found["words"], found["source_words"]
    assert [word["text"] for word in words] == found["text"].split()
    assert [word["text"] for word in source_words] == text.split()
    for of, each in ((found["text"], words), (text, source_words)):
        for word in each:
            assert of[word["start"] : word["end"]] == word["text"]
            utf16 = of.encode("utf-16-le")[2 * word["utf16_start"] : 2 * word["utf16_end"]]
            assert utf16.decode("utf-16-le") == word["text"]
    assert source_words[-1]["utf16_start"] == source_words[-1]["start"] + 1
    links = {word["text"]: [source_words[number]["text"] for number in word["source"]] for word in words}
    assert links["chat"] == ["cat"]
    assert links["https://example.com"] == ["https://example.com"]
    probabilities = {word["text"]: word["probability"] for word in words}
    assert probabilities["https://example.com"] is None  # the model has not written it
    assert 0 < probabilities["chat"] <= 1


def test_words_of_a_copy(server: RunningServer) -> None:
    [found] = translate(server, text="https://example.com 42", words=True, source="en")
    assert [word["probability"] for word in found["words"]] == [None, None]


def test_warnings(server: RunningServer) -> None:
    [found] = translate(server, text="Give me @@@ §§ ¤ x.", source="en")
    assert {each["kind"] for each in found["warnings"]} >= {"unknown characters"}
    begin, end = found["warnings"][0]["source"]
    assert "Give me @@@ §§ ¤ x."[begin:end] in found["warnings"][0]["message"]


def test_tags(server: RunningServer) -> None:
    for name in ("html", "xml"):
        [found] = translate(server, text="<p>I am <b>tired</b>.</p>", format=name)
        assert found["text"] == "<p>Je suis <b>fatigué</b>.</p>"


@pytest.mark.parametrize(
    ("fields", "status", "code", "message"),
    [
        ({"text": 5}, 422, "invalid_request", "text.str: Input should be a valid string"),
        ({"text": []}, 422, "invalid_request", "text.str: Input should be a valid string"),
        ({"text": "\ud800"}, 422, "invalid_request", "text has a lone surrogate, which is not a character"),
        ({"texts": "a"}, 422, "invalid_request", "texts: Extra inputs are not permitted"),
        ({"n_best": "3"}, 422, "invalid_request", "n_best: Input should be a valid integer"),
        ({"n_best": 12}, 422, "invalid_request", "n_best must be at most 11"),
        ({"format": "html", "words": True}, 422, "invalid_request", "n_best and words need the format text"),
        ({"target": "de"}, 404, "unknown_pair", "the models translate between en, fr"),
        ({"source": "fr", "model": "none"}, 404, "unknown_pair", "no model has this name; the models are en-fr, fr-en"),
        ({"source": "en", "model": "fr-en"}, 404, "unknown_pair", "the model fr-en translates from fr to en"),
        ({"text": "a" * 5_001}, 413, "too_large", "a text may have at most 5,000 characters"),
        ({"text": ["a"] * 129}, 413, "too_large", "a request may have at most 128 texts"),
    ],
)
def test_errors(server: RunningServer, fields: dict[str, Any], status: int, code: str, message: str) -> None:
    response = server.post("/v1/translate", json={"text": TIRED, "target": "fr", **fields})
    assert (response.status_code, response.json()) == (status, {"error": {"code": code, "message": message}})


def test_a_body_that_is_not_said_to_be_json(server: RunningServer) -> None:
    response = server.post("/v1/translate", data={"text": TIRED, "target": "fr"})
    message = "the body must be a JSON object, sent with the header Content-Type: application/json"
    assert (response.status_code, response.json()["error"]["message"]) == (422, message)


@pytest.mark.parametrize("body", [b"{", b"[" * 100_000, b"\xff", b'{"text": "\xff"}'])
def test_wrong_json(server: RunningServer, body: bytes) -> None:
    response = server.post("/v1/translate", data=body, headers={"Content-Type": "application/json"})
    assert response.status_code in (400, 422)
    assert response.json()["error"]["code"] in ("bad_request", "invalid_request")


def test_detect(server: RunningServer) -> None:
    one, none = server.post("/v1/detect", json={"text": ["Bonjour tout le monde", "123"]}).json()["detections"]
    assert (one, none) == ([{"language": "fr", "confidence": 100}], [])


def test_models(server: RunningServer) -> None:
    models = server.get("/v1/models").json()["models"]
    assert [(each["name"], each["source"], each["target"]) for each in models] == [
        ("en-fr", "en", "fr"),
        ("fr-en", "fr", "en"),
    ]
    assert models[0]["card"].startswith("# A translator from en to fr")
    assert models[0]["has_alignment"]


def test_unknown_paths(server: RunningServer) -> None:
    assert server.get("/v1/missing").json() == {"error": {"code": "not_found", "message": "Not Found"}}
    wrong = server.get("/v1/translate")
    assert (wrong.status_code, wrong.headers["Allow"]) == (405, "POST")
    assert wrong.json()["error"]["code"] == "method_not_allowed"
