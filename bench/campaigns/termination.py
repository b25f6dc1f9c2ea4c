"""SIGTERM under load: what was accepted is answered, health turns 503 or the server is gone, and no process remains."""

import asyncio
import random
import signal
import time
from dataclasses import dataclass

import psutil
from campaigns.known_texts import sentences, translations
from campaigns.outcome import Outcome, percentile

from regard.benchmark.http_connection import Connection
from regard.benchmark.server_process import ServerProcess

SENTENCE = (
    "{signals} times SIGTERM under the load of {clients} clients: {finished:,} requests that were open were answered "
    "with the right text, {refused} refused with 503, {lost} lost; afterwards /health was never 200 again; the server "
    "ended after {median:.1f} s (median), {slowest:.1f} s at most, {orphans} processes remained."
)

_CLIENTS = 16
_TEXTS = 200
_MAX_SECONDS = 10.0
_GRACE = 0.5  # a request that was sent this much before the signal may not have been read


@dataclass
class _Signal:
    at: float | None = None


def run(count: int) -> Outcome:
    outcome = Outcome({"signals": count, "clients": _CLIENTS, "finished": 0, "refused": 0, "lost": 0, "orphans": 0})
    known = translations(sentences(_TEXTS))
    times = []
    for number in range(count):
        server = ServerProcess.start(["--model", "en-fr"], {"REGARD_SERVE_CACHE_BYTES": "0"})
        try:
            children = server.engines()
            times.append(asyncio.run(_terminate(server, known, random.Random(number), outcome)))
            outcome.check(server.process.returncode in (0, -signal.SIGTERM), f"exit code {server.process.returncode}")
            outcome.check(times[-1] <= _MAX_SECONDS, f"the server ended after {times[-1]:.1f} s")
            _, alive = psutil.wait_procs(children, timeout=1)
            outcome.count("orphans", len(alive))
            outcome.check(not alive, f"{len(alive)} processes remain")
        finally:
            server.end()
    outcome.facts |= {"median": round(percentile(times, 0.5), 2), "slowest": round(max(times), 2)}
    return outcome


async def _terminate(server: ServerProcess, known: dict[str, str], numbers: random.Random, outcome: Outcome) -> float:
    """Send the signal at a random moment, and return the seconds until the server has ended."""
    sent = _Signal()
    clients = [_client(server, known, random.Random(numbers.random()), sent, outcome) for _ in range(_CLIENTS)]
    working = asyncio.gather(*clients, _watch_health(server, sent, outcome))
    await asyncio.sleep(numbers.uniform(0.3, 1.5))
    sent.at = began = time.perf_counter()
    server.process.send_signal(signal.SIGTERM)
    while server.process.poll() is None and time.perf_counter() - began < 2 * _MAX_SECONDS:
        await asyncio.sleep(0.01)
    seconds = time.perf_counter() - began
    await asyncio.wait_for(working, 60)
    return seconds


async def _client(
    server: ServerProcess, known: dict[str, str], numbers: random.Random, signalled: _Signal, outcome: Outcome
) -> None:
    texts = list(known)
    connection = Connection(*server.address)
    while server.process.poll() is None:
        text = numbers.choice(texts)
        asked = time.perf_counter()
        try:
            response = await connection.post("/translate", {"q": text, "source": "en", "target": "fr"})
        except (OSError, EOFError) as error:
            if signalled.at is None or asked < signalled.at:
                outcome.count("lost")
                outcome.fault(f"a request that was open got no answer: {type(error).__name__}")
            break
        was_open = signalled.at is not None and asked < signalled.at
        if response.status == 503:
            outcome.count("refused")
            early = signalled.at is None or asked < signalled.at - _GRACE
            outcome.check(not early, "503 for a request that was sent well before the signal")
            await asyncio.sleep(0.05)
        elif response.status != 200 or response.json()["translatedText"] != known[text]:
            outcome.fault(f"status {response.status} for {text!r}: {response.body[:200]!r}")
        elif was_open:
            outcome.count("finished")
    connection.close()


async def _watch_health(server: ServerProcess, signalled: _Signal, outcome: Outcome) -> None:
    """Ask for /health all the time: once it was not 200 after the signal, it must not be 200 again."""
    was_refused = False
    while server.process.poll() is None:
        connection = Connection(*server.address)
        asked = time.perf_counter()
        try:
            status = (await connection.get("/health")).status
        except (OSError, EOFError):
            status = 0
        connection.close()
        if signalled.at is not None and asked > signalled.at + 1.0:
            outcome.check(status in (0, 503), f"/health is {status} one second after the signal")
        outcome.check(not (was_refused and status == 200), "/health is 200 again")
        was_refused = was_refused or (signalled.at is not None and status != 200)
        await asyncio.sleep(0.02)
