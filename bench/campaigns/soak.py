"""Many requests of all kinds over one server: memory, file descriptors and threads must not grow."""

import asyncio
import random
from collections.abc import Iterable, Iterator
from typing import Any

from campaigns.outcome import Outcome, for_each

from regard.benchmark.http_connection import Connection
from regard.benchmark.server_process import ServerProcess

SENTENCE = (
    "{requests:,} requests of all kinds: {failed} failed; after the first {warm_up:,}, the memory of all processes "
    "changed by {slope:+.2f} MB in 10,000 requests, open files by {files:+d}, threads by {threads:+d}; "
    "{memory:,.0f} MB at the end."
)

_TASKS = 48
_SAMPLES = 40
_WARM_UP = 0.4  # until the cache is full
_MAX_SLOPE = 1.0  # MB in 10,000 requests

Request = tuple[str, dict[str, Any], int]  # path, fields, expected status


def requests(count: int) -> Iterator[Request]:
    """Yield requests of all kinds; most have texts that were not sent before."""
    numbers = random.Random(1)
    languages = {"source": "en", "target": "fr"}
    for number in range(count):
        text = f"House {number}."
        kind = numbers.random()
        if kind < 0.7:
            yield "/translate", {"q": text, **languages}, 200
        elif kind < 0.8:
            yield "/translate", {"q": "I am a student.", **languages}, 200
        elif kind < 0.84:
            yield "/translate", {"q": f"<p>See <b>this</b>: {text}</p>", "format": "html", **languages}, 200
        elif kind < 0.87:
            yield "/translate", {"q": [text, "Hello.", text.upper()], **languages}, 200
        elif kind < 0.90:
            yield "/translate", {"q": text, "alternatives": 2, **languages}, 200
        elif kind < 0.93:
            yield "/detect", {"q": text}, 200
        elif kind < 0.95:
            yield "/v2/translate", {"text": [text], "target_lang": "FR"}, 200
        elif kind < 0.97:
            yield "/v1/translate", {"text": text, **languages, "words": True}, 200
        elif kind < 0.98:
            yield "/translate", {"q": "x" * 6_000, **languages}, 400
        elif kind < 0.99:
            yield f"/none/{number}", {}, 404
        else:
            yield "/translate", {"q": number, **languages}, 400


def run(count: int) -> Outcome:
    outcome = Outcome({"requests": count, "failed": 0})
    server = ServerProcess.start([])
    points: list[tuple[int, float, int, int]] = []
    done = 0

    async def client(_: int, items: Iterable[Request]) -> None:
        nonlocal done
        connection = Connection(*server.address)
        for path, fields, expected in items:
            try:
                status = (await connection.post(path, fields)).status
            except (OSError, EOFError):
                status = 0
            if status != expected:
                outcome.count("failed")
                outcome.fault(f"status {status} for {path} {fields}")
            done += 1
            if done % max(1, count // _SAMPLES) == 0:
                points.append((done, *_usage(server)))
        connection.close()

    try:
        asyncio.run(for_each(requests(count), _TASKS, client))
    finally:
        server.end()
    outcome.facts |= _growth([point for point in points if point[0] > _WARM_UP * count], outcome)
    outcome.facts["warm_up"] = round(_WARM_UP * count)
    return outcome


def _usage(server: ServerProcess) -> tuple[float, int, int]:
    """Return the resident memory in MB, the open files, and the threads of all processes."""
    processes = server.processes.all()
    return (
        sum(each.memory_info().rss for each in processes) / 1e6,
        sum(each.num_fds() for each in processes),
        sum(each.num_threads() for each in processes),
    )


def _growth(points: list[tuple[int, float, int, int]], outcome: Outcome) -> dict[str, Any]:
    """Return the slope of the memory by least squares, and the change of the medians of files and threads."""
    at = [done / 10_000 for done, *_ in points]
    memory = [each for _, each, *_ in points]
    middle, mean = sum(at) / len(at), sum(memory) / len(memory)
    slope = sum((x - middle) * (y - mean) for x, y in zip(at, memory, strict=True)) / sum((x - middle) ** 2 for x in at)
    half = len(points) // 2
    files, threads = (
        max(point[which] for point in points[half:]) - max(point[which] for point in points[:half]) for which in (2, 3)
    )
    outcome.check(slope < _MAX_SLOPE, f"memory grows by {slope:.2f} MB in 10,000 requests")
    outcome.check(files <= 0, f"open files grow by {files}")
    outcome.check(threads <= 0, f"threads grow by {threads}")
    return {"slope": round(slope, 3), "files": files, "threads": threads, "memory": round(memory[-1])}
