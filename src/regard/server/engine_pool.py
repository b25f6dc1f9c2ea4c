"""Keeps engine processes running, gives them batches, and deals with those that die.

The texts of a process that died are tried once more, each alone, so that only a text that ends a process ends another
one. After that the request is refused with 503, and for some minutes the text is not tried again.
"""

import asyncio
import hashlib
import logging
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from regard.inference.result import Translation
from regard.machine.cpu import cpu_count
from regard.server.child_process import ChildDied, ChildProcess
from regard.server.errors import BadRequest, NoEngine, PoisonedRequest, ServeError, TranslationFailed
from regard.server.metrics import Metrics
from regard.server.queue import Batch, Item, Lane, Queue
from regard.server.wire import translation_from_dict

_MAX_DEATHS = 2
_QUARANTINE_SECONDS = 600.0
_SHORT_LIFE = 10.0  # a process that dies sooner is restarted with a delay that doubles
_FIRST_DELAY, _MAX_DELAY = 0.1, 2.0  # of restarts
_MAX_START_DELAY = 30.0  # of restarts after a start that failed
_PATIENCE = 30.0  # a batch may take this many seconds more, and this many times longer, than it is expected to
_STARTS = 3  # after this many failed starts, requests are no longer kept waiting

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class EngineOptions:
    """What every engine process of a server has in common."""

    models: Mapping[str, str]  # the folder of each model by its name
    cache_bytes: int
    engines: int = 1  # which share the cores
    compute_type: str = "float32"


