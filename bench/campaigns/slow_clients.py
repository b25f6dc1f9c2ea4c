"""Hundreds of connections that send slowly or nothing: each must be closed, and other clients must not notice."""

import asyncio
import random
import time

from campaigns.known_texts import sentences
from campaigns.outcome import Outcome, percentile

from regard.benchmark.http_connection import Connection
from regard.benchmark.server_process import ServerProcess

SENTENCE = (
    "{connections} slow connections at a time for {seconds:.0f} s (silent, slow headers, slow bodies), opened again "
    "when closed: {closed:,} closed, after {slowest:.1f} s at most; others' p95 {busy:.0f} ms, {ratio:.2f} times the "
    "{quiet:.0f} ms without them; {failed} of {valid:,} other requests failed. {unread} connections that ask much and "
    "read nothing did not matter."
)

_VALID_CLIENTS = 4
_SECONDS = 60.0
_MAX_CLOSE_SECONDS = 15.0
_MAX_RATIO = 2.0
_UNREAD = 8
_HEAD = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n"


def run(server: ServerProcess, count: int) -> Outcome:
    seconds = _SECONDS if count >= 500 else 14.0
    outcome = Outcome({"connections": count, "seconds": seconds, "closed": 0, "failed": 0, "valid": 0})
    asyncio.run(_run(server, count, seconds, outcome))
    return outcome


async def _run(server: ServerProcess, count: int, seconds: float, outcome: Outcome) -> None:
    texts = iter(sentences(20_000))
    quiet = await _valid(server, texts, seconds / 3, outcome)
    ended = asyncio.Event()
    closed: list[float] = []
    tasks = [asyncio.create_task(_slow(server, number, ended, closed, outcome)) for number in range(count)]
    tasks += [asyncio.create_task(_ask_without_reading(server, ended)) for _ in range(_UNREAD)]
    busy = await _valid(server, texts, seconds, outcome)
    ended.set()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    before, during = percentile(quiet, 0.95), percentile(busy, 0.95)
    outcome.facts |= {"quiet": round(before, 1), "busy": round(during, 1), "ratio": round(during / before, 2)}
    outcome.facts |= {"slowest": round(max(closed, default=0.0), 1), "unread": _UNREAD}
    outcome.check(during <= _MAX_RATIO * before, f"the p95 of others rose from {before:.0f} to {during:.0f} ms")
    outcome.check(bool(closed), "no slow connection was closed")
    outcome.check(max(closed, default=0.0) <= _MAX_CLOSE_SECONDS, f"closed only after {max(closed, default=0):.1f} s")


async def _valid(server: ServerProcess, texts: object, seconds: float, outcome: Outcome) -> list[float]:
    """Translate sentences for some time, and return the milliseconds of each."""
    milliseconds: list[float] = []
    end = time.perf_counter() + seconds

    async def client() -> None:
        connection = Connection(*server.address)
        while (began := time.perf_counter()) < end:
            values = {"q": next(texts), "source": "en", "target": "fr"}  # type: ignore[call-overload]
            try:
                status = (await connection.post("/translate", values)).status
            except (OSError, EOFError):
                status = 0
            milliseconds.append(1000 * (time.perf_counter() - began))
            outcome.count("valid")
            outcome.count("failed", int(status != 200))
            outcome.check(status == 200, f"status {status} for another client")
        connection.close()

    await asyncio.gather(*(client() for _ in range(_VALID_CLIENTS)))
    return milliseconds


async def _slow(
    server: ServerProcess, number: int, ended: asyncio.Event, closed: list[float], outcome: Outcome
) -> None:
    """Send a byte of a request every second or so, again and again."""
    numbers = random.Random(number)
    whole = [b"", b"X-Slow: " + b"x" * 1_000, _HEAD + b"\r\n" + b"x" * 900][number % 3]
    while not ended.is_set():
        reader, writer = await asyncio.open_connection(*server.address)
        began = time.perf_counter()
        sender = asyncio.create_task(_drip(writer, whole, 0 if number % 3 == 0 else len(_HEAD), numbers))
        try:
            await reader.read()
        except ConnectionError:
            pass
        finally:
            sender.cancel()
            writer.close()
        closed.append(time.perf_counter() - began)
        outcome.count("closed")


async def _drip(writer: asyncio.StreamWriter, data: bytes, at_once: int, numbers: random.Random) -> None:
    if data.startswith(b"X-Slow"):
        data, at_once = _HEAD + data, len(_HEAD)
    writer.write(data[:at_once])
    for at in range(at_once, len(data)):
        await asyncio.sleep(numbers.uniform(0.5, 1.5))
        try:
            writer.write(data[at : at + 1])
            await writer.drain()
        except ConnectionError:
            return


async def _ask_without_reading(server: ServerProcess, ended: asyncio.Event) -> None:
    """Ask for the same page very often, and read nothing of the answers."""
    _, writer = await asyncio.open_connection(*server.address, limit=1)
    writer.write(b"GET /spec HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2_000)
    await ended.wait()
    writer.close()
