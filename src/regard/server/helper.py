"""The helper process as the front process sees it: started when first used, and ended when it was idle for a while.

It answers one request at a time. A request that takes too long ends the process, because torch cannot be interrupted.
Loading torch and a model is no part of a request: it continues when the request that began it is given up.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Literal

from regard.machine.cpu import cpu_count
from regard.server.child_process import ChildDied, ChildProcess
from regard.server.errors import BadRequest, DeadlinePassed, NoEngine, QueueFull, ServeError, TranslationFailed

_MAX_WAITING = 8
_IDLE_SECONDS = 600.0

HelperState = Literal["stopped", "starting", "running"]

_logger = logging.getLogger(__name__)


class Helper:
    """Starts and ends the helper process, and asks it."""

    def __init__(self, models: Mapping[str, str], *, idle_seconds: float = _IDLE_SECONDS) -> None:
        self.models = models
        self._idle_seconds = idle_seconds
        self._process: ChildProcess | None = None
        self._starting, self._turn = asyncio.Lock(), asyncio.Lock()
        self._loads: dict[str, asyncio.Task[ChildProcess]] = {}  # of the models of the process
        self.waiting = 0
        self._idle: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def is_running(self) -> bool:
        return self._process is not None and not self._process.died.is_set()

    @property
    def state(self) -> HelperState:
        is_loading = any(not load.done() for load in self._loads.values())
        if is_loading or (self._turn.locked() and not self.is_running):
            return "starting"
        return "running" if self.is_running else "stopped"

    @property
    def resident_bytes(self) -> int:
        return self._process.resident_bytes if self._process is not None and self.is_running else 0

    async def ask(self, message: dict[str, Any], until: float) -> Any:
        """Return the result of a request to the helper process; raise a `Refusal` if there is none.

        `until` is the time of the event loop at which the request is given up.
        """
        if self.waiting >= _MAX_WAITING:
            raise QueueFull("too many requests of this kind are waiting; try again later", retry_after=2)
        self.waiting += 1
        has_begun = asyncio.Event()
        work = asyncio.create_task(self._ask(message, until, has_begun))
        self._tasks.add(work)
        work.add_done_callback(self._done)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            if work.cancelled():
                raise NoEngine("the process for this request has ended", retry_after=1) from None
            # A client that goes away does not end what has begun, and the next request waits until it is finished.
            if not has_begun.is_set():
                work.cancel()
            raise

    async def finish(self) -> None:
        """End the process after the requests that have been made."""
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.end()

    async def end(self) -> None:
        """End the process now; requests that wait raise a `Refusal`."""
        if self._idle:
            self._idle.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._process is not None:
            await self._process.end()
            self._process = None

    def _done(self, work: "asyncio.Task[Any]") -> None:
        self.waiting -= 1
        self._tasks.discard(work)
        if not work.cancelled():
            work.exception()  # the caller may have gone away

    async def _ask(self, message: dict[str, Any], until: float, has_begun: asyncio.Event) -> Any:
        try:
            async with asyncio.timeout_at(until), self._turn:
                if self._idle:
                    self._idle.cancel()
                try:
                    answer = await self._answer(message, has_begun)
                finally:
                    self._idle = asyncio.get_running_loop().call_later(self._idle_seconds, self._end_idle)
        except TimeoutError:
            raise DeadlinePassed("the request was not finished in time") from None
        except ChildDied:
            raise NoEngine("the process for this request has ended", retry_after=1) from None
        except ServeError as error:
            _logger.error("the helper process could not start: %s", error)
            raise NoEngine("the process for this request could not start", retry_after=5) from None
        if "refused" in answer:
            raise BadRequest(answer["refused"])
        if "failed" in answer:
            raise TranslationFailed("the request could not be answered")
        return answer["result"]

    async def _answer(self, message: dict[str, Any], has_begun: asyncio.Event) -> dict[str, Any]:
        process = await self._loaded(message["model"])
        has_begun.set()
        try:
            return await process.ask(message)
        except asyncio.CancelledError:
            process.give_up()
            raise

    async def _loaded(self, model: str) -> ChildProcess:
        """Return the process once it has loaded a model."""
        load = self._loads.get(model)
        if load is None or (load.done() and (load.exception() or load.result().died.is_set())):
            load = self._loads[model] = asyncio.create_task(self._load(model))
            self._tasks.add(load)
            load.add_done_callback(self._tasks.discard)
        return await asyncio.shield(load)

    async def _load(self, model: str) -> ChildProcess:
        async with self._starting:
            process = await self._started()
        await process.ask({"action": "load", "model": model})
        return process

    async def _started(self) -> ChildProcess:
        if self._process is None or self._process.died.is_set():
            if self._process is not None:
                await self._process.end()
            threads = max(1, cpu_count() // 2)
            options = {"models": dict(self.models)}
            self._process = await ChildProcess.start("regard.server.helper_process", options, threads)
        return self._process

    def _end_idle(self) -> None:
        if self._process is not None and not self._turn.locked():
            task = asyncio.create_task(self._process.end())
            self._process = None
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
