"""Keys, limits, logs and metrics of a real server that asks for keys."""

import contextlib
import json
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from tests.server.conftest import KeyedServer, connect

from regard.server.app import make_app
from regard.server.gate import OPEN_FOLDERS, OPEN_ROUTES
from regard.server.service import Service
from regard.settings.serve import ServeSettings

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
TEXT = {"q": "the cat", "source": "en", "target": "xx"}
CANARY = "zqcanarytextzq"
CANARY_KEY = "zqcanarykeyzq"


def refusal(path: str) -> set[int]:
    """Return the statuses of requests without a key, and with a wrong key."""
    if path.startswith("/v1/"):
        return {401, 403}
    return {403} if path.startswith(("/v2/", "/v3/")) else {400, 403}


@pytest.fixture(scope="module")
def paths(tiny: Path) -> list[str]:
    """All routes of the server."""
    return list(make_app(Service(ServeSettings(models=(str(tiny),)))).routes.paths)


def is_open(path: str) -> bool:
    return path in OPEN_ROUTES or path.startswith(OPEN_FOLDERS)


def test_every_route_but_the_open_ones_needs_a_key(keyed: KeyedServer, paths: list[str]) -> None:
    session, closed = requests.Session(), [path for path in paths if not is_open(path)]
    assert len(closed) >= 15 and "/metrics" in closed and "/translate" in closed
    for path in [*closed, "/unknown", "/v1/unknown", "/v2/unknown", "/static", "/languages/", "/v2/languages/x"]:
        real = re.sub(r"{[^}]*}", "x", path)
        for method in METHODS:
            for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "DeepL-Auth-Key wrong"}):
                answer = session.request(method, keyed.server.url + real, headers=headers, timeout=60)
                assert answer.status_code in refusal(real), (method, real, headers, answer.status_code)


def test_open_routes_need_none(keyed: KeyedServer) -> None:
    for path in ("/languages", "/spec", "/frontend/settings", "/v2/languages", "/health", "/livez", "/readyz"):
        assert keyed.server.get(path).status_code == 200, path
        assert keyed.server.get(path, headers={"Authorization": "Bearer wrong"}).status_code == 200, path


def ways(key: str) -> Iterator[dict[str, Any]]:
    """Yield the ways in which clients send a key to LibreTranslate's interface."""
    yield {"json": {**TEXT, "api_key": key}}
    yield {"json": {**TEXT, "apiKey": key}}
    yield {"data": {**TEXT, "api_key": key}}
    yield {"files": {name: (None, value) for name, value in {**TEXT, "api_key": key}.items()}}
    yield {"json": TEXT, "params": {"api_key": key}}
    yield {"params": {**TEXT, "api_key": key}}
    yield {"json": TEXT, "headers": {"Authorization": f"Bearer {key}"}}
    yield {"json": TEXT, "headers": {"Authorization": f"DeepL-Auth-Key {key}"}}
    yield {"json": TEXT, "headers": {"KEY": key}}


def test_a_key_is_found_wherever_clients_put_it(keyed: KeyedServer) -> None:
    for way in ways(keyed.full):
        assert keyed.server.post("/translate", **way).status_code == 200, way
    for way in ways("wrong" + keyed.full):
        answer = keyed.server.post("/translate", **way)
        assert (answer.status_code, answer.json()) == (403, {"error": "Invalid API key"}), way
    missing = keyed.server.post("/translate", json=TEXT)
    assert (missing.status_code, missing.json()["error"]) == (
        400,
        "Please contact the server operator to get an API key",
    )


def test_each_interface_refuses_in_its_own_shape(keyed: KeyedServer) -> None:
    deepl = keyed.server.post("/v2/translate", json={"text": ["a"], "target_lang": "XX"})
    assert (deepl.status_code, list(deepl.json())) == (403, ["message"])
    ours = keyed.server.post("/v1/translate", json={"text": "a", "target": "xx"})
    assert (ours.status_code, ours.json()["error"]["code"]) == (401, "missing_key")
    wrong = keyed.server.post("/v1/translate", json={}, headers=keyed.bearer("wrong"))
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (403, "wrong_key")


