"""Requests whose key is refused: they are limited by address, and take only a part of the memory for bodies."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message

from regard.server.errors import QueueFull
from regard.server.gate import Gate
from regard.server.keys import add_key
from regard.server.request_body import BodyMemory
from regard.server.service import Service
from regard.settings.serve import ServeSettings

MIB = 1 << 20


def statuses(gate: Gate, *requests: tuple[str, str | None, str | None, str]) -> list[int]:
    """Return the statuses of requests: the path, the keys in a header and in the body, and the address."""

    async def ask(path: str, in_header: str | None, in_body: str | None, address: str) -> int:
        headers = {"content-type": "application/json", **({"key": in_header} if in_header else {})}
        body = json.dumps({"api_key": in_body}).encode()
        sent: list[Message] = []
        scope: dict[str, Any] = {
            "type": "http", "method": "POST", "path": path, "query_string": b"", "scheme": "http",
            "client": (address, 1), "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }  # fmt: skip
        received: list[Message] = [{"type": "http.request", "body": body}]

        async def receive() -> Message:
            return received.pop() if received else await asyncio.Future()

        async def send(message: Message) -> None:
            sent.append(message)

        await gate(scope, receive, send)
        return int(sent[0]["status"])

    async def ask_all() -> list[int]:
        return [await ask(*request) for request in requests]

    return asyncio.run(ask_all())


@pytest.mark.parametrize("path", ["/translate", "/metrics"])
def test_refused_keys_count_for_their_address(tiny: Path, tmp_path: Path, path: str) -> None:
    keys = tmp_path / "keys.toml"
    key = add_key(keys, "one", {})
    service = Service(ServeSettings(models=(str(tiny),), host="0.0.0.0", keys=str(keys), requests_per_minute=3))
    gate = Gate(PlainTextResponse("answer"), service)
    bad, other = "192.0.2.1", "192.0.2.2"
    found = statuses(
        gate,
        *[(path, "wrong", None, bad), (path, None, "wrong", bad), (path, None, None, bad)],
        *[(path, "wrong", None, bad), (path, None, "wrong", bad), (path, None, None, bad)],
        *[(path, key, None, bad), (path, None, key, bad), (path, None, key, other), (path, "wrong", None, other)],
    )
    missing = 400 if path == "/translate" else found[2]
    # A key in the body is not looked for while the address is limited.
    assert found == [403, 403, missing, 429, 429, 429, 200, 429, 200, 403]


def test_the_files_of_the_page_do_not_count(tiny: Path) -> None:
    service = Service(ServeSettings(models=(str(tiny),), host="0.0.0.0", requests_per_minute=3))
    gate = Gate(PlainTextResponse("answer"), service)
    paths = [*["/static/0/page.js"] * 6, *["/translate"] * 4]
    assert statuses(gate, *((path, None, None, "192.0.2.1") for path in paths)) == [200] * 9 + [429]


def test_an_address_takes_a_part_of_the_memory_for_bodies() -> None:
    memory = BodyMemory()
    for _ in range(16):
        memory.take(MIB, "192.0.2.1")
    with pytest.raises(QueueFull):
        memory.take(1, "192.0.2.1")
    memory.take(MIB, "192.0.2.2")
    memory.take(47 * MIB, "")  # of clients with keys
    with pytest.raises(QueueFull):
        memory.take(1, "")
    memory.give_back(16 * MIB, "192.0.2.1")
    memory.take(16 * MIB, "192.0.2.1")
