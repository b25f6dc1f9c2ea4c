"""Requests of applications that cannot run here, as their source code sends them, byte for byte."""

import json
import socket
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

from tests.server.routes.conftest import Translate
from tests.server.running import RunningServer

TIRED = "I am tired."


def exchange(server: RunningServer, head: str, body: bytes = b"") -> tuple[int, Any]:
    """Send a request and return the status and the JSON of the answer. The head has neither Host nor length."""
    place = urlsplit(server.url)
    lines = [*head.strip().splitlines(), f"Host: {place.netloc}", f"Content-Length: {len(body)}", "Connection: close"]
    with socket.create_connection((place.hostname, place.port), timeout=60) as connection:
        connection.sendall("\r\n".join([*map(str.strip, lines), "", ""]).encode() + body)
        with connection.makefile("rb") as reader:
            answer = reader.read()
    start, _, content = answer.partition(b"\r\n\r\n")
    return int(start.split()[1]), json.loads(content)


def multipart(boundary: str, *fields: tuple[str, str]) -> bytes:
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in fields
    ]
    return "".join([*parts, f"--{boundary}--\r\n"]).encode()


def test_mastodon(server: RunningServer, expected: Translate) -> None:
    """Mastodon sends the content and each option of a poll in one list, and always asks for HTML."""
    body = (
        b'{"q":["<p>I am tired.</p>","","Where is the cat?"],"source":"en","target":"fr","format":"html",'
        b'"api_key":null}'
    )
    head = """POST /translate HTTP/1.1
        Content-Type: application/json
        User-Agent: Mastodon/4.5.0 (http.rb/5.3.1; +https://mastodon.example/)
        Accept-Encoding: gzip"""
    status, answer = exchange(server, head, body)
    assert status == 200
    assert answer["translatedText"] == [f"<p>{expected(TIRED)}</p>", "", expected("Where is the cat?")]
    assert [each["language"] for each in answer["detectedLanguage"]] == ["en"] * 3
    automatic = body.replace(b'"source":"en"', b'"source":"auto"')
    assert exchange(server, head, automatic)[1]["translatedText"] == answer["translatedText"]
    head = head.replace("POST /translate", "GET /languages")
    assert {each["code"]: each["targets"] for each in exchange(server, head)[1]}["en"] == ["en", "fr"]


def test_weblate_with_libretranslate(server: RunningServer, expected: Translate) -> None:
    agent = "User-Agent: Weblate/5.14.3"
    status, languages = exchange(server, f"GET /languages HTTP/1.1\nAccept: */*\n{agent}")
    assert (status, [each["code"] for each in languages]) == (200, ["en", "fr"])
    body = b'{"api_key": "", "q": ["I am tired.", "Where is the cat?"], "source": "en", "target": "fr"}'
    status, answer = exchange(server, f"POST /translate HTTP/1.1\nContent-Type: application/json\n{agent}", body)
    assert (status, answer["translatedText"]) == (200, [expected(TIRED), expected("Where is the cat?")])


def test_weblate_with_deepl(server: RunningServer) -> None:
    """Weblate escapes texts, puts an empty element in the place of each placeholder, and asks about glossaries."""
    key = "Authorization: DeepL-Auth-Key k1\nUser-Agent: Weblate/5.14.3"
    for kind, codes in (("source", ["EN", "FR"]), ("target", ["EN-GB", "EN-US", "FR"])):
        status, languages = exchange(server, f"GET /v2/languages?type={kind} HTTP/1.1\n{key}")
        assert (status, [each["language"] for each in languages]) == (200, codes)
    status, pairs = exchange(server, f"GET /v2/glossary-language-pairs HTTP/1.1\n{key}")
    assert (status, pairs) == (200, {"supported_languages": []})
    body = json.dumps(
        {
            "text": ['Hello <x id="6"></x>, I am &lt;tired&gt;.'],
            "source_lang": "EN",
            "target_lang": "FR",
            "formality": "default",
            "tag_handling": "xml",
            "ignore_tags": ["x"],
        }
    ).encode()
    status, answer = exchange(server, f"POST /v2/translate HTTP/1.1\nContent-Type: application/json\n{key}", body)
    [found] = answer["translations"]
    assert status == 200
    assert found["text"].count('<x id="6"></x>') == 1
    assert [each.tag for each in ElementTree.fromstring(f"<text>{found['text']}</text>")] == ["x"]
    status, answer = exchange(
        server, f"POST /v2/translate HTTP/1.1\nContent-Type: application/json\n{key}", body.replace(b'"FR"', b'"DE"')
    )
    assert (status, answer["message"]) == (400, "Value for 'target_lang' not supported.")


def test_discourse(server: RunningServer, expected: Translate) -> None:
    head = "POST /%s HTTP/1.1\nContent-Type: application/x-www-form-urlencoded\nUser-Agent: excon/1.2.5"
    status, found = exchange(server, head % "detect", b"q=I+am+tired.&api_key=")
    assert (status, found[0]["language"]) == (200, "en")
    body = b"q=%3Cp%3EI+am+tired.%3C%2Fp%3E&source=en&target=fr&format=html&api_key="
    status, answer = exchange(server, head % "translate", body)
    assert (status, answer["translatedText"]) == (200, f"<p>{expected(TIRED)}</p>")
    status, languages = exchange(server, "GET /languages HTTP/1.1\nUser-Agent: excon/1.2.5")
    assert (status, {each["code"] for each in languages}) == (200, {"en", "fr"})


