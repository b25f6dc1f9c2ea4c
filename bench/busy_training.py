"""Measure how much of its speed `regard train` keeps when other programs use the processor.

The size `tiny` is trained on synthetic sentence pairs, alone and beside 2 and 6 processes that run an endless loop. The
speed is the number of training steps in a few seconds, without validation, after a warm-up. Rounds alternate between
the loads, so that a change in the speed of the machine affects all of them. With more than one checkout of Regard, all
of them are measured in every round, and those that are not measured at the moment are paused. The fair share of two
training threads on two cores is a half beside 2 loops, and a quarter beside 6.

    python bench/busy_training.py
    python bench/busy_training.py --checkouts ../regard-before . --rounds 5
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from common.environments import ROOT
from common.results import machine

LOADS = (0, 2, 6)
PAIRS = 20_000
WARM_UP_STEPS = 20
SETTLE_SECONDS = 1.0  # after a change of the load, before the measurement


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkouts", nargs="+", type=Path, default=[ROOT], metavar="FOLDER")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8.0, help="duration of one measurement")
    options = parser.parse_args()
    print(f"{machine()}; load average {os.getloadavg()[0]:.1f} before", flush=True)
    speeds: dict[tuple[Path, int], list[float]] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        logs = {
            checkout: stack.enter_context(_training(checkout, Path(folder) / str(number)))
            for number, checkout in enumerate(options.checkouts)
        }
        for number in range(options.rounds):
            for load in LOADS:
                for checkout in options.checkouts[:: 1 if number % 2 == 0 else -1]:
                    speed = _speed(*logs[checkout], load, options.seconds)
                    speeds.setdefault((checkout, load), []).append(speed)
            _report(options.checkouts, speeds)


@contextmanager
def _training(checkout: Path, folder: Path) -> Iterator[tuple[int, Path]]:
    """Start a training run, and yield its process id and its log; outside measurements, the process is paused."""
    folder.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_"))}
    environment |= {"PYTHONPATH": str(checkout.resolve() / "src"), "XDG_CACHE_HOME": str(folder / "cache")}
    regard = [sys.executable, "-P", "-m", "regard"]
    data = ["synthetic", "--out", "pairs.tsv", "--count", str(PAIRS)]
    subprocess.run([*regard, *data], check=True, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    train = ["train", "pairs.tsv", "--out", "model", "--size", "tiny", "--steps", "1000000"]
    train += ["--set", "train.validate_every=1000000", "--set", "tokenizer.vocab_size=2000"]
    log = folder / "model" / "run" / "log.jsonl"
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen([*regard, *train], cwd=folder, env=environment, stdout=output, stderr=output)
        try:
            while _steps(log) < WARM_UP_STEPS:
                if process.poll() is not None:
                    raise SystemExit((folder / "output").read_text("utf-8"))
                time.sleep(0.1)
            os.kill(process.pid, signal.SIGSTOP)
            yield process.pid, log
        finally:
            process.kill()
            process.wait()


def _speed(process: int, log: Path, load: int, seconds: float) -> float:
    """Return the number of training steps per second beside `load` endless loops."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(load)]
    try:
        os.kill(process, signal.SIGCONT)
        time.sleep(SETTLE_SECONDS)
        first, began = _steps(log), time.perf_counter()
        time.sleep(seconds)
        last, ended = _steps(log), time.perf_counter()
        os.kill(process, signal.SIGSTOP)
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    return (last - first) / (ended - began)


def _steps(log: Path) -> int:
    return log.read_bytes().count(b"\n") if log.exists() else 0


def _report(checkouts: list[Path], speeds: dict[tuple[Path, int], list[float]]) -> None:
    """Print the median speed for each load, its ratio to the speed without loops, and all single measurements."""
    for load in LOADS:
        for checkout in checkouts:
            measured, alone = (statistics.median(speeds[checkout, number]) for number in (load, LOADS[0]))
            each = " ".join(f"{speed:.2f}" for speed in speeds[checkout, load])
            print(
                f"beside {load} loops: {measured:6.2f} steps per second, {measured / alone:4.0%} of the speed without "
                f"loops ({each}): {checkout}",
                flush=True,
            )
    print(flush=True)


if __name__ == "__main__":
    main()
