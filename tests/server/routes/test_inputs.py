"""Fields of requests, wherever clients put them."""

import asyncio
import json
from contextlib import suppress
from tempfile import SpooledTemporaryFile
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette import formparsers
from starlette.requests import Request

from regard.server.routes.inputs import InputError, Inputs, find_key, read_inputs

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


def request_of(
    body: bytes = b"", content_type: str = "", *, query: str = "", method: str = "POST", **headers: str
) -> Request:
    given = {"content-type": content_type, **headers}
    scope = {
        "type": "http",
        "method": method,
        "path": "/translate",
        "query_string": query.encode(),
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in given.items() if value],
        "app": None,
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    return Request(scope, receive)


def read(body: bytes = b"", content_type: str = "", **options: Any) -> Inputs:
    return asyncio.run(read_inputs(request_of(body, content_type, **options)))


def multipart(*parts: tuple[str, str]) -> tuple[bytes, str]:
    lines = [f"--x\r\nContent-Disposition: form-data; {name}\r\n\r\n{value}\r\n" for name, value in parts]
    return "".join([*lines, "--x--\r\n"]).encode(), "multipart/form-data; boundary=x"


@pytest.mark.parametrize(
    ("body", "content_type", "query"),
    [
        (b"", "", "q=a+b%20c&source=en"),
        (b"q=a+b%20c&source=en", FORM, ""),
        (b"q=a+b%20c", f"{FORM}; charset=UTF-8", "source=en&q=other"),
        (*multipart(('name="q"', "a b c"), ('name="source"', "en")), ""),
        (*multipart(('name="q"', "a b c")), "source=en"),
        (b'{"q": "a b c", "source": "en"}', JSON, ""),
        (b'{"q": "a b c"}', "application/vnd.api+json; charset=utf-8", "source=en&q=other"),
    ],
)
def test_the_same_fields_from_everywhere(body: bytes, content_type: str, query: str) -> None:
    inputs = read(body, content_type, query=query)
    assert [inputs.get_text("q"), inputs.get_text("source")] == ["a b c", "en"]


def test_null_and_empty_are_absent() -> None:
    inputs = read(b'{"api_key": null, "q": "", "alternatives": 0, "words": false}', JSON, query="api_key=&format=html")
    assert [inputs.get(name) for name in ("api_key", "q", "missing")] == [None] * 3
    assert [inputs.get("alternatives"), inputs.get("words"), inputs.get("format")] == [0, False, "html"]


def test_a_value_of_json_is_not_overridden_by_the_query() -> None:
    assert read(b'{"q": "json"}', JSON, query="q=query").get("q") == "json"
    assert read(b'{"q": null}', JSON, query="q=query").get("q") == "query"


def test_repeated_fields() -> None:
    inputs = read(urlencode([("text", ""), ("text", "a"), ("text", "b"), ("q", "")]).encode(), FORM, query="q=c")
    assert inputs.get("text") == "a"
    assert inputs.get_all("text") == ["", "a", "b"]  # the first one keeps its place
    assert inputs.get("q") == "c"
    assert read(b"text=&text=", FORM).get_all("text") == ["", ""]


def test_files() -> None:
    inputs = read(*multipart(('name="file"; filename="ü.txt"', "content"), ('name="target"', "fr")))
    assert (inputs.files["file"].name, inputs.files["file"].content, inputs.get("target")) == (
        "ü.txt",
        b"content",
        "fr",
    )


def test_files_are_not_written_to_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SpooledTemporaryFile, "rollover", None)
    content = "a" * (2 << 20)
    assert read(*multipart(('name="file"; filename="a.txt"', content))).files["file"].content == content.encode()


