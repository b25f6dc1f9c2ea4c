"""Host and Origin headers that a web page of another site could cause a browser to send.

A foreign host or origin must be refused on every kind of route, no answer may let a page read it, and no GET may reach
a route that does something.
"""

import asyncio
from itertools import product
from urllib.parse import urlsplit

from campaigns.outcome import Outcome

from regard.benchmark.http_connection import Connection, Response
from regard.benchmark.server_process import ServerProcess

SENTENCE = (
    "{combinations} combinations of Host and Origin with each of {routes} routes: {foreign} foreign ones, of which "
    "{refused} were refused, {own} own ones, of which {answered} were answered; {shared} answers that a page of "
    "another origin could read; {reached} routes that do something reached by GET."
)

_ROUTES = {"/languages": None, "/translate": b'{"q":"Hello.","source":"en","target":"fr"}', "/v1/models": None}
_ACTIONS = ("/translate", "/detect", "/suggest", "/translate_file", "/v2/translate", "/v2/document", "/v1/translate")


def hosts(port: int) -> dict[str, bool]:
    """Return values of the Host header, and whether each is the server's own."""
    own = [f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}", "LOCALHOST", "app.localhost"]
    foreign = ["example.org", f"evil.example:{port}", "0.0.0.0", "127.0.0.1.nip.io", "192.168.1.5"]
    return dict.fromkeys(own, True) | dict.fromkeys(foreign, False)


def origins(host: str) -> dict[str | None, bool]:
    """Return values of the Origin header, and whether a page or program with it may use the server."""
    own = [None, f"http://{host}", "moz-extension://1", "chrome-extension://abc"]
    foreign = ["http://evil.example", "null", "file://", f"http://{host}.evil.example", "http://localhost:1"]
    return dict.fromkeys(own, True) | dict.fromkeys(foreign, False)


def run(server: ServerProcess, count: int) -> Outcome:
    outcome = Outcome({"combinations": 0, "routes": len(_ROUTES), "foreign": 0, "own": 0})
    outcome.facts |= dict.fromkeys(("refused", "answered", "shared", "reached"), 0)
    asyncio.run(_run(server, count, outcome))
    return outcome


async def _run(server: ServerProcess, count: int, outcome: Outcome) -> None:
    port = urlsplit(server.url).port or 80
    combinations = [(host, origin) for host in hosts(port) for origin in origins(host)][:count]
    outcome.facts["combinations"] = len(combinations)
    for (host, origin), (path, body) in product(combinations, _ROUTES.items()):
        headers = {"Host": host} | ({"Origin": origin} if origin else {})
        response = await _ask(server, "GET" if body is None else "POST", path, headers, body or b"")
        is_own = hosts(port)[host] and origins(host)[origin]
        outcome.count("own" if is_own else "foreign")
        outcome.count("answered" if is_own else "refused", int(response.status == (200 if is_own else 403)))
        outcome.check(response.status == (200 if is_own else 403), f"{path} {headers}: status {response.status}")
        shares = any(name.startswith("access-control") for name in response.headers)
        outcome.count("shared", int(shares))
        outcome.check(not shares, f"{path} {headers}: {dict(response.headers)}")
    for path in _ACTIONS:
        response = await _ask(server, "GET", f"{path}?q=a&source=en&target=fr", {"Host": "localhost"}, b"")
        outcome.count("reached", int(response.status != 405))
        outcome.check(response.status == 405, f"GET {path}: status {response.status}")


async def _ask(server: ServerProcess, method: str, path: str, headers: dict[str, str], body: bytes) -> Response:
    connection = Connection(*server.address)
    try:
        return await connection.request(method, path, body, "application/json" if body else "", headers)
    finally:
        connection.close()