class EnginePool:
    """The engine processes of a server."""

    def __init__(self, options: EngineOptions, queue: Queue, metrics: Metrics) -> None:
        self._options, self._queue, self._metrics = options, queue, metrics
        self._engines: dict[int, ChildProcess | None] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._failed_starts: Counter[int] = Counter()
        self._quarantine: dict[bytes, float] = {}

    async def start(self) -> None:
        """Start all processes; raise a `ServeError` if one cannot load its models."""
        engines = await self._start_processes(self._options)
        self._tasks = [asyncio.create_task(self._keep(number, each)) for number, each in enumerate(engines)]

    async def reload(self, options: EngineOptions) -> None:
        """Start processes with other models, and end the present ones after their batch.

        If they cannot start, raise a `ServeError` and keep the present ones.
        """
        engines = await self._start_processes(options)
        present, tasks = [each for each in self._engines.values() if each], self._tasks
        self._options = options
        self._tasks = [asyncio.create_task(self._keep(number, each)) for number, each in enumerate(engines)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(each.end() for each in present))

    async def end(self) -> None:
        """End all processes."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(each.end() for each in self._engines.values() if each))

    @property
    def engines(self) -> list[ChildProcess]:
        return [each for each in self._engines.values() if each and not each.died.is_set()]

    def measure(self) -> None:
        """Set the metrics of the processes that change all the time."""
        for number, engine in self._engines.items():
            self._metrics.engine_resident_bytes.labels(number).set(engine.resident_bytes if engine else 0)
        self._metrics.cache_bytes.set(sum(each.cache_bytes for each in self.engines))

    def is_ready(self) -> bool:
        return any(each.is_alive() for each in self.engines)

    def check(self, lane: Lane, texts: tuple[str, ...]) -> None:
        """Raise an error if no process can be started, or if one of the texts has ended two processes."""
        if self._failed_starts and min(self._failed_starts.values()) >= _STARTS and not self.engines:
            raise NoEngine("no engine process is running; try again later", retry_after=30)
        if self._quarantine:
            now = time.monotonic()
            self._quarantine = {key: until for key, until in self._quarantine.items() if until > now}
            if any(_key(lane, text) in self._quarantine for text in texts):
                raise PoisonedRequest("this text has ended two engine processes and is not tried again")

    async def _keep(self, number: int, engine: ChildProcess | None) -> None:
        """Run one process after the other, for ever."""
        delay = 0.0
        while True:
            began = time.monotonic()
            engine = engine or await self._start(number)
            self._engines[number] = engine
            self._metrics.engine_up.labels(number).set(1)
            await self._serve(engine)
            self._metrics.engine_up.labels(number).set(0)
            self._metrics.engine_restarts.labels("silent" if engine.was_silent else "died").inc()
            _logger.warning("engine process %s has ended; starting another one", engine.process.pid)
            self._engines[number] = None
            await engine.end()
            engine = None
            lived = time.monotonic() - began
            delay = min(_MAX_DELAY, 2 * delay or _FIRST_DELAY) if lived < _SHORT_LIFE else 0.0
            await asyncio.sleep(delay)

    async def _start_processes(self, options: EngineOptions) -> list[ChildProcess]:
        """Start all processes; if one cannot start, end the others and raise its error."""
        starts = (self._start_process(options) for _ in range(options.engines))
        results = await asyncio.gather(*starts, return_exceptions=True)
        engines = [each for each in results if isinstance(each, ChildProcess)]
        if errors := [each for each in results if isinstance(each, BaseException)]:
            await asyncio.gather(*(each.end() for each in engines))
            raise errors[0]
        return engines

    async def _start_process(self, options: EngineOptions) -> ChildProcess:
        threads = max(1, cpu_count() // options.engines)
        return await ChildProcess.start("regard.server.engine_process", asdict(options), threads)

    async def _start(self, number: int) -> ChildProcess:
        delay = 0.5
        while True:
            try:
                engine = await self._start_process(self._options)
            except ServeError as error:
                self._failed_starts[number] += 1
                self._metrics.engine_restarts.labels("failed").inc()
                _logger.error("an engine process could not start; trying again in %g s: %s", delay, error)
                await asyncio.sleep(delay)
                delay = min(_MAX_START_DELAY, 2 * delay)
            else:
                self._failed_starts.pop(number, None)
                return engine

    async def _serve(self, engine: ChildProcess) -> None:
        """Give a process one batch after the other until it dies."""
        died = asyncio.create_task(engine.died.wait())
        take: asyncio.Task[Batch] | None = None
        try:
            while True:
                take = asyncio.create_task(self._queue.take())
                await asyncio.wait([take, died], return_when=asyncio.FIRST_COMPLETED)
                if died.done():
                    return
                if not await self._translate(engine, take.result()):
                    return
                take = None
        finally:
            died.cancel()
            if take and not take.cancel() and not take.cancelled():
                for item in take.result().items:
                    if not item.deaths:
                        self._queue.put_back(item)

    async def _translate(self, engine: ChildProcess, batch: Batch) -> bool:
        """Return whether the process survived a batch."""
        lane = batch.lane
        self._metrics.batch_sentences.observe(len(batch.items))
        self._metrics.batch_tokens.observe(batch.tokens)
        for item in batch.items:
            self._metrics.queue_wait.observe(item.wait)
        texts = [item.text for item in batch.items]
        asked = asyncio.create_task(engine.ask({"model": lane.model, "decode": dict(lane.decode), "texts": texts}))
        try:
            answer = await asyncio.wait_for(asyncio.shield(asked), _PATIENCE * (1 + batch.tokens / self._queue.rate))
        except TimeoutError:
            engine.give_up()
            self._died(batch)
            return False
        except ChildDied:
            self._died(batch)
            return False
        except asyncio.CancelledError:
            # The server ends or loads other models: let this batch finish.
            await self._finish(batch, asked)
            raise
        self._answered(batch, answer)
        return True

    async def _finish(self, batch: Batch, asked: "asyncio.Task[dict[str, Any]]") -> None:
        try:
            self._answered(batch, await asked)
        except ChildDied:
            self._died(batch)

    def _answered(self, batch: Batch, answer: dict[str, Any]) -> None:
        self._metrics.batch_duration.observe(answer["seconds"])
        self._metrics.cache_hits.inc(answer["hits"])
        self._metrics.cache_misses.inc(answer["misses"])
        self._queue.measured(answer["added_bytes"], answer["seconds"], answer["misses"])
        for item, result in zip(batch.items, answer["results"], strict=True):
            if item.future.done():
                continue  # it was cancelled, or came too late
            if "refused" in result:
                item.future.set_exception(BadRequest(result["refused"]))
            elif "failed" in result:
                item.future.set_exception(TranslationFailed("the text could not be translated"))
            else:
                translation = translation_from_dict(result)
                self._count(batch.lane.model, item, translation)
                item.future.set_result(translation)

    def _count(self, model: str, item: Item, translation: Translation) -> None:
        self._metrics.tokens.labels("source", model).inc(item.tokens)
        self._metrics.tokens.labels("target", model).inc(len(translation.tokens))
        self._metrics.characters.labels(model).inc(len(item.text))
        if any(warning.kind == "length limit" for warning in translation.warnings):
            self._metrics.limit_reached.inc()

    def _died(self, batch: Batch) -> None:
        for item in batch.items:
            item.deaths += 1
            if item.deaths < _MAX_DEATHS:
                self._queue.put_back(item)
            else:
                self._refuse(item)

    def _refuse(self, item: Item) -> None:
        self._quarantine[_key(item.lane, item.text)] = time.monotonic() + _QUARANTINE_SECONDS
        if not item.future.done():
            item.future.set_exception(NoEngine("two engine processes have ended with this text", retry_after=1))


def _key(lane: Lane, text: str) -> bytes:
    """Return what identifies a text that was refused, without keeping the text."""
    return hashlib.sha256(f"{replace(lane, is_document=False)!r} {text}".encode("utf-8", "replace")).digest()