def test_a_key_has_a_quota_and_a_rate(keyed: KeyedServer) -> None:
    """The small key has 100 characters a month and 20 requests a minute."""
    headers = keyed.bearer(keyed.small)
    assert keyed.server.post("/translate", json={**TEXT, "q": "a " * 40}, headers=headers).status_code == 200
    usage = keyed.server.get("/v2/usage", headers=headers).json()
    assert usage == {"character_count": 80, "character_limit": 100}
    for path, body, status in (
        ("/translate", {**TEXT, "q": "b " * 20}, 403),
        ("/v2/translate", {"text": ["b " * 20], "target_lang": "XX", "source_lang": "EN"}, 456),
        ("/v1/translate", {"text": "b " * 20, "source": "en", "target": "xx"}, 429),
    ):
        answer = keyed.server.post(path, json=body, headers=headers)
        assert answer.status_code == status, path
        assert 1 <= int(answer.headers["Retry-After"]) <= 31 * 24 * 3600
    answers = [keyed.server.get("/v2/usage", headers=headers) for _ in range(20)]
    refused = [each for each in answers if each.status_code != 200]
    assert {each.status_code for each in refused} == {429} and 4 <= len(refused) <= 6
    assert all(1 <= int(each.headers["Retry-After"]) <= 3 for each in refused)
    assert keyed.server.get("/v2/usage", headers=keyed.bearer(keyed.full)).status_code == 200


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ({"json": {**TEXT, "q": "a" * 1001}}, 400),
        ({"json": {**TEXT, "q": ["a"] * 21}}, 400),
        ({"json": {**TEXT, "q": "a" * 40_000}}, 413),
        ({"data": iter([b"a" * 20_000] * 2)}, 413),  # without a length
        ({"json": {**TEXT, "alternatives": 10**9}}, 400),
        ({"json": TEXT, "headers": {"X-Long": "a" * 70_000}}, 431),
    ],
)
def test_limits(keyed: KeyedServer, request_: dict[str, Any], status: int) -> None:
    headers = {**keyed.bearer(keyed.full), **request_.pop("headers", {})}
    assert keyed.server.post("/translate", headers=headers, **request_).status_code == status


def test_long_request_lines_are_read(keyed: KeyedServer) -> None:
    """Some clients send whole texts in the query string."""
    query = {**TEXT, "q": "é" * 1000, "api_key": keyed.full, "ignored": "a" * 40_000}
    assert keyed.server.post("/translate", params=query).status_code == 200


def test_announced_bodies_are_refused_without_being_read(keyed: KeyedServer) -> None:
    """The server answers before anything of a large body was sent, and keeps no memory for it."""
    before = resident_bytes(keyed)
    connections = []
    for path in ("/translate", "/translate_file", "/v2/document", "/v1/translate") * 25:
        connection = connect(keyed.server)
        connections.append(connection)
        lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Length: 1073741824"]
        connection.sendall("\r\n".join([*lines, f"Authorization: Bearer {keyed.full}", "", ""]).encode())
    for connection in connections:
        answer = connection.recv(1 << 16)
        assert answer.startswith(b"HTTP/1.1 413 "), answer
        assert b"\r\nconnection: close\r\n" in answer.lower()
        connection.close()
    assert resident_bytes(keyed) - before < 10_000_000


def resident_bytes(keyed: KeyedServer) -> int:
    import psutil

    return int(psutil.Process(keyed.server.process.pid).memory_info().rss)


def test_clients_that_send_too_much_get_the_answer(keyed: KeyedServer) -> None:
    """The connection is not closed while the client is still sending, so that it can read the answer."""
    for _ in range(5):
        answer = keyed.server.post("/translate", data=b"a" * 3_000_000, headers=keyed.bearer(keyed.full))
        assert answer.status_code == 413


