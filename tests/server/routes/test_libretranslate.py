"""LibreTranslate's interface: its shapes, its order of checks, its error messages."""

import re
from typing import Any

import pytest
import requests
from tests.server.routes.conftest import Translate
from tests.server.running import RunningServer

TIRED = "I am tired."
HELLO = {"q": TIRED, "source": "en", "target": "fr"}
GIVEN = {"confidence": 100, "language": "en"}


def translate(server: RunningServer, **fields: Any) -> Any:
    response = server.post("/translate", json={**HELLO, **fields})
    assert response.status_code == 200, response.text
    return response.json()


def refused(server: RunningServer, path: str = "/translate", status: int = 400, **options: Any) -> str:
    response = server.post(path, **options)
    assert response.status_code == status, response.text
    return str(response.json()["error"])


def test_one_text(server: RunningServer, expected: Translate) -> None:
    assert translate(server) == {"translatedText": expected(TIRED), "detectedLanguage": GIVEN}


def test_the_query_string_and_an_empty_body(server: RunningServer, expected: Translate) -> None:
    response = server.post("/translate", params={**HELLO, "format": "text", "api_key": "x"})
    assert response.json()["translatedText"] == expected(TIRED)


def test_a_list_of_texts(server: RunningServer, expected: Translate) -> None:
    texts = [TIRED, "", "Où est le chat ?", "😀"]
    answer = translate(server, q=texts, source="auto", alternatives=1)
    assert answer["translatedText"][:3] == [expected(TIRED), "", texts[2]]  # the third one is French already
    assert [each["language"] for each in answer["detectedLanguage"]] == ["en", "en", "fr", "en"]
    assert answer["detectedLanguage"][1]["confidence"] == 0
    assert [len(each) for each in answer["alternatives"]] == [1, 0, 0, 0]


def test_alternatives(server: RunningServer) -> None:
    answer = translate(server, alternatives=3)
    assert len({answer["translatedText"], *answer["alternatives"]}) == 4
    assert len(translate(server, alternatives="6")["alternatives"]) == 6  # more than the beam size of the model
    assert "alternatives" not in translate(server, alternatives=-1)


def test_the_same_language(server: RunningServer) -> None:
    assert translate(server, target="en")["translatedText"] == TIRED


@pytest.mark.parametrize("code", ["FR", "fr-FR", "fr_CA"])
def test_variants_fall_back_to_the_language(server: RunningServer, expected: Translate, code: str) -> None:
    assert translate(server, source="EN-us", target=code)["translatedText"] == expected(TIRED)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"q": None}, "Invalid request: missing q parameter"),
        ({"q": ""}, "Invalid request: missing q parameter"),
        ({"q": []}, "Invalid request: missing q parameter"),
        ({"source": None, "target": None}, "Invalid request: missing source parameter"),
        ({"target": None, "alternatives": "x"}, "Invalid request: missing target parameter"),
        ({"alternatives": "x"}, "Invalid request: alternatives parameter is not a number"),
        ({"alternatives": [1]}, "Invalid request: alternatives parameter is not a number"),
        ({"alternatives": 10**9, "source": "zz"}, "Invalid request: alternatives parameter must be <= 10"),
        ({"q": ["a"] * 129, "source": "zz"}, "Invalid request: request (129) exceeds text limit (128)"),
        ({"q": "a" * 5_001, "source": "zz"}, "Invalid request: request (5001) exceeds text limit (5000)"),
        ({"source": "zz", "format": "xml"}, "zz is not supported"),
        ({"target": "zz"}, "zz is not supported"),
        ({"target": "z" * 5_000}, f"{'z' * 40} is not supported"),
        ({"format": "xml"}, "xml format is not supported"),
        ({"q": 5}, "q must be a text, not a number"),
        ({"q": ["a", None]}, "q must be a text, not null"),
        ({"source": ["en"]}, "source must be a text, not a list"),
    ],
)
def test_errors(server: RunningServer, fields: dict[str, Any], message: str) -> None:
    assert refused(server, json={**HELLO, **fields}) == message


def test_json_that_is_no_object(server: RunningServer) -> None:
    assert refused(server, json=["not", "a", "dict"]) == "Invalid JSON format"


def test_detect(server: RunningServer) -> None:
    [found, *_] = server.post("/detect", data={"q": "Bonjour tout le monde"}).json()
    assert found == {"confidence": 100, "language": "fr"}
    assert server.post("/detect", data={"q": "123"}).text == '[{"confidence":0,"language":"en"}]'
    assert refused(server, "/detect", data={}) == "Invalid request: missing q parameter"
    assert server.get("/detect").status_code == 405


def test_languages(server: RunningServer) -> None:
    languages = [
        {"code": "en", "name": "English", "targets": ["en", "fr"]},
        {"code": "fr", "name": "French", "targets": ["en", "fr"]},
    ]
    for options in ({}, {"data": {"api_key": "k"}}, {"headers": {"Content-Type": "application/json"}}):
        assert server.get("/languages", **options).json() == languages
    # Old clients send a form, which makes it a POST; LibreTranslate answers no POST.
    assert server.post("/languages", data={"api_key": "k"}).json() == languages
    refusal = server.post("/languages")
    assert (refusal.status_code, refusal.headers["Allow"]) == (405, "GET")


