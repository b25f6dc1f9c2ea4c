"""Requests to every route that takes fields, with wrong types, values, names, encodings and structures.

No answer may have a status of 500 or more, and every answer must be JSON in the shape of its interface.
"""

import asyncio
import json
import random
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urlencode

from campaigns.outcome import Outcome, for_each

from regard.benchmark.http_connection import Connection, Response
from regard.benchmark.server_process import ServerProcess

SENTENCE = (
    "{requests:,} mutated requests (JSON, forms, query strings) to {routes} routes: {answered:,} answered with 200, "
    "{refused:,} refused, {server_errors} with a status of 500 or more, {misshapen} errors of another shape than "
    "documented, {lost} without an answer."
)

_TASKS = 8

ROUTES: dict[str, dict[str, Any]] = {
    "/translate": {"q": "Hello.", "source": "en", "target": "fr", "format": "text", "alternatives": 1, "api_key": ""},
    "/detect": {"q": "Hello.", "api_key": None},
    "/suggest": {"q": "Hello.", "s": "Salut.", "source": "en", "target": "fr"},
    "/languages": {"api_key": "key"},
    "/frontend/settings": {},
    "/v2/translate": {
        "text": ["Hello.", "<b>Hello</b>."],
        "source_lang": "EN",
        "target_lang": "FR",
        "tag_handling": "html",
        "split_sentences": "1",
        "ignore_tags": ["x"],
        "show_billed_characters": True,
    },
    "/v2/languages": {"type": "target"},
    "/v2/usage": {},
    "/v2/document/none": {"document_key": "key"},
    "/v1/translate": {"text": "Hello.", "source": "en", "target": "fr", "n_best": 2, "words": True, "model": "en-fr"},
    "/v1/detect": {"text": ["Hello.", "Bonjour."]},
    "/v1/alternatives": {"text": "Hello.", "target": "fr", "word": 0, "translation": "Bonjour.", "count": 2},
    "/v1/look": {"text": "Hello.", "target": "fr", "without": "positions", "parts": ["facts"], "vectors": []},
    "/translate_file": {"source": "en", "target": "fr", "file": "a"},
    "/v2/document": {"target_lang": "FR", "filename": "a.txt"},
    "/v2/glossaries": {"name": "a", "source_lang": "en"},
}

VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 10**6, 10**400, 1.5, -0.0, 1e308, "", " ", "\x00", "\ud800", "a\udfffb", "\u202e",
    "None", "null", "auto", "xx", "en-US", "pt_BR", "é" * 300, "<b>", "<p>a<b>c</p>", "&lt;", "%s%n", "../../x",
    "'; DROP;--", "🙂" * 50, "\r\nX: y", [], [[]], [None], [1], ["Hello.", None], ["Hello."] * 200, {}, {"a": 1},
    {"q": {"q": {}}}, "x" * 6_000, ["x" * 6_000], [["Hello."]], [True], "10", "1e3", "٣", "NaN", "[]", '{"q": 1}',
]  # fmt: skip

BODIES = [
    b"", b"null", b"1", b'"q"', b"[]", b"[1]", b"{", b"}", b'{"q":', b'{"q": NaN}', b'{"q": 1e999}',
    b"\xff\xfe{\x00}\x00", b"\xef\xbb\xbf{}", b'{"q":"\xff"}', b"[" * 100_000, b'{"q":' * 50_000, b'{"q":"a","q":1}',
    b"{'q': 'a'}", b"\x00", b'{"q":"Hello.","source":"en","target":"fr"}' + b" " * 50_000,
    b"q=%ff%fe&source=en&target=fr", b"&&&===", b"q", b"--x\r\n\r\n--x--\r\n",
    b'--x\r\nContent-Disposition: form-data; name="q"\r\n\r\nHello.\r\n--x--\r\n',
    b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nHello.\r\n--x--\r\n',
    b"--x", b"--y--",
]  # fmt: skip

CONTENT_TYPES = [
    "application/json", "application/json; charset=utf-8", "application/json; charset=none", "application/problem+json",
    "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "multipart/form-data", "text/plain", "",
    "/", "application/xml", "multipart/form-data; boundary=" + "x" * 300, "APPLICATION/JSON",
    "application/json, text/html",
]  # fmt: skip

