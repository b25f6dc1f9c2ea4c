"""The speed of a server on this machine: under load by several numbers of clients, and of one short sentence when idle.

The same sentences are translated by `regard translate` in the same run. Each sentence is sent only once, so the cache
of the server is not measured. Only a server on a loopback address is measured, and every measurement is bounded in time
and requests.
"""

import asyncio
import ipaddress
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.benchmark.http_connection import Connection
from regard.benchmark.load_client import Answers, run_clients
from regard.benchmark.server_process import Processes, ServerProcess, address_of, listener
from regard.errors import DataError, UserError
from regard.inference.translator import Translator
from regard.inference.translator_loader import load_translator
from regard.model_folder.loader import open_folder

_SECONDS = 10.0  # maximum time of one measurement under load
_REQUESTS = 10_000  # maximum number of requests of one measurement
_ROUNDS = 3  # of the measurement with most clients, each followed by `regard translate`
_FEW_CLIENTS = (1, 8)  # measured in addition
_SHORT = 60  # maximum number of characters of a short sentence
_IDLE_REQUESTS = 200
_MIN_TEXTS = 40
_LOOPBACK_NAMES = ("localhost",)


@dataclass(frozen=True)
class LoadSpeed:
    """The speed of a server under the load of some clients, each of which sends one sentence after the other."""

    clients: int
    sentences: int
    sentences_per_second: float
    sentences_per_cpu_second: float | None  # None if the processes of the server cannot be seen
    p50_milliseconds: float
    p95_milliseconds: float
    p99_milliseconds: float
    refused: int  # requests without a translation
    different: int  # texts that differ from those of `regard translate`
    client_cpu_share: float  # CPU time of the clients, as a share of one core


@dataclass(frozen=True)
class ServerSpeed:
    """The measured speed of a server."""

    sentences: int  # number of distinct sentences in the input
    loads: tuple[LoadSpeed, ...]  # by number of clients
    translate_sentences_per_second: (
        float  # `regard translate` with the sentences of the largest load, without its start
    )
    translate_sentences_per_cpu_second: float
    share_of_translate: float | None  # sentences per CPU second, of the largest load and `regard translate`
    idle_p50_milliseconds: float  # of a short sentence by a server that does nothing else
    engine_p50_milliseconds: float  # of the same sentences by the translator in this process
    resident_mb: float | None  # memory of all processes of the server after the largest load


def measure_server(model: Path, texts: Sequence[str], *, url: str | None, clients: int) -> Iterator[str | ServerSpeed]:
    """Yield the name of each measurement when it starts, and the results of all measurements at the end.

    Without a URL, a server is started. A server at a given URL must serve the same model.
    """
    if clients < 1:
        raise UserError(f"the number of clients must be at least 1, got {clients}")
    texts = list(dict.fromkeys(text for text in texts if text.strip()))
    if len(texts) < _MIN_TEXTS:
        raise DataError(f"measuring a server takes at least {_MIN_TEXTS} different lines, got {len(texts)}")
    source, target = open_folder(model).languages
    if source is None or target is None:
        raise UserError(f"{model}: the model does not say its languages; train it with --languages SOURCE TARGET")
    if url is not None:
        _check_loopback(url)
        yield from _measure(model, texts, (source, target), address_of(url), clients)
        return
    yield "start of the server"
    server = ServerProcess.start(["--model", model])
    try:
        yield from _measure(model, texts, (source, target), server.address, clients)
    finally:
        server.end()


