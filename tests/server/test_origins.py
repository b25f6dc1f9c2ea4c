"""Host and Origin headers: combinations against the rules, and against a real server."""

from itertools import product

import pytest
import requests
from tests.server.conftest import KeyedServer
from tests.server.running import RunningServer

from regard.server.origins import OriginRules

LOOPBACK_NAMES = ["localhost", "127.0.0.1", "127.1.2.3", "[::1]", "LOCALHOST", "app.localhost", "localhost."]
FOREIGN_NAMES = ["example.org", "192.168.1.5", "0.0.0.0", "localhost.example.org", "127.0.0.1.nip.io", "[2001:db8::1]"]


@pytest.mark.parametrize("port", ["", ":5000"])
def test_on_loopback_only_loopback_names_pass(port: str):
    rules = OriginRules((), (), only_loopback=True)
    assert [name for name in LOOPBACK_NAMES + FOREIGN_NAMES if rules.allows_host(name + port)] == LOOPBACK_NAMES


def test_elsewhere_any_name_passes_unless_names_are_given():
    assert all(OriginRules((), (), only_loopback=False).allows_host(name) for name in LOOPBACK_NAMES + FOREIGN_NAMES)
    rules = OriginRules(("Example.org",), (), only_loopback=False)
    assert [name for name in LOOPBACK_NAMES + FOREIGN_NAMES if rules.allows_host(name)] == ["example.org"]


@pytest.mark.parametrize(
    ("origin", "host", "allowed"),
    [
        (None, "localhost:5000", True),
        ("http://localhost:5000", "localhost:5000", True),
        ("https://translate.example.org", "translate.example.org", True),
        ("https://translate.example.org", "translate.example.org:443", True),
        ("http://localhost:5001", "localhost:5000", False),
        ("http://evil.example", "localhost:5000", False),
        ("http://localhost:5000.evil.example", "localhost:5000", False),
        ("null", "localhost:5000", False),
        ("file://", "localhost:5000", False),
        ("chrome-extension://abcdefghijklmnop", "localhost:5000", True),
        ("moz-extension://0a1b", "localhost:5000", True),
        ("safari-web-extension://0a1b", "localhost:5000", True),
        ("http://evil.example/chrome-extension://", "localhost:5000", False),
        ("http://evil-extension://", "localhost:5000", False),
    ],
)
def test_origins(origin: str | None, host: str, allowed: bool):
    assert OriginRules((), (), only_loopback=True).allows_origin(origin, host) is allowed


def test_configured_origins_may_read_answers():
    rules = OriginRules((), ("https://a.example",), only_loopback=True)
    assert rules.shares_with("https://a.example") and rules.allows_origin("https://a.example", "localhost")
    assert not rules.shares_with("https://b.example") and not rules.shares_with(None)
    assert OriginRules((), ("*",), only_loopback=True).shares_with("https://b.example")


def test_every_combination_against_a_server(server: RunningServer):
    """Foreign hosts and origins are refused on every kind of route, and no answer lets a page read it."""
    own = server.url.removeprefix("http://")
    port = own.split(":")[1]
    hosts = {
        own: True,
        f"localhost:{port}": True,
        "example.org": False,
        f"evil.example:{port}": False,
        "0.0.0.0": False,
    }
    origins = {None: True, "own": True, "moz-extension://1": True, "http://evil.example": False, "null": False}
    count = 0
    for (host, good_host), (origin, good_origin) in product(hosts.items(), origins.items()):
        headers = {"Host": host} | ({"Origin": f"http://{host}" if origin == "own" else origin} if origin else {})
        for path, data in (("/languages", None), ("/translate", {"q": "a", "source": "en", "target": "fr"})):
            method = "GET" if data is None else "POST"
            answer = requests.request(method, server.url + path, json=data, headers=headers, timeout=60)
            assert answer.status_code == (200 if good_host and good_origin else 403), (host, origin, answer.text)
            assert not [name for name in answer.headers if name.lower().startswith("access-control")]
            count += 1
    assert count == 50


def test_a_configured_origin_gets_cors_headers_and_others_do_not(keyed: KeyedServer):
    url, allowed = keyed.server.url + "/translate", {"Origin": "https://allowed.example"}
    answer = requests.options(url, headers={**allowed, "Access-Control-Request-Method": "POST"}, timeout=60)
    assert answer.status_code == 204
    assert answer.headers["Access-Control-Allow-Origin"] == "https://allowed.example"
    assert {"Authorization", "KEY"} < set(answer.headers["Access-Control-Allow-Headers"].split(", "))
    # Refusals can be read by the page too.
    refused = requests.post(url, json={"q": "a"}, headers=allowed, timeout=60)
    assert (refused.status_code, refused.headers["Access-Control-Allow-Origin"]) == (400, "https://allowed.example")
    assert {"Retry-After", "X-Regard-Warnings"} < set(refused.headers["Access-Control-Expose-Headers"].split(", "))
    foreign = requests.options(url, headers={"Origin": "https://other.example"}, timeout=60)
    assert foreign.status_code == 403 and "Access-Control-Allow-Origin" not in foreign.headers


def test_a_get_changes_nothing(server: RunningServer):
    """Routes that do something are not reached with GET."""
    for path in (
        "/translate",
        "/detect",
        "/suggest",
        "/translate_file",
        "/v2/translate",
        "/v2/document",
        "/v1/translate",
    ):
        assert server.get(path, params={"q": "a", "source": "en", "target": "fr"}).status_code == 405
