"""One measurement in a process of its own, so that its memory is its own: what it tells, and the most it held.

A script of this folder tells by `tell`, a line at a time; `ask` runs it and reads the lines.
"""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil
from peers.environment import variables
from peers.gate import peak_memory
from peers.results import Record

BENCH = Path(__file__).parents[1]
_EVERY = 0.02  # seconds between looks at the memory


def tell(**facts: Any) -> None:
    """Called in the child: what was measured, and the most memory held so far, pages of mapped files included."""
    print(json.dumps(facts | {"peak": peak_memory()}), flush=True)


def ask(script: str, *arguments: object, threads: int | None = None) -> list[Record]:
    """Run a script of this folder; what it told, each with its `own` memory, the most since the one before it.

    Own is what no file can be asked for again. Where the system does not tell the two apart, it is all there is.
    """
    environment = variables() | ({"OMP_NUM_THREADS": str(threads)} if threads else {})
    command = [sys.executable, "-m", f"growth.{script}", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=BENCH) as process:
        assert process.stdout
        watch = _Watch(process.pid)
        watch.start()
        told = [json.loads(line) | {"own": watch.most()} for line in process.stdout]
    if process.returncode:
        raise SystemExit(f"error: {' '.join(command)} ended with exit code {process.returncode}")
    return told


class _Watch(threading.Thread):
    """Looks at the memory of a process until that has ended."""

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self._process = psutil.Process(process)
        self._most = 0

    def run(self) -> None:
        try:
            while True:
                memory = self._process.memory_info()
                self._most = max(self._most, memory.rss - getattr(memory, "shared", 0))
                time.sleep(_EVERY)
        except psutil.NoSuchProcess:
            return  # it has ended

    def most(self) -> int:
        """The most since this was last asked."""
        most, self._most = self._most, 0
        return most
