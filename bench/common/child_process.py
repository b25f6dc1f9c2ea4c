"""Run one measurement in its own process, so that its memory can be measured.

A workload calls `report`, which writes a line of JSON; `run_workload` starts it and reads the lines.
"""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil
from common.environments import variables
from common.results import Record
from systems.training_gate import peak_memory

BENCH = Path(__file__).parents[1]
_INTERVAL = 0.02  # seconds between two readings of the memory


def report(**facts: Any) -> None:
    """Report a measurement from the child, with its peak memory so far, which includes pages of mapped files."""
    print(json.dumps(facts | {"peak": peak_memory()}), flush=True)


def run_workload(module: str, *arguments: object, threads: int | None = None) -> list[Record]:
    """Run a module of bench/ and return its reports, each with the peak of its `own` memory since the previous report.

    Own memory excludes pages of mapped files, which the system can read again. Where the system does not distinguish
    the two, it is all resident memory.
    """
    environment = variables() | ({"OMP_NUM_THREADS": str(threads)} if threads else {})
    command = [sys.executable, "-m", module, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=BENCH) as process:
        assert process.stdout
        monitor = _MemoryMonitor(process.pid)
        monitor.start()
        reports = [json.loads(line) | {"own": monitor.peak()} for line in process.stdout]
    if process.returncode:
        raise SystemExit(f"error: {' '.join(command)} failed with exit code {process.returncode}")
    return reports


class _MemoryMonitor(threading.Thread):
    """Reads the memory of a process until the process ends."""

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self._process = psutil.Process(process)
        self._peak = 0

    def run(self) -> None:
        try:
            while True:
                memory = self._process.memory_info()
                self._peak = max(self._peak, memory.rss - getattr(memory, "shared", 0))
                time.sleep(_INTERVAL)
        except psutil.NoSuchProcess:
            return

    def peak(self) -> int:
        """Return the peak since the previous call."""
        peak, self._peak = self._peak, 0
        return peak