_GET = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
_POST = b"POST /translate HTTP/1.1\r\nHost: localhost\r\n"
SLOW = [
    b"",
    b"POST /tran",
    _POST + b"X-Slow: ",
    _POST + b"Content-Length: 100\r\n\r\n{",
    _POST + b"Transfer-Encoding: chunked\r\n\r\nfff\r\nab",
    _GET + b"GET /livez HTT",  # a second request that begins but does not end
    _GET + _POST + b"Content-Length: 9\r\n\r\n",
]


def test_slow_requests_are_cut_off(keyed: KeyedServer) -> None:
    """Silent clients, and clients that send a byte from time to time. This server waits for a second."""
    open_ = [(connect(keyed.server), sent, drip) for sent in SLOW for drip in (False, True)]
    began = time.monotonic()
    for connection, sent, _ in open_:
        connection.settimeout(0.01)
        connection.sendall(sent)
    while open_ and time.monotonic() - began < 15:
        for each in list(open_):
            connection, sent, drip = each
            if is_closed(connection, drip=drip):
                assert time.monotonic() - began > 0.9, sent
                connection.close()
                open_.remove(each)
    assert not open_


def is_closed(connection: socket.socket, *, drip: bool) -> bool:
    try:
        while connection.recv(1 << 16):
            pass
    except TimeoutError:
        if drip:
            with contextlib.suppress(OSError):
                connection.sendall(b"a")
        return False
    except ConnectionError:
        pass
    return True


