"""A server process that a measurement starts, with the CPU time and memory of all its processes."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Thread
from urllib.parse import urlsplit

import psutil

from regard.errors import UserError

_START_SECONDS = 120.0
_END_SECONDS = 30.0


@dataclass
class Processes:
    """A process and its descendants."""

    root: psutil.Process

    def all(self) -> list[psutil.Process]:
        with suppress(psutil.NoSuchProcess):
            return [self.root, *self.root.children(recursive=True)]
        return []

    def cpu_seconds(self) -> float:
        """Return the CPU time of all processes that are running now."""
        total = 0.0
        for process in self.all():
            with suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                total += times.user + times.system
        return total

    def resident_bytes(self) -> int:
        total = 0
        for process in self.all():
            with suppress(psutil.NoSuchProcess):
                total += process.memory_info().rss
        return total


@dataclass
class ServerProcess:
    """A running `regard serve` on a free port of the loopback interface."""

    process: subprocess.Popen[str]
    url: str = ""
    messages: list[str] = field(default_factory=list)
    on_line: Callable[[str], None] | None = None  # gets every line of the log
    _reader: Thread = field(init=False)

    @classmethod
    def start(
        cls,
        arguments: Sequence[object],
        environment: Mapping[str, str] | None = None,
        on_line: Callable[[str], None] | None = None,
    ) -> "ServerProcess":
        """Start `regard serve` with these arguments, and wait until it can be used."""
        command = [sys.executable, "-P", "-m", "regard", "serve", "--port", "0", *map(str, arguments)]
        process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, encoding="utf-8", env={**os.environ, **(environment or {})}
        )
        server = cls(process, on_line=on_line)
        server._reader = Thread(target=server._read, daemon=True)
        server._reader.start()
        end = time.monotonic() + _START_SECONDS
        while not server.url:
            if process.poll() is not None or time.monotonic() > end:
                server.end()
                raise UserError("the server did not start:\n" + "\n".join(server.messages))
            time.sleep(0.02)
        return server

    @property
    def address(self) -> tuple[str, int]:
        return address_of(self.url)

    @property
    def processes(self) -> Processes:
        return Processes(psutil.Process(self.process.pid))

    def engines(self) -> list[psutil.Process]:
        """Return the processes that translate."""
        found = []
        for process in self.processes.all()[1:]:
            with suppress(psutil.NoSuchProcess):
                if "regard.server.engine_process" in process.cmdline():
                    found.append(process)
        return found

    def end(self) -> int:
        """Ask the process to end, kill it if it does not, and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
        code = self.process.wait()
        self._reader.join()
        return code

    def _read(self) -> None:
        assert self.process.stderr
        with self.process.stderr:
            for line in self.process.stderr:
                if self.on_line:
                    self.on_line(line)
                if line.startswith("{"):
                    continue  # the log of requests
                self.messages.append(line.rstrip("\n"))
                if found := re.search(r"serving at (http://\S+)", line):
                    self.url = found[1]


def address_of(url: str) -> tuple[str, int]:
    """Return the host and port of a URL."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or 80


def listener(port: int) -> Processes | None:
    """Return the process that listens on a port of this machine; None if it belongs to another user."""
    with suppress(psutil.AccessDenied):
        for connection in psutil.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr[1] == port and connection.pid:  # type: ignore[misc]
                return Processes(psutil.Process(connection.pid))
    return None