Request = tuple[str, str, bytes, str]  # method, path with query, body, content type


def requests(count: int, seed: int = 1) -> Iterator[Request]:
    """Yield mutated requests."""
    numbers = random.Random(seed)
    for _ in range(count):
        path = numbers.choice(list(ROUTES))
        fields = dict(ROUTES[path])
        for _ in range(numbers.choice((1, 1, 1, 2, 3))):
            _mutate(fields, numbers)
        kind = numbers.random()
        if kind < 0.6:
            yield "POST", path, _json(fields, numbers), numbers.choice(CONTENT_TYPES[:2])
        elif kind < 0.75:
            yield "POST", path, _form(fields).encode(), numbers.choice(CONTENT_TYPES)
        elif kind < 0.85:
            method = numbers.choice(("POST", "GET", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"))
            yield method, f"{path}?{_form(fields)[:3_000]}", b"", numbers.choice(CONTENT_TYPES)
        else:
            yield "POST", path, numbers.choice(BODIES), numbers.choice(CONTENT_TYPES)


def _mutate(fields: dict[str, Any], numbers: random.Random) -> None:
    name = numbers.choice([*fields, "unknown"])
    match numbers.randrange(4):
        case 0:
            fields.pop(name, None)
        case 1:
            fields[numbers.choice((name.upper(), f"{name}[]", f"{name}\x00", ""))] = fields.pop(name, "x")
        case _:
            fields[name] = numbers.choice(VALUES)


def _json(fields: dict[str, Any], numbers: random.Random) -> bytes:
    body = bytearray(json.dumps(fields).encode("ascii"))
    if numbers.random() < 0.15:
        body[numbers.randrange(len(body))] = numbers.randrange(256)
    return bytes(body)


def _form(fields: dict[str, Any]) -> str:
    return urlencode(fields, doseq=True, errors="surrogatepass")


def fault_of(path: str, method: str, response: Response) -> str | None:
    """Return what is wrong with an answer, or None."""
    if response.status >= 500:
        return f"status {response.status}"
    if method == "HEAD" or response.status < 400:
        return None
    try:
        body = response.json()
    except ValueError:
        return f"status {response.status} without JSON"
    first = re.split("[/?]", path)[1]
    match first:
        case "v1":
            error = body.get("error") if isinstance(body, dict) else None
            good = isinstance(error, dict) and all(isinstance(error.get(name), str) for name in ("code", "message"))
        case "v2" | "v3":
            good = isinstance(body, dict) and isinstance(body.get("message"), str)
        case _:
            good = isinstance(body, dict) and isinstance(body.get("error"), str)
    return None if good else f"status {response.status} with another shape: {response.body[:80]!r}"


def run(server: ServerProcess, count: int) -> Outcome:
    outcome = Outcome({"requests": count, "routes": len(ROUTES)})
    outcome.facts |= dict.fromkeys(("answered", "refused", "server_errors", "misshapen", "lost"), 0)
    before = [server.process.pid, *(each.pid for each in server.engines())]

    async def client(_: int, items: Iterable[Request]) -> None:
        connection = Connection(*server.address)
        for method, target, body, content_type in items:
            try:
                async with asyncio.timeout(60):
                    response = await connection.request(method, target, body, content_type)
            except (OSError, EOFError, TimeoutError) as error:
                outcome.count("lost")
                outcome.fault(f"{method} {target[:80]} {body[:80]!r} ({content_type}): {type(error).__name__}")
                continue
            outcome.count("answered" if response.status < 400 else "refused")
            if found := fault_of(target, method, response):
                outcome.count("server_errors" if response.status >= 500 else "misshapen")
                outcome.fault(f"{method} {target[:80]} {body[:200]!r} ({content_type}): {found}")
        connection.close()

    asyncio.run(for_each(requests(count), _TASKS, client))
    after = [server.process.pid, *(each.pid for each in server.engines())]
    outcome.check(server.process.poll() is None and before == after, "a process of the server has ended")
    return outcome