def test_settings_of_the_page(server: RunningServer) -> None:
    settings = server.get("/frontend/settings").json()
    assert settings["language"]["target"] == {"code": "fr", "name": "French"}
    assert settings["supportedFilesFormat"] == [".txt", ".html", ".htm"]
    assert [settings[name] for name in ("charLimit", "keyRequired", "suggestions")] == [5_000, False, False]


def test_clients_recognise_the_server(server: RunningServer) -> None:
    spec = server.get("/spec").json()
    assert spec["info"]["title"] == "LibreTranslate"
    assert {"/translate", "/detect", "/languages", "/translate_file"} <= spec["paths"].keys()
    assert server.post("/").status_code == 200  # Nextcloud tests the connection so


def test_health(server: RunningServer) -> None:
    for path in ("/health", "/readyz", "/livez", "/healthz"):
        assert server.get(path).json() == {"status": "ok"}
        assert server.post(path).status_code == 405


def test_suggestions_are_refused(server: RunningServer) -> None:
    fields = {"q": "a", "s": "b", "source": "en", "target": "fr"}
    assert refused(server, "/suggest", 403, data=fields) == "Suggestions are disabled on this server."


@pytest.mark.parametrize("path", ["/missing", "/translate/", "/download_file/missing.txt"])
def test_unknown_paths(server: RunningServer, path: str) -> None:
    response = server.get(path, allow_redirects=False)
    assert (response.status_code, response.json()) == (404, {"error": "Not Found"})


def send_file(server: RunningServer, content: bytes, name: str = "notes.txt", **fields: str) -> requests.Response:
    data = {"source": "en", "target": "fr", **fields}
    return server.post("/translate_file", files={"file": (name, content)}, data=data)


def test_a_text_file(server: RunningServer, expected: Translate) -> None:
    lines = ["I am tired.", "", "  Where is the cat?", ""]
    response = send_file(server, "\r\n".join(lines).encode(), source="auto")
    url = response.json()["translatedFileUrl"]
    assert re.fullmatch(re.escape(server.url) + r"/download_file/[0-9A-F]{32}-[0-9A-F]{64}\.txt", url)
    found = requests.get(url, timeout=60)
    assert found.content.decode() == "\r\n".join(map(expected, lines))
    assert found.headers["Content-Disposition"] == "attachment; filename*=utf-8''notes_fr.txt"
    assert found.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert requests.get(url, timeout=60).content == found.content  # for ten minutes


@pytest.mark.parametrize(
    ("content", "fields", "message"),
    [
        (b"a", {"name": "a.docx"}, "files of the type .docx cannot be translated, only .txt, .html and .htm"),
        (b"\xff", {}, "the file is not utf-8: byte 0 is wrong; convert it to UTF-8"),
        (b"a", {"source": ""}, "Invalid request: missing source parameter"),
        (b"a", {"target": "zz"}, "zz is not supported"),
        (b"a", {"name": ""}, "Invalid request: missing file parameter"),
    ],
)
def test_files_that_are_refused(server: RunningServer, content: bytes, fields: dict[str, str], message: str) -> None:
    response = send_file(server, content, **fields)
    assert (response.status_code, response.json()["error"]) == (400, message)
    assert refused(server, "/translate_file", data=HELLO) == "Invalid request: missing file parameter"


PAGE = '<p>I am <b>tired</b>.</p>\n<p class="x">Where is the cat?<br>I &amp; you</p>'


def test_html(server: RunningServer, expected: Translate) -> None:
    answer = translate(server, q=PAGE, format="html", alternatives=2)
    assert answer["translatedText"].startswith("<p>Je suis <b>fatigué</b>.</p>\n")
    assert f'<p class="x">{expected("Where is the cat?")}<br>' in answer["translatedText"]
    assert answer["alternatives"] == []
    both = translate(server, q=[PAGE, PAGE], format="html", source="auto")
    assert both["translatedText"] == [answer["translatedText"]] * 2


def test_an_html_file(server: RunningServer) -> None:
    url = send_file(server, PAGE.encode(), name="Page.HTML").json()["translatedFileUrl"]
    found = requests.get(url, timeout=60)
    assert found.text == translate(server, q=PAGE, format="html")["translatedText"]
    assert found.headers["Content-Type"] == "text/html; charset=utf-8"
    assert found.headers["Content-Disposition"].startswith("attachment;")


def test_html_with_more_texts_than_a_request_may_have(server: RunningServer, expected: Translate) -> None:
    page = "<p>I am tired.</p>" * 200
    assert translate(server, q=page, format="html")["translatedText"] == f"<p>{expected(TIRED)}</p>" * 200


def test_warnings_are_in_a_header(server: RunningServer) -> None:
    response = server.translate("Give me 12 eggs and 17 apples @@@ 99 §§ ¤ x.")
    assert "unknown characters" in response.headers["X-Regard-Warnings"]
    assert "X-Regard-Warnings" not in server.translate(TIRED).headers