def test_valid_requests_are_answered_beside_many_slow_ones(keyed: KeyedServer) -> None:
    slow = [connect(keyed.server) for _ in range(100)]
    for connection in slow:
        connection.sendall(b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
    for _ in range(10):
        assert keyed.server.post("/translate", json=TEXT, headers=keyed.bearer(keyed.full)).status_code == 200
    for connection in slow:
        end_of(connection)


def end_of(connection: socket.socket) -> None:
    with connection, contextlib.suppress(ConnectionError):
        while connection.recv(1 << 16):
            pass


def test_malformed_requests_do_no_harm(keyed: KeyedServer) -> None:
    for sent, status in (
        (b"\x00" * 100, b"400"),
        (b"GET\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"400"),
        (b"GET /" + b"a" * 200_000, b"431"),
    ):
        with connect(keyed.server) as connection, connection.makefile("rb") as answers:
            connection.sendall(sent)
            answer = answers.read()
        assert answer.startswith(b"HTTP/1.1 " + status) and b"application/json" in answer, answer
    assert keyed.server.get("/livez").status_code == 200


def test_no_text_and_no_key_in_logs_metrics_and_errors(keyed: KeyedServer, paths: list[str]) -> None:
    """A text and a wrong key go through every route, field, header and kind of error."""
    url, session = keyed.server.url, requests.Session()
    fields = ("q", "text", "s", "source", "target", "source_lang", "target_lang", "format", "alternatives", "file")
    for path in paths:
        real = re.sub(r"{[^}]*}", CANARY, path)
        for headers in (keyed.bearer(keyed.full), {"Authorization": f"Bearer {CANARY_KEY}"}):
            for field in fields:
                data = {"source": "en", "target": "xx", "target_lang": "XX", "q": "a", "text": "a"} | {field: CANARY}
                session.post(url + real, json=data, headers=headers, timeout=60)
            session.post(url + real, data={"q": CANARY, "api_key": CANARY_KEY}, headers=headers, timeout=60)
            session.get(url + real, params={"q": CANARY, "api_key": CANARY_KEY}, headers=headers, timeout=60)
            session.post(url + real, data=CANARY, headers=headers, timeout=60)
            session.post(
                url + real,
                files={"file": (f"{CANARY}.bin", CANARY)},
                headers=headers,
                timeout=60,
                data={"target": "xx"},
            )
    session.get(f"{url}/{CANARY}?{CANARY}", headers={"X-Request-ID": f"{CANARY} {CANARY}"}, timeout=60)
    session.request(CANARY.upper(), f"{url}/translate", timeout=60)
    refused = keyed.server.translate(CANARY, target="xx", headers={"Authorization": f"Bearer {CANARY_KEY}"})
    assert CANARY not in refused.text and CANARY_KEY not in refused.text
    metrics = keyed.server.get("/metrics", headers=keyed.bearer(keyed.full)).text
    logged = "\n".join(keyed.server.lines)
    assert logged.count('"route": "/translate"') > 20
    for canary in (CANARY, CANARY_KEY, CANARY.upper(), keyed.full, keyed.small):
        assert canary not in logged and canary not in metrics


def test_the_log_line_of_a_request(keyed: KeyedServer) -> None:
    headers = {**keyed.bearer(keyed.full), "X-Request-ID": "my-id_7"}
    answer = keyed.server.translate(["the cat", "a house"], target="xx", headers=headers)
    assert answer.headers["X-Request-ID"] == "my-id_7"
    keyed.server.wait_until(lambda: any("my-id_7" in line for line in keyed.server.lines))
    [line] = [json.loads(line) for line in keyed.server.lines if "my-id_7" in line]
    assert {name: line[name] for name in ("route", "method", "status", "characters", "pair", "key", "model")} == {
        "route": "/translate",
        "method": "POST",
        "status": 200,
        "characters": 14,
        "pair": "en-xx",
        "key": "full",
        "model": line["model"],
    }
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", line["time"])
    assert line["ms"] >= line["wait_ms"] >= 0 and line["tokens"] > 0
    deepl = keyed.server.get("/v2/languages")
    assert re.fullmatch(r"[0-9a-f]{16}", deepl.headers["X-Trace-ID"])
    assert deepl.headers["X-Trace-ID"] == deepl.headers["X-Request-ID"]


def test_health_is_not_logged(keyed: KeyedServer) -> None:
    keyed.server.get("/readyz", headers={"X-Request-ID": "health"})
    keyed.server.get("/languages", headers={"X-Request-ID": "after"})
    keyed.server.wait_until(lambda: any('"after"' in line for line in keyed.server.lines))
    assert not any('"health"' in line for line in keyed.server.lines)


def test_security_headers(keyed: KeyedServer) -> None:
    for path in ("/languages", "/translate", "/unknown", "/v1/docs"):
        headers = keyed.server.get(path).headers
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'") and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert "server" not in headers


def test_metrics(keyed: KeyedServer) -> None:
    headers = keyed.bearer(keyed.full)
    text = "the cat sees a red house"
    for _ in range(2):
        assert keyed.server.translate(text, target="xx", headers=headers).status_code == 200
    metrics = keyed.server.get("/metrics", headers=headers).text
    for name in (
        "build_info", "http_requests_total", "http_request_duration_seconds", "http_requests_in_flight",
        "refused_total", "queue_requests", "queue_tokens", "queue_wait_seconds", "batch_sentences", "batch_tokens",
        "batch_duration_seconds", "tokens_total", "characters_total", "cache_hits_total", "cache_misses_total",
        "cache_bytes", "cancelled_total", "limit_reached_total", "engine_up", "engine_restarts_total",
        "engine_resident_bytes",
    ):  # fmt: skip
        assert f"# TYPE regard_{name} " in metrics, name
    values = dict(line.rsplit(" ", 1) for line in metrics.splitlines() if not line.startswith("#"))
    assert float(values['regard_engine_up{engine="0"}']) == 1
    assert float(values["regard_cache_hits_total"]) >= 1
    assert float(values['regard_http_requests_total{code="200",method="POST",route="/translate"}']) >= 2
    assert float(values["regard_http_requests_in_flight"]) == 1
    assert float(values['regard_engine_resident_bytes{engine="0"}']) > 1_000_000
    refused = 'regard_refused_total{reason="size"}'
    before = float(values.get(refused, 0))
    for fields in ({"text": "a " * 600, "target": "xx"}, {"text": "a" * 40_000, "target": "xx"}):
        assert keyed.server.post("/v1/translate", json=fields, headers=headers).status_code == 413
    assert f"{refused} {before + 2}" in keyed.server.get("/metrics", headers=headers).text
