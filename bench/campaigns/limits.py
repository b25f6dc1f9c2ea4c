"""What is too large: requests beyond each limit, bodies of a gigabyte that are only announced, and adversarial files.

Each must get the right status at once, without the rest being read, and the CPU time of a file may only grow with its
size.
"""

import asyncio
import time
from typing import Any

from campaigns.outcome import Outcome, percentile

from regard.benchmark.http_connection import Connection, Response, read_response
from regard.benchmark.server_process import ServerProcess

SENTENCE = (
    "{limits} limits exceeded in {requests} requests: {right} answered with the right status, after {p95:.0f} ms "
    "(95th percentile). {bodies} announced bodies of 1 GB at the same time: {refused} refused, memory of the server "
    "{growth:+.1f} MB. {files} adversarial files of {kilobytes:,} KB: {answered} translated, the CPU time grew at most "
    "{ratio:.1f} times from a quarter of the size."
)

_EN_FR = {"source": "en", "target": "fr"}
_GIGABYTE = 1_000_000_000
_SENT = 64 << 10  # bytes of an announced body that are sent
_MAX_GROWTH = 10.0  # MB
_MAX_RATIO = 8.0  # of CPU times, for four times the size; 4 is linear, 16 quadratic
_MIN_SECONDS = 0.3  # shorter CPU times are not compared

_JSON = {
    "texts": ("/translate", {"q": ["Hello."] * 129, **_EN_FR}, 400),
    "characters": ("/translate", {"q": "x" * 5_001, **_EN_FR}, 400),
    "alternatives": ("/translate", {"q": "Hello.", "alternatives": 1_000_000_000, **_EN_FR}, 400),
    "characters to detect": ("/detect", {"q": "x" * 900_000}, 400),
    "DeepL texts": ("/v2/translate", {"text": ["Hello."] * 129, "target_lang": "FR"}, 413),
    "DeepL characters": ("/v2/translate", {"text": ["x" * 5_001], "target_lang": "FR"}, 413),
    "/v1 texts": ("/v1/translate", {"text": ["Hello."] * 129, **_EN_FR}, 413),
    "/v1 characters": ("/v1/translate", {"text": "x" * 5_001, **_EN_FR}, 413),
    "/v1 n-best": ("/v1/translate", {"text": "Hello.", "n_best": 1_000_000_000, **_EN_FR}, 422),
    "body": ("/translate", {"q": "x" * 1_100_000, **_EN_FR}, 413),
}  # fmt: skip

