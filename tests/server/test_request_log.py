"""The log of requests: an error that nothing else has answered is answered there."""

import asyncio
import json

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from regard.server.metrics import Metrics
from regard.server.request_log import RequestLog
from regard.server.route_table import RouteTable


@pytest.mark.parametrize("is_answered", [False, True])
def test_an_error_is_answered_once(is_answered: bool) -> None:
    async def fails(scope: Scope, receive: Receive, send: Send) -> None:
        if is_answered:
            await PlainTextResponse("answer")(scope, receive, send)
        raise ValueError("a private text")

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        raise AssertionError

    scope = {"type": "http", "method": "GET", "path": "/v2/translate", "headers": []}
    asyncio.run(RequestLog(fails, Metrics(), RouteTable([]))(scope, receive, send))
    assert [each["type"] for each in sent] == ["http.response.start", "http.response.body"]
    assert sent[0]["status"] == (200 if is_answered else 500)
    assert sent[1]["body"] == b"answer" or list(json.loads(sent[1]["body"])) == ["message"]
    assert b"private" not in sent[1]["body"]
