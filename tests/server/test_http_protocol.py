"""Clients that do not read their answers, and those that connect just before the server ends."""

import asyncio
import socket
from collections.abc import Callable

import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from regard.server import http_protocol

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
ANSWER = "a" * 100_000


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.01)


def test_a_client_that_does_not_read_loses_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that has sent many requests, of which one after the other waits until it can be answered."""
    monkeypatch.setattr(http_protocol, "_FLUSH_SECONDS", 0.1)
    running, begun = 0, 0

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal running, begun
        running, begun = running + 1, begun + 1
        try:
            await PlainTextResponse(ANSWER)(scope, receive, send)
        finally:
            running -= 1

    async def work() -> None:
        config = uvicorn.Config(app, http=http_protocol.protocol_class(60), lifespan="off", log_config=None, port=0)
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve())
        await until(lambda: server.started)
        address = server.servers[0].sockets[0].getsockname()
        with socket.create_connection(address) as client:
            client.sendall(GET * 500)
            await until(lambda: begun > 0 and not server.server_state.connections)
            await until(lambda: not running)
        assert begun < 500
        reader, writer = await asyncio.open_connection(*address, limit=1 << 30)
        writer.write(GET * 20)
        for _ in range(20):
            await reader.readuntil(b"\r\n\r\n")
            assert await reader.readexactly(len(ANSWER)) == ANSWER.encode()
        writer.close()
        await until(lambda: not server.server_state.connections)
        server.should_exit = True
        await serving

    asyncio.run(asyncio.wait_for(work(), 300))


def test_the_request_of_a_client_that_connected_before_the_end_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_protocol, "_FIRST_REQUEST_SECONDS", 60.0)

    async def work() -> None:
        config = uvicorn.Config(
            PlainTextResponse("yes"), http=http_protocol.protocol_class(60), lifespan="off", log_config=None, port=0
        )
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve())
        await until(lambda: server.started)
        listener = server.servers[0]
        reader, writer = await asyncio.open_connection(*listener.sockets[0].getsockname())
        await until(lambda: bool(server.server_state.connections))
        server.should_exit = True
        await until(lambda: not listener.is_serving())
        writer.write(GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        assert (await reader.read()).endswith(b"yes")
        writer.close()
        await serving

    asyncio.run(asyncio.wait_for(work(), 300))
