"""Starts `regard serve` as a process of its own on a free port, and asks it."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests

_START_SECONDS = 300

# No test depends on how fast the machine is.
_PATIENT = {"REGARD_SERVE_DEADLINE": "600", "REGARD_SERVE_QUEUE_SECONDS": "600"}


@dataclass
class RunningServer:
    """A server process and its messages."""

    process: subprocess.Popen[str]
    url: str = ""
    lines: list[str] = field(default_factory=list)
    _reader: threading.Thread = field(init=False)

    @classmethod
    def start(cls, *arguments: object) -> "RunningServer":
        """Start a server on a free port of the loopback interface, and wait until it is ready."""
        server = cls.launch(*arguments)
        server.wait_until(lambda: server.url or server.process.poll() is not None)
        assert server.url, "\n".join(server.lines)
        server.wait_until(lambda: server.get("/health").status_code == 200)
        return server

    @classmethod
    def launch(cls, *arguments: object, port: int = 0) -> "RunningServer":
        """Start a server without waiting for it."""
        command = [sys.executable, "-m", "regard", "serve", "--port", str(port), *map(str, arguments)]
        environment = {**os.environ, **_PATIENT}
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, encoding="utf-8", env=environment)
        server = cls(process)
        server._reader = threading.Thread(target=server._read, daemon=True)
        server._reader.start()
        return server

    def _read(self) -> None:
        assert self.process.stderr
        with self.process.stderr:
            for line in self.process.stderr:
                self.lines.append(line.rstrip("\n"))
                if found := re.search(r"serving at (http://\S+)", line):
                    self.url = found[1]

    def wait_until(self, condition: Any, seconds: float = _START_SECONDS) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "\n".join(self.lines)
            time.sleep(0.02)

    def get(self, path: str, **options: Any) -> requests.Response:
        return requests.get(self.url + path, timeout=600, **options)

    def post(self, path: str, **options: Any) -> requests.Response:
        return requests.post(self.url + path, timeout=600, **options)

    def translate(self, texts: Any, source: str = "en", target: str = "fr", **options: Any) -> requests.Response:
        return self.post("/translate", json={"q": texts, "source": source, "target": target}, **options)

    def engines(self) -> list[int]:
        """Return the process ids of the engine processes."""
        import psutil

        children = psutil.Process(self.process.pid).children(recursive=True)
        return [child.pid for child in children if "regard.server.engine_process" in child.cmdline()]

    def end(self) -> int:
        """End the server and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(30)
        self._reader.join()
        return code


def copy_of(model: Path, name: Path) -> Path:
    """Return a folder under another name that has the files of a model."""
    name.symlink_to(model, target_is_directory=True)
    return name
