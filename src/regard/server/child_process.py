"""A child process as the front process sees it: starting, asking, watching and ending it."""

import asyncio
import os
import socket
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from regard.server import wire
from regard.server.errors import ServeError

_START_SECONDS = 120.0  # a process that has not loaded its models by then is ended
_PING_SECONDS = 1.0
_SILENT_SECONDS = 30.0  # a process that answers nothing for so long is ended


class ChildDied(Exception):  # noqa: N818
    """The process ended while it was asked something, or was ended because it did not answer."""


@dataclass
class ChildProcess:
    """A running engine process or helper process."""

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
    async def start(cls, module: str, options: Mapping[str, Any], threads: int) -> "ChildProcess":
        """Run a module as a process and wait until it is ready; raise a `ServeError` if it cannot start."""
        ours, its = socket.socketpair()
        try:
            with its:
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", module, str(its.fileno())),
                    pass_fds=[its.fileno()],
                    stdin=asyncio.subprocess.DEVNULL,
                    env={**os.environ, "OMP_NUM_THREADS": str(threads)},
                )
            reader, writer = await asyncio.open_connection(sock=ours)
        except BaseException:
            ours.close()  # a process that has started sees this, and ends
            raise
        child = cls(process, reader, writer)
        try:
            child._send(dict(options))
            first = await asyncio.wait_for(wire.read(reader), _START_SECONDS)
        except (OSError, EOFError, TimeoutError) as error:
            await child.end()
            raise ServeError(f"a process of the server could not start ({type(error).__name__}), see above") from None
        except BaseException:
            await child.end()
            raise
        if "failed" in first:
            await child.end()
            raise ServeError(str(first["failed"]))
        child._heard(first)
        child._tasks = [asyncio.create_task(child._listen()), asyncio.create_task(child._watch())]
        return child

    async def ask(self, message: wire.Message) -> wire.Message:
        """Return the answer of the process; raise `ChildDied` if it ends before."""
        if self.died.is_set():
            raise ChildDied
        number = next(self._numbers)
        reply = self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            self._send({**message, "id": number})
            answer: wire.Message = await reply
            return answer
        except OSError:
            raise ChildDied from None
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
                answer.set_exception(ChildDied())
        self.writer.close()
        if self.process.returncode is None:
            self.process.kill()
