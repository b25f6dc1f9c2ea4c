"""Messages that are not correct HTTP: request lines, headers, lengths, chunks, and several requests at once.

The server must survive each, may not answer with a status of 500 or more (except 501 and 505), and must answer the next
correct request.
"""

import asyncio
import random
import re
import time
from collections.abc import Iterable, Iterator

from campaigns.outcome import Outcome, for_each, percentile

from regard.benchmark.http_connection import Connection
from regard.benchmark.server_process import ServerProcess

SENTENCE = (
    "{messages:,} malformed HTTP messages: {refused:,} answered with an error, {accepted:,} with 200, {closed:,} by "
    "closing the connection; {server_errors} with a status of 500 or more, {unanswered} of {valid:,} correct requests "
    "between them without an answer; the slowest answer took {slowest:.2f} s."
)

_TASKS = 8
_SECONDS = 20.0  # for an answer; the server waits this long for more of a message
_BODY = b'{"q":"Hello.","source":"en","target":"fr"}'
_HEADERS = [b"Host: 127.0.0.1", b"Content-Type: application/json", b"Content-Length: %d" % len(_BODY)]

LINES = [
    b"", b"\r\n", b"GET", b"GET /", b"GET / HTTP/9.9", b"GET / HTTP/1.2", b"GET / http/1.1", b"GET  / HTTP/1.1",
    b"G\x00T / HTTP/1.1", b"GET /\x00 HTTP/1.1", b"GET /\xff\xfe HTTP/1.1", b"GET \r\n/ HTTP/1.1", b"GET /% HTTP/1.1",
    b"GET /%zz HTTP/1.1", b"GET /%00 HTTP/1.1", b"GET //// HTTP/1.1", b"GET /../../etc/passwd HTTP/1.1",
    b"\x16\x03\x01", b"GET http://example.org/ HTTP/1.1", b"CONNECT example.org:443 HTTP/1.1", b"OPTIONS * HTTP/1.1",
    b"GET * HTTP/1.1", b"TRACE / HTTP/1.1", b"PRI * HTTP/2.0", b"GET /?" + b"a" * 70_000 + b" HTTP/1.1",
    b"A" * 70_000, b"POST / HTTP/1.1 x", b"GET / HTTP/1.1\r", b"get /health HTTP/1.1", b"GET /health HTTP/1.0",
    b"GET /health", b"GET /#x HTTP/1.1",
]  # fmt: skip

HEADERS = [
    b"", b":", b": x", b"Host", b"Host:", b"Host: a\r\nHost: b", b" folded: x", b"X: a\r\n b", b"X : y", b"X\x00: y",
    b"X: \x00", b"X: \xff\xfe", b"X: " + b"y" * 70_000, b"\r\n".join([b"X: y"] * 2_000), b"Content-Length: x",
    b"Content-Length: -1", b"Content-Length: 5, 6", b"Content-Length: 1\r\nContent-Length: 2", b"Content-Length: +5",
    b"Content-Length: 99999999999999999999", b"Content-Length: 1_0", b"Content-Length: 0x10", b"Expect: 100-continue",
    b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked, chunked", b"Transfer-Encoding: gzip", b"Expect: x",
    b"Transfer-Encoding: \x0bchunked", b"Transfer-Encoding: chunked\r\nContent-Length: 5", b"Upgrade: websocket",
    b"Connection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__", b"Connection: close, keep-alive",
    b"Content-Type: \xff", b"Content-Type: multipart/form-data; boundary=\xff", b"Content-Encoding: gzip",
    b"Authorization: \xff\xfe", b"Range: bytes=0-", b"Host: [::1", b"Host: a b", b"Host: 127.0.0.1:99999", b"X\n: y",
]  # fmt: skip

CHUNKS = [
    b"0\r\n\r\n", b"5\r\nHello\r\n0\r\n\r\n", b"x\r\n", b"-1\r\n", b"5\r\nHel", b"ffffffffffffffff\r\n",
    b"5\nHello\n0\n\n", b"5;" + b"a" * 70_000 + b"\r\nHello\r\n0\r\n\r\n", b"0\r\nTrailer: x\r\n\r\n",
    b"0\r\n" + b"T: x\r\n" * 5_000 + b"\r\n", b"1\r\n{\r\n" * 2_000, b"5\r\nHelloWorld\r\n", b"\r\n\r\n",
    b" 5\r\nHello\r\n0\r\n\r\n", b"0" * 70_000, b"5_0\r\n",
]  # fmt: skip


