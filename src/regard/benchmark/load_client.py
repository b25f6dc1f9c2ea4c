"""Clients that ask a server for translations, in a process of their own, so that their CPU time is not the server's.

`run_clients` starts the process. It reads a job from standard input and writes the answers to standard output, as JSON.
Each client has a connection, and sends its next text when it has the answer to the one before. The server has the
interface of LibreTranslate.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field

from regard.benchmark.http_connection import Connection, Response

_PATIENCE = 20.0  # seconds after which a client no longer waits for its last answer


@dataclass
class Answers:
    """What the clients got. The lists have an item for each text that was sent, in the order of the texts."""

    seconds: float = 0.0  # from the first request to the last answer
    cpu_seconds: float = 0.0  # of the clients
    texts: list[str | None] = field(default_factory=list)  # None if there was no translation
    statuses: list[int] = field(default_factory=list)  # 0 if the connection was closed without an answer
    milliseconds: list[float] = field(default_factory=list)


def run_clients(
    host: str, port: int, languages: tuple[str, str], texts: Sequence[str], *, clients: int, seconds: float
) -> Answers:
    """Send texts, until all are sent or some seconds have passed, and return the answers."""
    job = {"host": host, "port": port, "languages": languages, "texts": texts, "clients": clients, "seconds": seconds}
    command = [sys.executable, "-P", "-m", "regard.benchmark.load_client"]
    done = subprocess.run(command, check=True, input=json.dumps(job).encode("ascii"), stdout=subprocess.PIPE)
    return Answers(**json.loads(done.stdout))


async def _run(
    host: str, port: int, languages: tuple[str, str], texts: list[str], clients: int, seconds: float
) -> Answers:
    source, target = languages
    count = len(texts)
    found: list[str | None] = [None] * count
    statuses, milliseconds = [0] * count, [0.0] * count
    sent = 0

    async def client(numbers: Iterator[int], end: float) -> None:
        nonlocal sent
        connection = Connection(host, port)
        for number in numbers:
            sent += 1
            asked = time.perf_counter()
            try:
                values = {"q": texts[number], "source": source, "target": target, "format": "text"}
                response = await connection.post("/translate", values)
            except (OSError, EOFError):
                response = Response(0)
            now = time.perf_counter()
            milliseconds[number] = round(1000 * (now - asked), 3)
            statuses[number] = response.status
            if response.status == 200:
                found[number] = response.json()["translatedText"]
            if now > end:
                break
        connection.close()

    cpu, began = time.process_time(), time.perf_counter()
    numbers = iter(range(count))
    tasks = [asyncio.create_task(client(numbers, began + seconds)) for _ in range(clients)]
    _, late = await asyncio.wait(tasks, timeout=seconds + _PATIENCE)
    for task in late:
        task.cancel()
    for task in set(tasks) - late:
        task.result()
    return Answers(
        time.perf_counter() - began, time.process_time() - cpu, found[:sent], statuses[:sent], milliseconds[:sent]
    )


if __name__ == "__main__":
    answers = asyncio.run(_run(**json.load(sys.stdin)))
    json.dump(asdict(answers), sys.stdout)