@pytest.mark.parametrize("charset", ["punycode", "undefined", "idna", "utf-7", "unknown", '"punycode"', ""])
def test_charsets_of_forms_that_are_refused(charset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decoders such as punycode take quadratic time."""
    monkeypatch.setattr(formparsers, "_user_safe_decode", None)  # nothing is decoded
    body, content_type = multipart(('name="q"', "a"))
    with pytest.raises(InputError, match="charset"):
        read(body, f"{content_type}; charset={charset}")


@pytest.mark.parametrize("charset", ["UTF-8", '"utf-8"', "us-ascii", "iso-8859-1"])
def test_charsets_of_forms(charset: str) -> None:
    body, content_type = multipart(('name="q"', "a"))
    assert read(body, f"{content_type}; charset={charset}").get("q") == "a"


@pytest.mark.parametrize("content_type", [JSON, "", "multipart/form-data; boundary=x"])
def test_the_body_of_a_get_is_read_but_not_used(content_type: str) -> None:
    assert read(b'{"type": "target"}', content_type, method="GET").get("type") is None


def test_the_form_of_a_get_is_used() -> None:
    assert read(b"type=target", FORM, method="GET").get("type") == "target"


def test_the_inputs_are_read_once() -> None:
    request = request_of(b"q=a", FORM)

    async def twice() -> list[Inputs]:
        return [await read_inputs(request), await read_inputs(Request(request.scope, request.receive))]

    first, second = asyncio.run(twice())
    assert first is second


@pytest.mark.parametrize(
    "body",
    [b"{", b"[]", b"1", b'"q"', b"\xff", b"[" * 100_000, b'{"q": NaN}', b'{"q": 1' + b"0" * 5_000 + b"}", b"\0"],
    ids=repr,
)
def test_wrong_json(body: bytes) -> None:
    with pytest.raises(InputError, match=r"^Invalid JSON format$"):
        read(body, JSON)


@pytest.mark.parametrize(
    ("value", "what"), [(5, "a number"), (True, "true or false"), ([], "a list"), ({}, "an object"), (1.5, "a number")]
)
def test_a_value_that_is_not_a_text(value: object, what: str) -> None:
    with pytest.raises(InputError, match=f"^q must be a text, not {what}$"):
        read(json.dumps({"q": value}).encode(), JSON).get_text("q")


def test_half_of_a_surrogate_pair() -> None:
    assert read(rb'{"q": "\ud83d\ude00"}', JSON).get_text("q") == "😀"
    with pytest.raises(InputError, match="q has a lone surrogate"):
        read(rb'{"q": "\ud800"}', JSON).get_text("q")


def test_bytes_that_are_not_utf8_are_replaced() -> None:
    assert read(b"q=a%ff", FORM, query="source=%fe").get_text("q") == "a\N{REPLACEMENT CHARACTER}"


def test_too_many_fields() -> None:
    with pytest.raises(InputError, match="more than 10,000 fields"):
        read(b"a=1&" * 10_001, FORM)


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"authorization": "DeepL-Auth-Key k1"}, "k1"),
        ({"authorization": "bearer k1"}, "k1"),
        ({"authorization": "Basic k1", "query": "api_key=k2"}, "k2"),
        ({"body": b'{"apiKey": "k1", "key": "k2"}', "content_type": JSON}, "k1"),
        ({"body": b"auth_key=k1", "content_type": FORM}, "k1"),
        ({"key": "k1", "query": "token=k2"}, "k1"),
        ({"query": "token=k1&key=k2"}, "k1"),
        ({"query": "key=k1"}, "k1"),
        ({"body": b'{"api_key": null, "apiKey": ""}', "content_type": JSON}, None),
        ({"body": b'{"api_key": 5}', "content_type": JSON}, None),
    ],
)
def test_where_clients_put_their_key(options: dict[str, Any], key: str | None) -> None:
    request = request_of(**options)
    assert find_key(request.headers, asyncio.run(read_inputs(request))) == key


@pytest.mark.parametrize(
    ("value", "flag"), [(True, True), ("1", True), (1, True), ("true", True), ("0", False), (0, False), ([], False)]
)
def test_flags(value: object, flag: bool) -> None:
    assert read(json.dumps({"show": value}).encode(), JSON).get_flag("show") is flag


def test_lists_of_names() -> None:
    assert read(b'{"ignore_tags": ["x", "code, pre"]}', JSON).get_names("ignore_tags") == ["x", "code", "pre"]
    assert read(b"ignore_tags=x,code", FORM).get_names("ignore_tags") == ["x", "code"]
    assert read().get_names("ignore_tags") == []


@pytest.mark.parametrize(
    "body",
    [b"", b"--x\r\n", b"--x\r\nnonsense\r\n\r\n--x--", b"--x\r\nContent-Disposition: form-data\r\n\r\na\r\n--x--"],
)
def test_broken_forms(body: bytes) -> None:
    with suppress(InputError):
        assert read(body, "multipart/form-data; boundary=x").fields == {}
    with pytest.raises(InputError, match="Invalid form"):
        read(body, "multipart/form-data")