_RAW = {
    "header": (b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 70_000 + b"\r\n\r\n", (400, 431)),
    "request line": (b"GET /?" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", (400, 414, 431)),
    "chunks without end": (
        b"POST /translate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        + (b"8000\r\n" + b"x" * 0x8000 + b"\r\n") * 40,
        (413,),
    ),
}

# Translated by itself: what comes before is mostly copied, so that the time is not that of the model.
_LAST_TEXT = {"html": b"\n<p>Hello.\n", "txt": b"\nHello.\n"}

# Text that a program may treat in a time that is the square of its length. Most of it is copied or is markup.
_PATTERNS = {
    "html": [
        "<a ",
        "<!--",
        "<",
        "&",
        "&#",
        "<b>",
        "</b>",
        "<a href='",
        "<![CDATA[",
        "<p>\n",
        "<script>",
        "<br>",
        "&lt;",
    ],
    "txt": [" ", "\n", "\t", "-", ".", "1 ", "{", "(", "http://", "\u00a0", "_", "`", "=\n", "1.1.", "@", "\u0301"],
}


def run(server: ServerProcess, count: int) -> Outcome:
    outcome = Outcome({"limits": len(_JSON) + len(_RAW), "requests": 0, "right": 0})
    times = asyncio.run(_exceed(server, max(1, count // 20), outcome))
    outcome.facts["p95"] = round(percentile(times, 0.95), 1)
    asyncio.run(_announce(server, count, outcome))
    asyncio.run(_upload(server, 10 * count, outcome))
    outcome.check(server.process.poll() is None, "the server has ended")
    return outcome


async def _exceed(server: ServerProcess, times_each: int, outcome: Outcome) -> list[float]:
    """Exceed each limit, and return the milliseconds of the answers."""
    milliseconds = []

    async def check(name: str, answer: Any, expected: tuple[int, ...]) -> None:
        began = time.perf_counter()
        response: Response = await asyncio.wait_for(answer, 30)
        milliseconds.append(1000 * (time.perf_counter() - began))
        outcome.count("requests")
        outcome.count("right", int(response.status in expected))
        outcome.check(response.status in expected, f"{name}: status {response.status}: {response.body[:200]!r}")

    for _ in range(times_each):
        for name, (path, fields, status) in _JSON.items():
            connection = Connection(*server.address)
            await check(name, connection.post(path, fields), (status,))
            connection.close()
        for name, (message, statuses) in _RAW.items():
            await check(name, _send(server, message), statuses)
    return milliseconds


async def _send(server: ServerProcess, message: bytes) -> Response:
    """Send bytes, do not wait until all are sent, and return the answer."""
    reader, writer = await asyncio.open_connection(*server.address)
    writer.write(message)
    try:
        return await read_response(reader)
    finally:
        writer.close()


async def _announce(server: ServerProcess, count: int, outcome: Outcome) -> None:
    """Announce bodies of a gigabyte on many connections, and send only their beginnings."""
    head = (
        f"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {_GIGABYTE}"
    )
    message = head.encode() + b"\r\n\r\n" + b'{"q": "' + b"x" * _SENT
    before = server.processes.root.memory_info().rss
    answers = await asyncio.gather(*(_send(server, message) for _ in range(count)), return_exceptions=True)
    growth = (server.processes.root.memory_info().rss - before) / 1e6
    refused = sum(isinstance(each, Response) and each.status == 413 for each in answers)
    outcome.facts |= {"bodies": count, "refused": refused, "growth": round(growth, 2)}
    outcome.check(refused == count, f"{count - refused} of {count} announced bodies were not refused: {answers[:3]}")
    outcome.check(growth < _MAX_GROWTH, f"memory grew by {growth:.1f} MB")


async def _upload(server: ServerProcess, kilobytes: int, outcome: Outcome) -> None:
    outcome.facts |= {"files": 0, "kilobytes": kilobytes, "answered": 0, "ratio": 0.0}
    for suffix, patterns in _PATTERNS.items():
        for pattern in patterns:
            outcome.count("files")
            seconds = []
            for size in (kilobytes * 250, kilobytes * 1_000):
                content = (pattern * (size // len(pattern.encode()) + 1)).encode()[:size] + _LAST_TEXT[suffix]
                before = server.processes.cpu_seconds()
                status = await _upload_one(server, f"a.{suffix}", content)
                seconds.append(server.processes.cpu_seconds() - before)
                outcome.check(status < 500, f"{pattern!r} as {suffix}, {size:,} bytes: status {status}")
            outcome.count("answered", int(status == 200))
            ratio = seconds[1] / max(seconds[0], _MIN_SECONDS)
            outcome.facts["ratio"] = round(max(outcome.facts["ratio"], ratio), 2)
            outcome.check(ratio <= _MAX_RATIO, f"{pattern!r} as {suffix}: {seconds[0]:.2f} s, then {seconds[1]:.2f} s")


async def _upload_one(server: ServerProcess, name: str, content: bytes) -> int:
    parts = [f'--x\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n' for key, value in _EN_FR.items()]
    head = f'--x\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    body = "".join([*parts, head]).encode() + content + b"\r\n--x--\r\n"
    connection = Connection(*server.address)
    try:
        response = await connection.request("POST", "/translate_file", body, "multipart/form-data; boundary=x")
    finally:
        connection.close()
    return response.status
