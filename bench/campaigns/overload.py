"""Ten times as many requests as the server can answer, for a minute.

Every request must be answered, with the right text before its deadline or with 429 or 503 and Retry-After, and the
server must translate about as much as at its peak.
"""

import asyncio
import time
from collections import deque
from dataclasses import dataclass, field

from campaigns.known_texts import sentences, translations
from campaigns.outcome import Outcome, percentile

from regard.benchmark.http_connection import Connection
from regard.benchmark.server_process import ServerProcess

SENTENCE = (
    "{factor:.1f} times the load of the peak for {seconds:.0f} s ({offered:,} requests): {answered:,} translated, "
    "{refused:,} refused with Retry-After, {lost} lost, {wrong} wrong of {checked:,} compared with the library; "
    "{goodput:.0f} translations per second, {share:.0%} of the {peak:.0f} at the peak; p99 of what was accepted "
    "{p99:.1f} s."
)

_PEAK_CLIENTS = 64
_FACTOR = 10
_SENDERS = 512
_DEADLINE = 20.0
_MIN_SHARE = 0.9
_CHECKED = 2_000


@dataclass
class _Result:
    """What the clients of one phase got."""

    texts: dict[str, str] = field(default_factory=dict)
    milliseconds: list[float] = field(default_factory=list)
    offered: int = 0
    refused: int = 0
    lost: int = 0


def run(count: int) -> Outcome:
    """Overload a server for `count` seconds; the peak is measured for a third of that."""
    outcome = Outcome({"seconds": float(count)})
    texts = deque(sentences(29_000))
    server = ServerProcess.start(["--model", "en-fr"])
    try:
        peak = asyncio.run(_send(server, texts, count / 3, _PEAK_CLIENTS, None, outcome))
        peak_rate = len(peak.texts) / (count / 3)
        found = asyncio.run(_send(server, texts, count, _SENDERS, _FACTOR * peak_rate, outcome))
        outcome.check(server.process.poll() is None, "the server has ended")
    finally:
        server.end()
    rate = len(found.texts) / count
    sample = dict(list(found.texts.items())[:: max(1, len(found.texts) // _CHECKED)])
    expected = translations(sample)
    wrong = [text for text, translation in sample.items() if translation != expected[text]]
    for text in wrong:
        outcome.fault(f"{text!r} became {sample[text]!r}, not {expected[text]!r}")
    p99 = percentile(found.milliseconds, 0.99) / 1000
    outcome.facts |= {"factor": round(found.offered / count / peak_rate, 2), "offered": found.offered}
    outcome.facts |= {"answered": len(found.texts), "refused": found.refused, "lost": found.lost, "wrong": len(wrong)}
    outcome.facts |= {"checked": len(sample), "goodput": round(rate, 1), "peak": round(peak_rate, 1)}
    outcome.facts |= {"share": round(rate / peak_rate, 3), "p99": round(p99, 2)}
    outcome.check(rate >= _MIN_SHARE * peak_rate, f"goodput is {rate / peak_rate:.0%} of the peak")
    outcome.check(p99 <= _DEADLINE, f"the p99 of accepted requests is {p99:.1f} s")
    return outcome


async def _send(
    server: ServerProcess, texts: deque[str], seconds: float, senders: int, rate: float | None, outcome: Outcome
) -> _Result:
    """Send sentences from many connections, as fast as they are answered or at a rate of all together."""
    result = _Result()
    began = time.perf_counter()
    end = began + seconds

    async def sender(number: int) -> None:
        connection = Connection(*server.address)
        due = began + (number / rate if rate else 0)
        while (now := time.perf_counter()) < end and texts:
            if rate:
                if due > now:
                    await asyncio.sleep(due - now)
                due = max(due + senders / rate, time.perf_counter() - senders / rate)
            text = texts.popleft()
            result.offered += 1
            asked = time.perf_counter()
            try:
                response = await connection.post("/translate", {"q": text, "source": "en", "target": "fr"})
            except (OSError, EOFError) as error:
                result.lost += 1
                outcome.fault(f"no answer: {type(error).__name__}")
                continue
            if response.status == 200:
                result.milliseconds.append(1000 * (time.perf_counter() - asked))
                if time.perf_counter() <= end:
                    result.texts[text] = response.json()["translatedText"]
                continue
            texts.append(text)
            if response.status in (429, 503) and int(response.headers.get("retry-after", 0)) >= 1:
                result.refused += 1
            else:
                result.lost += 1
                outcome.fault(f"status {response.status}: {response.body[:200]!r}, {dict(response.headers)}")
        connection.close()

    await asyncio.gather(*(sender(number) for number in range(senders)))
    return result