def messages(count: int, seed: int = 1) -> Iterator[bytes]:
    """Yield malformed messages."""
    numbers = random.Random(seed)
    for _ in range(count):
        match numbers.randrange(6):
            case 0:
                message = _message(numbers.choice(LINES), _HEADERS, _BODY)
            case 1:
                headers = [
                    *_HEADERS[: numbers.randrange(4)],
                    numbers.choice(HEADERS),
                    *_HEADERS[numbers.randrange(4) :],
                ]
                message = _message(b"POST /translate HTTP/1.1", headers, _BODY)
            case 2:
                headers = [*_HEADERS[:2], b"Transfer-Encoding: chunked"]
                message = _message(b"POST /translate HTTP/1.1", headers, numbers.choice(CHUNKS))
            case 3:
                message = _flipped(_message(b"POST /translate HTTP/1.1", _HEADERS, _BODY), numbers)
            case 4:
                valid = _message(b"POST /translate HTTP/1.1", _HEADERS, _BODY)
                message = valid[: numbers.randrange(len(valid))]
            case _:
                valid = _message(b"GET /health HTTP/1.1", _HEADERS[:1], b"")
                many = [valid] * numbers.randrange(1, 20)
                many.insert(numbers.randrange(len(many) + 1), _message(numbers.choice(LINES), _HEADERS, _BODY))
                message = b"".join(many)
        yield message


def _message(line: bytes, headers: list[bytes], body: bytes) -> bytes:
    return b"\r\n".join([line, *headers, b"", body])


def _flipped(message: bytes, numbers: random.Random) -> bytes:
    data = bytearray(message)
    for _ in range(numbers.randrange(1, 6)):
        data[numbers.randrange(len(data))] = numbers.randrange(256)
    return bytes(data)


async def exchange(address: tuple[str, int], message: bytes, seconds: float) -> bytes:
    """Send bytes, end the sending side, and return all that comes back until the server closes the connection."""
    reader, writer = await asyncio.open_connection(*address)
    try:
        async with asyncio.timeout(seconds):
            writer.write(message)
            try:
                await writer.drain()
                writer.write_eof()
            except OSError:
                pass  # the server has answered before it read everything
            try:
                return await reader.read()
            except ConnectionResetError:
                return b""
    finally:
        writer.close()


def run(server: ServerProcess, count: int) -> Outcome:
    outcome = Outcome({"messages": count})
    outcome.facts |= dict.fromkeys(("refused", "accepted", "closed", "server_errors", "valid", "unanswered"), 0)
    before = [server.process.pid, *(each.pid for each in server.engines())]
    times = []

    async def client(_: int, items: Iterable[bytes]) -> None:
        for message in items:
            try:
                answer = await exchange(server.address, message, _SECONDS)
            except TimeoutError:
                outcome.fault(f"neither answered nor closed within {_SECONDS:g} s: {message[:120]!r}")
                continue
            statuses = [int(each) for each in re.findall(rb"HTTP/1\.1 (\d{3}) ", answer)]
            outcome.count("closed" if not statuses else "accepted" if statuses[-1] < 400 else "refused")
            if bad := [status for status in statuses if status >= 500 and status not in (501, 505)]:
                outcome.count("server_errors")
                outcome.fault(f"status {bad[0]}: {message[:200]!r}")
            began = time.perf_counter()
            if not await _is_answered(server.address):
                outcome.count("unanswered")
                outcome.fault(f"no answer to the request after {message[:120]!r}")
            outcome.count("valid")
            times.append(time.perf_counter() - began)

    asyncio.run(for_each(messages(count), _TASKS, client))
    outcome.facts |= {"slowest": round(max(times), 3), "p99": round(percentile(times, 0.99), 3)}
    after = [server.process.pid, *(each.pid for each in server.engines())]
    outcome.check(server.process.poll() is None and before == after, "a process of the server has ended")
    return outcome


async def _is_answered(address: tuple[str, int]) -> bool:
    connection = Connection(*address)
    try:
        async with asyncio.timeout(_SECONDS):
            values = {"q": "Hello.", "source": "en", "target": "fr"}
            return (await connection.post("/translate", values)).status == 200
    except (OSError, EOFError, TimeoutError):
        return False
    finally:
        connection.close()
