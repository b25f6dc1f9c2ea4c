"""Routes without a key, and keys and texts in what the server writes.

Every route but the open ones must refuse a request without a key or with a wrong one. Texts and keys that are sent
through all routes, fields and errors may not appear in the log, the metrics or an address.
"""

import asyncio
import json
import random
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import urlencode

from campaigns.mutated_requests import ROUTES
from campaigns.outcome import Outcome, for_each

from regard.benchmark.http_connection import Connection
from regard.benchmark.server_process import ServerProcess
from regard.server.app import make_app
from regard.server.gate import OPEN_FOLDERS, OPEN_ROUTES
from regard.server.keys import add_key
from regard.server.service import Service
from regard.settings.serve import ServeSettings

SENTENCE = (
    "{closed} of {routes} routes need a key: {unauthorised:,} requests to them without one or with a wrong one, "
    "{refused:,} refused. {requests:,} requests with texts and keys in all fields, headers and addresses, {answered:,} "
    "of them answered with 200: {leaked} lines of the log ({lines:,}) and {in_metrics} of the metrics have one of them."
)

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_TEXT = "Zqcanary Zqtext"
_WORD = "zqcanary"  # found in every text below, in upper or lower case
_WRONG_KEY = "zqcanary-wrong-key"
_KEY_PART = 12  # characters of a key that may not appear
_TASKS = 8

Request = tuple[str, str, bytes, str, dict[str, str]]  # method, path, body, content type, headers


def run(count: int) -> Outcome:
    outcome = Outcome({"routes": 0, "closed": 0, "unauthorised": 0, "refused": 0, "requests": count, "answered": 0})
    outcome.facts |= {"leaked": 0, "lines": 0, "in_metrics": 0}
    with tempfile.TemporaryDirectory() as folder:
        keys = Path(folder) / "keys.toml"
        key = add_key(keys, "campaign", {})
        secrets = (_WORD, key[:_KEY_PART].lower(), key[-_KEY_PART:].lower())

        def read(line: str) -> None:
            outcome.count("lines")
            if any(secret in line.lower() for secret in secrets):
                outcome.count("leaked")
                outcome.fault(f"the log has {line!r}")

        server = ServerProcess.start(["--keys", keys], on_line=read)
        try:
            asyncio.run(_without_key(server, outcome))
            asyncio.run(for_each(_requests(count, key), _TASKS, lambda _, items: _send(server, items, outcome)))
            metrics = asyncio.run(_metrics(server, key))
        finally:
            server.end()
    found = [line for line in metrics.lower().splitlines() if any(secret in line for secret in secrets)]
    outcome.facts["in_metrics"] = len(found)
    for line in found:
        outcome.fault(f"the metrics have {line!r}")
    outcome.check(outcome.facts["lines"] > count, "the log has too few lines")
    return outcome


async def _without_key(server: ServerProcess, outcome: Outcome) -> None:
    paths = make_app(Service(ServeSettings())).routes.paths
    closed = [path for path in paths if path not in OPEN_ROUTES and not path.startswith(OPEN_FOLDERS)]
    outcome.facts |= {"routes": len(paths), "closed": len(closed)}
    connection = Connection(*server.address)
    for path in [re.sub(r"{[^}]*}", "x", path) for path in closed] + ["/unknown", "/v1/unknown", "/v2/unknown"]:
        for method in _METHODS:
            for key in (None, f"Bearer {_WRONG_KEY}", f"DeepL-Auth-Key {_WRONG_KEY}"):
                headers = {"Authorization": key} if key else {}
                status = (await connection.request(method, path, headers=headers)).status
                outcome.count("unauthorised")
                outcome.count("refused", int(status in (400, 401, 403)))
                outcome.check(status in (400, 401, 403), f"{method} {path} with the key {key}: status {status}")
    connection.close()


def _requests(count: int, key: str) -> Iterator[Request]:
    """Yield requests in which a text or a key is where it does and where it does not belong."""
    numbers = random.Random(1)
    for number in range(count):
        path, fields = numbers.choice(list(ROUTES.items()))
        text = f"{_TEXT} {number}"
        values = {**fields, **({} if path.startswith("/v1/") else {"api_key": numbers.choice([key, _WRONG_KEY, None])})}
        for name in numbers.sample(sorted(values), min(len(values), numbers.randrange(3))):
            values[name] = [text] if isinstance(values[name], list) else text
        scheme = numbers.choice(["Bearer", "DeepL-Auth-Key"])
        headers = {"Authorization": f"{scheme} {numbers.choice([key, key, key, _WRONG_KEY])}"}
        if numbers.random() < 0.2:
            headers |= {numbers.choice(["X-Request-ID", "Referer", "User-Agent", "Cookie"]): text}
        match numbers.randrange(6):
            case 0:
                yield "GET", f"{path}?{urlencode(values, doseq=True)}", b"", "", headers
            case 1:
                yield "POST", path, urlencode(values, doseq=True).encode(), "application/x-www-form-urlencoded", headers
            case 2:
                yield "POST", f"{path}/{_WORD}-{number}?{_WORD}={key}", b"", "", headers
            case 3:
                yield "POST", path, f"{{{text} {key}".encode(), "application/json", headers
            case _:
                yield "POST", path, json.dumps(values).encode(), "application/json", headers


async def _send(server: ServerProcess, items: Iterable[Request], outcome: Outcome) -> None:
    connection = Connection(*server.address)
    for method, path, body, content_type, headers in items:
        response = await connection.request(method, path, body, content_type, headers)
        outcome.count("answered", int(response.status == 200))
        location = response.headers.get("location", "")
        outcome.check(_WORD not in location.lower(), f"{method} {path}: leads to {location}")
    connection.close()


async def _metrics(server: ServerProcess, key: str) -> str:
    connection = Connection(*server.address)
    response = await connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {key}"})
    connection.close()
    return response.body.decode()
