"""`kill -9` of the process that translates, under load.

Every request must be answered with the right text, or with 503 and Retry-After if it had two processes that were
killed. A text that ends two processes is refused afterwards.
"""

import asyncio
import random
import time
from contextlib import suppress

import psutil
from campaigns.known_texts import sentences, translations
from campaigns.outcome import Outcome

from regard.benchmark.http_connection import Connection
from regard.benchmark.server_process import ServerProcess

SENTENCE = (
    "{kills} times `kill -9` of its engine process under the load of {clients} clients: {answered:,} requests answered "
    "with the right text, {unavailable} with 503, {wrong} wrong or without an answer; translating again after "
    "{median:.1f} s (median), {slowest:.1f} s at most. Of {poisons} texts during which two engines were killed, "
    "{refused} answered with 503 and refused afterwards."
)

_CLIENTS = 8
_BACK_SECONDS = 60.0
_TEXTS = 200


def run(count: int) -> Outcome:
    outcome = Outcome({"kills": count, "clients": _CLIENTS, "answered": 0, "unavailable": 0, "wrong": 0})
    known = translations(sentences(_TEXTS))
    server = ServerProcess.start(["--model", "en-fr"], {"REGARD_SERVE_CACHE_BYTES": "0"})
    try:
        times = asyncio.run(_kill_under_load(server, known, count, outcome))
        asyncio.run(_poison(server, max(1, count // 5), outcome))
        outcome.check(server.process.poll() is None, "the server has ended")
    finally:
        server.end()
    times.sort()
    outcome.facts |= {"median": round(times[len(times) // 2], 2), "slowest": round(times[-1], 2)}
    return outcome


async def _kill_under_load(server: ServerProcess, known: dict[str, str], count: int, outcome: Outcome) -> list[float]:
    ended = asyncio.Event()
    clients = [asyncio.create_task(_client(server, known, number, ended, outcome)) for number in range(_CLIENTS)]
    times = []
    for _ in range(count):
        await asyncio.sleep(random.uniform(0.3, 1.0))
        began = time.perf_counter()
        kill_engines(server)
        await _until_translated(server)
        times.append(time.perf_counter() - began)
    ended.set()
    await asyncio.gather(*clients)
    return times


async def _client(
    server: ServerProcess, known: dict[str, str], seed: int, ended: asyncio.Event, outcome: Outcome
) -> None:
    numbers, texts = random.Random(seed), list(known)
    connection = Connection(*server.address)
    while not ended.is_set():
        text = numbers.choice(texts)
        try:
            response = await connection.post("/translate", {"q": text, "source": "en", "target": "fr"})
        except (OSError, EOFError) as error:
            outcome.count("wrong")
            outcome.fault(f"no answer: {type(error).__name__}")
            continue
        if response.status == 200 and response.json()["translatedText"] == known[text]:
            outcome.count("answered")
        elif response.status == 503 and "retry-after" in response.headers:
            outcome.count("unavailable")
            await asyncio.sleep(0.1)
        else:
            outcome.count("wrong")
            outcome.fault(f"status {response.status} for {text!r}: {response.body[:200]!r}")
    connection.close()


def kill_engines(server: ServerProcess) -> set[int]:
    """Kill the processes that translate, and return their ids."""
    engines = server.engines()
    for process in engines:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    return {process.pid for process in engines}


async def _until_translated(server: ServerProcess) -> None:
    """Wait until a request that is sent now gets its translation."""
    connection = Connection(*server.address)
    async with asyncio.timeout(_BACK_SECONDS):
        while (await connection.post("/translate", {"q": "Hello.", "source": "en", "target": "fr"})).status != 200:
            await asyncio.sleep(0.02)
    connection.close()


async def _poison(server: ServerProcess, count: int, outcome: Outcome) -> None:
    """Kill the process twice while it has the same text, which takes long enough for that."""
    outcome.facts |= {"poisons": count, "refused": 0}
    connection = Connection(*server.address)
    for number in range(count):
        text = " ".join(f"Sentence {10 * part + number} is about house number {part}." for part in range(110))
        values = {"q": text, "source": "en", "target": "fr"}
        asked = asyncio.create_task(connection.post("/translate", values))
        for _ in range(2):
            await asyncio.sleep(0.1)
            killed = kill_engines(server)
            async with asyncio.timeout(_BACK_SECONDS):
                while not asked.done() and not await _has_another(server, killed):
                    await asyncio.sleep(0.01)
        first = await asked
        second = await connection.post("/translate", values)
        if (first.status, second.status) == (503, 400):
            outcome.count("refused")
        else:
            outcome.fault(f"a text during which two engines were killed: {first.status}, then {second.status}")
        await _until_translated(server)
    connection.close()


async def _has_another(server: ServerProcess, killed: set[int]) -> bool:
    """Return whether another process is ready."""
    if not {process.pid for process in server.engines()} - killed:
        return False
    connection = Connection(*server.address)
    try:
        return (await connection.get("/readyz")).status == 200
    finally:
        connection.close()
