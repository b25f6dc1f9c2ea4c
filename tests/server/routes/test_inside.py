"""Other continuations of a translation, and looks inside the model, over HTTP."""

from typing import Any

import pytest
from tests.server.running import RunningServer

import regard
from regard.interpret.report.look_data import look_facts

TIRED = "I am tired."


def ask(server: RunningServer, route: str, **fields: Any) -> Any:
    response = server.post(f"/v1/{route}", json={"text": TIRED, "target": "fr", **fields})
    assert response.status_code == 200, response.text
    return response.json()


def test_alternatives_at_a_word(server: RunningServer) -> None:
    [best] = ask(server, "translate", words=True)["translations"]
    found = ask(server, "alternatives", word=2, count=3)
    assert found["source"] == "en"
    words = [each["word"] for each in found["alternatives"]]
    assert words[0] == best["text"].split()[2] and len(set(words)) == 3
    assert all(each["text"].split()[:2] == best["text"].split()[:2] for each in found["alternatives"])
    probabilities = [each["probability"] for each in found["alternatives"]]
    assert probabilities == sorted(probabilities, reverse=True)
    assert probabilities[0] == pytest.approx(best["words"][2]["probability"], rel=1e-3)


def test_alternatives_of_a_given_translation(server: RunningServer) -> None:
    found = ask(server, "alternatives", word=1, translation="Je dors.", count=2)["alternatives"]
    assert len(found) == 2
    assert all(each["text"].startswith("Je ") for each in found)


def test_look(server: RunningServer) -> None:
    with regard.load("en-fr", backend="torch") as model:
        expected = look_facts(model.look(TIRED))
    answer = ask(server, "look", vectors=["decoder.2.cross.4"])
    assert answer["facts"]["texts"] == expected["texts"]
    assert answer["facts"]["written"]["tokens"] == list(expected["written"]["tokens"])
    assert {"encoder.1.self.1", "decoder.3.cross.6"} <= answer["maps"].keys()
    assert answer["vectors"]["decoder.2.cross.4"].keys() >= {"query", "key", "value"}


def test_look_without_a_head(server: RunningServer) -> None:
    answer = ask(server, "look", without="decoder.3.cross.1", parts=["facts"])
    assert answer["facts"]["without"] == "decoder.3.cross.1"
    assert answer["original"]["facts"]["without"] is None
    given = ask(server, "look", translation="Je dors.", parts=["facts"])
    assert given["facts"]["texts"]["target"] == "Je dors."


@pytest.mark.parametrize(
    ("route", "fields", "status", "message"),
    [
        ("alternatives", {}, 422, "word: Field required"),
        ("alternatives", {"word": 9}, 422, "the translation has 3 words, so there is no word 9"),
        ("alternatives", {"word": 0, "count": 11}, 413, "a request may ask for at most 10 alternatives"),
        ("alternatives", {"word": 0, "text": "a\nb", "source": "en"}, 422, "a single line that is not too long"),
        ("alternatives", {"word": 0, "translation": "\ud800"}, 422, "translation has a lone surrogate"),
        ("look", {"text": "", "source": "en"}, 422, "the text is blank"),
        ("look", {"without": "encoder.9.self.1"}, 422, "there is no head 'encoder.9.self.1'"),
        ("look", {"parts": ["all"]}, 422, "parts.0: Input should be 'facts', 'maps', 'opening', 'effects' or 'page'"),
        ("look", {"source": "fr"}, 404, "French (fr) is not available as a target language from French (fr)"),
    ],
)
def test_errors(server: RunningServer, route: str, fields: dict[str, Any], status: int, message: str) -> None:
    response = server.post(f"/v1/{route}", json={"text": TIRED, "target": "fr", **fields})
    assert response.status_code == status
    assert message in response.json()["error"]["message"]
