"""A checkout of Regard, and how to run its commands and its Python interface.

Each checkout works in a separate folder with a separate cache, so that it never reads what the other one wrote.
Commands are given by their new names; for a checkout with the old names, its dialect translates them.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from comparison.dialects import Dialect, dialect_of

Result = TypeVar("Result")

_WORKER = Path(__file__).with_name("command_worker.py")


class CommandError(Exception):
    """A command of a checkout failed."""


@dataclass(frozen=True)
class Checkout:
    """One of the two checkouts: `name` is old or new, `root` is the repository, `folder` is where its commands run."""

    name: str
    root: Path
    folder: Path
    dialect: Dialect

    @classmethod
    def open(cls, name: str, root: Path, scratch: Path) -> "Checkout":
        """Make the folder of a checkout, and raise an error unless Python imports Regard from this checkout."""
        (scratch / name).mkdir()
        checkout = cls(name, root.resolve(), scratch / name, dialect_of(root))
        found = Path(checkout.python("import regard; print(regard.__file__)").strip())
        if not found.resolve().is_relative_to(checkout.root / "src"):
            raise CommandError(f"{name}: Python imports {found} instead of {checkout.root / 'src'}")
        return checkout

    def run(self, command: str, *words: str, threads: int | None = 1, stdin: Path | None = None) -> str:
        """Run a command in a new process and return its output; without `threads`, it sets its own thread count."""
        text = stdin.read_text("utf-8") if stdin is not None else ""
        return self._process(["-m", "regard", *self.dialect.words(command, *words)], text, threads)

    def python(self, program: str, *words: str, stdin: str = "") -> str:
        """Run a Python program that imports Regard, and return its output."""
        return self._process(["-c", program, *words], stdin, 1)

    @contextmanager
    def session(self) -> Iterator["Session"]:
        """Start a process that can run many commands, and end it on exit."""
        with (self.folder / "session.log").open("w", encoding="utf-8") as log:
            process = subprocess.Popen(
                [sys.executable, "-P", str(_WORKER)],
                cwd=self.folder,
                env=self._environment(1),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                encoding="utf-8",
            )
            try:
                yield Session(self, process)
            finally:
                process.kill()
                process.communicate()

    def _process(self, words: list[str], stdin: str, threads: int | None) -> str:
        done = subprocess.run(
            [sys.executable, "-P", *words],
            cwd=self.folder,
            env=self._environment(threads),
            input=stdin,
            capture_output=True,
            encoding="utf-8",
        )
        if done.returncode:
            raise self.failure(done.returncode, done.stderr)
        return done.stdout

    def _environment(self, threads: int | None) -> dict[str, str]:
        """Return the environment variables for a command, without those that could change its results."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_", "PYTHON"))}
        kept |= {"PYTHONPATH": str(self.root / "src"), "PYTHONUTF8": "1", "XDG_CACHE_HOME": str(self.folder / "cache")}
        if threads is not None:  # Passive waiting is faster when other programs use the machine too.
            kept |= {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "PASSIVE"}
        return kept

    def failure(self, status: int, errors: str) -> CommandError:
        """Return an error for a command that failed, with the last line of its standard error."""
        last = (errors.strip().splitlines() or ["no message"])[-1]
        return CommandError(f"the {self.name} checkout failed with exit status {status}: {last}")


@dataclass(frozen=True)
class Session:
    """A running process that executes commands of one checkout, one after another."""

    checkout: Checkout
    process: subprocess.Popen[str]

    def run(self, command: str, *words: str) -> str:
        """Run a command and return its output."""
        assert self.process.stdin is not None and self.process.stdout is not None
        with suppress(BrokenPipeError):  # If the process has ended, `readline` returns nothing.
            self.process.stdin.write(json.dumps(self.checkout.dialect.words(command, *words)) + "\n")
            self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            log = (self.checkout.folder / "session.log").read_text("utf-8")
            raise self.checkout.failure(self.process.wait(), log)
        answer = json.loads(line)
        if answer["status"]:
            raise self.checkout.failure(answer["status"], answer["errors"])
        return str(answer["output"])


@dataclass(frozen=True)
class Pair:
    """The two checkouts that are compared."""

    old: Checkout
    new: Checkout

    def both(self, work: Callable[[Checkout], Result]) -> tuple[Result, Result]:
        """Call `work` with both checkouts at the same time, and return the results of the old and of the new one."""
        with ThreadPoolExecutor(2) as pool:
            old, new = pool.submit(work, self.old), pool.submit(work, self.new)
            return old.result(), new.result()

    @contextmanager
    def sessions(self) -> Iterator["Sessions"]:
        """Start one session for each checkout, and end both on exit."""
        with ExitStack() as stack:
            old, new = (stack.enter_context(checkout.session()) for checkout in (self.old, self.new))
            yield Sessions(self, {"old": old, "new": new})


@dataclass(frozen=True)
class Sessions:
    """The running sessions of both checkouts."""

    pair: Pair
    by_name: dict[str, Session]

    def run(self, command: str, *words: str) -> tuple[str, str]:
        """Run the same command in both sessions at the same time and return the outputs, old and new."""
        return self.pair.both(lambda checkout: self.by_name[checkout.name].run(command, *words))