def _measure(
    model: Path, texts: Sequence[str], languages: tuple[str, str], address: tuple[str, int], clients: int
) -> Iterator[str | ServerSpeed]:
    processes = listener(address[1])
    supply = _Supply(texts)
    yield "one short sentence at a time"
    idle, engine = _idle(model, supply.short(), languages, address)
    few = [count for count in _FEW_CLIENTS if count < clients]
    start = _Run.of(model, supply.take(1))  # what starting takes, with one sentence
    loads = []
    for number, count in enumerate(few):
        yield f"{count} clients" if count > 1 else "one client"
        share = supply.take(min(_REQUESTS, len(texts) // (10 if number == 0 else 5)))
        loads.append(_load(model, share, languages, address, processes, count)[0])
    rounds = []
    for number in range(_ROUNDS):
        yield f"{clients} clients, round {number + 1} of {_ROUNDS}"
        share = supply.take(min(_REQUESTS, supply.left // (_ROUNDS - number)))
        rounds.append(_load(model, share, languages, address, processes, clients))
    loads.append(_median([load for load, _ in rounds]))
    speeds = [_rates(run, start, load.sentences) for load, run in rounds]
    per_cpu = statistics.median(speed for _, speed in speeds)
    ratios = [
        load.sentences_per_cpu_second / speed
        for (load, _), (_, speed) in zip(rounds, speeds, strict=True)
        if load.sentences_per_cpu_second
    ]
    yield ServerSpeed(
        sentences=len(texts),
        loads=tuple(loads),
        translate_sentences_per_second=statistics.median(speed for speed, _ in speeds),
        translate_sentences_per_cpu_second=per_cpu,
        share_of_translate=statistics.median(ratios) if ratios else None,
        idle_p50_milliseconds=idle,
        engine_p50_milliseconds=engine,
        resident_mb=processes.resident_bytes() / 1e6 if processes else None,
    )


class _Supply:
    """Sentences that have not been used yet."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = list(texts)

    @property
    def left(self) -> int:
        return len(self._texts)

    def short(self) -> list[str]:
        """Take short sentences, at most a tenth of all."""
        count = min(_IDLE_REQUESTS, len(self._texts) // 10)
        found = [text for text in self._texts if len(text) <= _SHORT][:count] or sorted(self._texts, key=len)[:count]
        chosen = set(found)
        self._texts = [text for text in self._texts if text not in chosen]
        return found

    def take(self, count: int) -> list[str]:
        taken, self._texts = self._texts[:count], self._texts[count:]
        return taken


@dataclass(frozen=True)
class _Run:
    """A run of `regard translate`."""

    seconds: float
    cpu_seconds: float
    texts: list[str]

    @classmethod
    def of(cls, model: Path, texts: Sequence[str]) -> "_Run":
        command = [sys.executable, "-P", "-m", "regard", "translate", "--model", str(model)]
        before, began = _children_cpu_seconds(), time.perf_counter()
        lines = "".join(f"{text}\n" for text in texts).encode()
        done = subprocess.run(command, check=True, input=lines, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        seconds = time.perf_counter() - began
        return cls(seconds, _children_cpu_seconds() - before, done.stdout.decode().split("\n")[:-1])


def _children_cpu_seconds() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _rates(run: _Run, start: _Run, sentences: int) -> tuple[float, float]:
    """Return sentences per second and per CPU second of a run, without its start."""

    def rate(whole: float, first: float) -> float:
        return max(1, sentences - 1) / max(1e-3, whole - first)

    return rate(run.seconds, start.seconds), rate(run.cpu_seconds, start.cpu_seconds)


def _load(
    model: Path,
    texts: Sequence[str],
    languages: tuple[str, str],
    address: tuple[str, int],
    processes: Processes | None,
    clients: int,
) -> tuple[LoadSpeed, _Run]:
    before = processes.cpu_seconds() if processes else 0.0
    answers = run_clients(*address, languages, texts, clients=clients, seconds=_SECONDS)
    cpu_seconds = processes.cpu_seconds() - before if processes else None
    sent = len(answers.texts)
    run = _Run.of(model, texts[:sent])
    return _speed(answers, run.texts, cpu_seconds, clients), run


def _speed(answers: Answers, expected: Sequence[str], cpu_seconds: float | None, clients: int) -> LoadSpeed:
    answered = [text is not None for text in answers.texts]
    count = sum(answered)
    times = sorted(time for time, has_text in zip(answers.milliseconds, answered, strict=True) if has_text)
    if not times:
        raise UserError(f"the server translated none of {len(answered)} texts; status {max(answers.statuses)}")
    return LoadSpeed(
        clients=clients,
        sentences=count,
        sentences_per_second=count / answers.seconds,
        sentences_per_cpu_second=count / max(cpu_seconds, 1e-3) if cpu_seconds is not None else None,
        p50_milliseconds=_percentile(times, 0.5),
        p95_milliseconds=_percentile(times, 0.95),
        p99_milliseconds=_percentile(times, 0.99),
        refused=len(answered) - count,
        different=sum(
            text is not None and text != wanted for text, wanted in zip(answers.texts, expected, strict=True)
        ),
        client_cpu_share=answers.cpu_seconds / answers.seconds,
    )


def _median(loads: Sequence[LoadSpeed]) -> LoadSpeed:
    """Return the medians of several rounds, and the sums of what must not happen."""
    return LoadSpeed(
        clients=loads[0].clients,
        sentences=sum(load.sentences for load in loads),
        refused=sum(load.refused for load in loads),
        different=sum(load.different for load in loads),
        sentences_per_cpu_second=None
        if loads[0].sentences_per_cpu_second is None
        else statistics.median(load.sentences_per_cpu_second or 0.0 for load in loads),
        **{
            name: statistics.median(getattr(load, name) for load in loads)
            for name in (
                "sentences_per_second",
                "p50_milliseconds",
                "p95_milliseconds",
                "p99_milliseconds",
                "client_cpu_share",
            )
        },
    )


def _idle(
    model: Path, texts: Sequence[str], languages: tuple[str, str], address: tuple[str, int]
) -> tuple[float, float]:
    """Return the median milliseconds of a sentence by the server, and by the translator in this process, in turns."""
    with load_translator(model) as translator:
        translator.translate(texts[0])
        return asyncio.run(_idle_times(translator, texts, languages, address))


async def _idle_times(
    translator: Translator, texts: Sequence[str], languages: tuple[str, str], address: tuple[str, int]
) -> tuple[float, float]:
    connection = Connection(*address)
    await connection.get("/health")
    source, target = languages
    served, alone = [], []
    for text in texts:
        began = time.perf_counter()
        response = await connection.post("/translate", {"q": text, "source": source, "target": target})
        middle = time.perf_counter()
        translator.translate(text)
        alone.append(time.perf_counter() - middle)
        served.append(middle - began)
        if response.status != 200:
            raise UserError(f"the server does not translate: status {response.status}, {response.body[:200]!r}")
    connection.close()
    return 1000 * statistics.median(served), 1000 * statistics.median(alone)


def _percentile(values: Sequence[float], share: float) -> float:
    """Return a percentile of sorted values."""
    return values[min(len(values) - 1, int(share * len(values)))]


def _check_loopback(url: str) -> None:
    host, _ = address_of(url)
    try:
        is_loopback = host in _LOOPBACK_NAMES or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = False
    if not url.startswith("http://") or not is_loopback:
        raise UserError(f"only a server on this machine is measured, such as http://127.0.0.1:5000, not {url}")
