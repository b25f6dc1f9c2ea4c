"""The engine processes as the front process sees them: starting, asking, watching and ending them."""

import asyncio
import os
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import count
from typing import Any

from regard.machine.cpu import cpu_count
from regard.server import wire
from regard.server.errors import ServeError

_START_SECONDS = 120.0  # a process that has not loaded its models by then is ended
_PING_SECONDS = 1.0
_SILENT_SECONDS = 30.0  # a process that answers nothing for so long is ended


class EngineDied(Exception):  # noqa: N818
    """The process ended while it had a batch, or was ended because it did not answer."""


@dataclass(frozen=True)
class EngineOptions:
    """What every engine process of a server has in common."""

    models: Mapping[str, str]  # the folder of each model by its name
    cache_bytes: int
    engines: int = 1  # which share the cores
    compute_type: str = "float32"


@dataclass
class EngineProcess:
    """A running engine process."""

    process: asyncio.subprocess.Process
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    resident_bytes: int = 0
    cache_bytes: int = 0
    last_answer: float = 0.0
    was_silent: bool = False  # it was ended because it did not answer
    died: asyncio.Event = field(default_factory=asyncio.Event)
    _answers: dict[int, asyncio.Future[wire.Message]] = field(default_factory=dict)
    _numbers: Any = field(default_factory=count)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    @classmethod
    async def start(cls, options: EngineOptions) -> "EngineProcess":
        """Start a process and wait until it has loaded its models; raise a `ServeError` if it cannot."""
        ours, its = socket.socketpair()
        environment = {**os.environ, "OMP_NUM_THREADS": str(max(1, cpu_count() // options.engines))}
        with its:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "regard.server.engine_process", str(its.fileno())),
                pass_fds=[its.fileno()],
                stdin=asyncio.subprocess.DEVNULL,
                env=environment,
            )
        reader, writer = await asyncio.open_connection(sock=ours)
        engine = cls(process, reader, writer)
        try:
            engine._send(asdict(options))
            first = await asyncio.wait_for(wire.read(reader), _START_SECONDS)
        except (OSError, EOFError, TimeoutError) as error:
            await engine.end()
            raise ServeError(
                f"an engine process could not start ({type(error).__name__}); its messages are above"
            ) from None
        except BaseException:
            await engine.end()
            raise
        if "failed" in first:
            await engine.end()
            raise ServeError(str(first["failed"]))
        engine._heard(first)
        engine._tasks = [asyncio.create_task(engine._listen()), asyncio.create_task(engine._watch())]
        return engine

    async def translate(self, model: str, decode: Mapping[str, Any], texts: Sequence[str]) -> wire.Message:
        """Return the answer of the process to a batch; raise `EngineDied` if it ends before."""
        if self.died.is_set():
            raise EngineDied
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            self._send({"id": number, "model": model, "decode": dict(decode), "texts": list(texts)})
            message: wire.Message = await answer
            return message
        except OSError:
            raise EngineDied from None
        finally:
            self._answers.pop(number, None)

    async def end(self) -> None:
        """End the process now."""
        for task in self._tasks:
            task.cancel()
        self._close()
        await self.process.wait()

    def give_up(self) -> None:
        """End a process that does not answer."""
        self.was_silent = True
        self._close()

    def is_alive(self) -> bool:
        """Return whether the process has answered within the last five seconds."""
        return not self.died.is_set() and time.monotonic() - self.last_answer < 5

    def _send(self, message: wire.Message) -> None:
        self.writer.write(wire.encode(message))

    def _heard(self, message: wire.Message) -> None:
        self.last_answer = time.monotonic()
        self.resident_bytes = message.get("resident_bytes", self.resident_bytes)
        self.cache_bytes = message.get("cache_bytes", self.cache_bytes)

    async def _listen(self) -> None:
        try:
            while True:
                message = await wire.read(self.reader)
                self._heard(message)
                if answer := self._answers.get(message.get("id", -1)):
                    answer.set_result(message)
        except (OSError, EOFError):
            self._close()

    async def _watch(self) -> None:
        """Ask the process regularly whether it still answers, and end it if it does not."""
        while time.monotonic() - self.last_answer < _SILENT_SECONDS:
            self._send({"ping": True})
            await asyncio.sleep(_PING_SECONDS)
        self.give_up()

    def _close(self) -> None:
        self.died.set()
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(EngineDied())
        self.writer.close()
        if self.process.returncode is None:
            self.process.kill()