def test_nextcloud(server: RunningServer, expected: Translate) -> None:
    """Its PHP client sends every request as a multipart form, also a GET, and reads files from an absolute address."""
    boundary = "------------------------d74496d66958873e"
    kind = f"Content-Type: multipart/form-data; boundary={boundary}\nAccept: */*"
    empty = f"--{boundary}--\r\n".encode()
    assert exchange(server, f"POST / HTTP/1.1\n{kind}", empty)[0] == 200
    status, settings = exchange(server, f"GET /frontend/settings HTTP/1.1\n{kind}", empty)
    assert (status, settings["keyRequired"]) == (200, False)
    status, languages = exchange(server, f"GET /languages HTTP/1.1\n{kind}", empty)
    assert (status, {each["code"]: each["name"] for each in languages}) == (200, {"en": "English", "fr": "French"})
    status, found = exchange(server, f"POST /detect?q=I+am+tired.&api_key= HTTP/1.1\n{kind}", empty)
    assert (status, found[0]["language"]) == (200, "en")
    fields = [("q", TIRED), ("format", "html"), ("source", "en"), ("target", "fr"), ("api_key", "")]
    status, answer = exchange(server, f"POST /translate HTTP/1.1\n{kind}", multipart(boundary, *fields))
    assert (status, answer["translatedText"]) == (200, expected(TIRED))
    file = b'Content-Disposition: form-data; name="file"; filename="notes.txt"\r\nContent-Type: text/plain\r\n\r\n'
    body = f"--{boundary}\r\n".encode() + file + f"{TIRED}\r\n".encode() + multipart(boundary, *fields[1:])
    status, answer = exchange(server, f"POST /translate_file HTTP/1.1\n{kind}", body)
    assert (status, answer["translatedFileUrl"].startswith(f"{server.url}/download_file/")) == (200, True)
    path = urlsplit(answer["translatedFileUrl"]).path
    assert server.get(path).text == expected(TIRED)


def test_searxng(server: RunningServer, expected: Translate) -> None:
    body = {"source": "en", "target": "fr", "q": TIRED, "alternatives": 3}
    head = "POST /translate HTTP/1.1\nContent-Type: application/json"
    _, answer = exchange(server, head, json.dumps(body).encode())
    assert (answer["translatedText"], len(answer["alternatives"])) == (expected(TIRED), 3)


def test_dialect(server: RunningServer, expected: Translate) -> None:
    assert exchange(server, "GET /spec HTTP/1.1")[1]["info"]["title"] == "LibreTranslate"
    assert int(exchange(server, "GET /frontend/settings HTTP/1.1")[1]["charLimit"]) == 5_000
    form = "HTTP/1.1\nContent-Type: application/x-www-form-urlencoded"
    assert exchange(server, f"POST /detect {form}", b"q=I+am+tired.")[1][0]["language"] == "en"
    body = json.dumps({"q": TIRED, "source": "auto", "target": "fr"}).encode()
    head = "POST /translate HTTP/1.1\nContent-Type: application/json"
    assert exchange(server, head, body)[1]["translatedText"] == expected(TIRED)
    for changes, text in (({"target": "zz"}, "is not supported"), ({"q": "a" * 5_001}, "exceeds text limit")):
        wrong = json.dumps({"q": TIRED, "source": "en", "target": "fr", **changes}).encode()
        assert text in exchange(server, head, wrong)[1]["error"]
    assert exchange(server, f"POST /suggest {form}", b"q=a&s=b&source=en&target=fr")[0] == 403


def test_browser_extensions(server: RunningServer, expected: Translate) -> None:
    """TWP sends a form and reads the detected language in every case; its page has an origin of its own."""
    head = """POST /translate HTTP/1.1
        Content-Type: application/x-www-form-urlencoded
        Origin: moz-extension://a1b2c3d4-0000-4000-8000-000000000000"""
    body = b"q=I+am+tired.&source=en&target=fr&format=text&api_key=0123456789ab"
    status, answer = exchange(server, head, body)
    assert (status, answer["translatedText"]) == (200, expected(TIRED))
    assert answer["detectedLanguage"]["language"] == "en"


def test_n8n(server: RunningServer, expected: Translate) -> None:
    body = json.dumps({"q": TIRED, "source": "en", "target": "fr", "format": "text"}).encode()
    head = "POST /translate?api_key=k1 HTTP/1.1\nContent-Type: application/json"
    assert exchange(server, head, body)[1]["translatedText"] == expected(TIRED)


def test_wagtail_localize(server: RunningServer) -> None:
    texts = ["<b>Hello</b>", "", "I am <a id='a1'>tired</a>."]
    body = json.dumps({"q": texts, "source": "en", "target": "fr", "format": "html", "api_key": ""}).encode()
    head = "POST /translate HTTP/1.1\nContent-Type: application/json"
    found = exchange(server, head, body)[1]["translatedText"]
    assert len(found) == 3 and "<a id='a1'>" in found[2]
