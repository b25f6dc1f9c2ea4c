"""A checkout of Regard, and how to run its commands and its Python interface.

Every checkout works in a folder of its own, with its own cache, so that nothing one checkout wrote is read by the
other. Commands are given by their new names; the dialect of the checkout translates them.
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
    """One of the two checkouts: `name` is old or new, `folder` is where its commands run."""

    name: str
    root: Path
    folder: Path
    dialect: Dialect

    @classmethod
    def open(cls, name: str, root: Path, scratch: Path) -> "Checkout":
        """Make the folder of a checkout, and see that Python imports Regard from this checkout and no other."""
        (scratch / name).mkdir()
        checkout = cls(name, root.resolve(), scratch / name, dialect_of(root))
        found = Path(checkout.python("import regard; print(regard.__file__)").strip())
        if not found.resolve().is_relative_to(checkout.root / "src"):
            raise CommandError(f"{name}: Python imports {found} instead of {checkout.root / 'src'}")
        return checkout

    def run(self, command: str, *words: str, threads: int | None = 1, stdin: Path | None = None) -> str:
        """Run a command in a process of its own and return its output; without `threads`, it chooses their number."""
        text = stdin.read_text("utf-8") if stdin is not None else ""
        return self._process(["-m", "regard", *self.dialect.words(command, *words)], text, threads)

    def python(self, program: str, *words: str, stdin: str = "") -> str:
        """Run a Python program that imports Regard, and return its output."""
        return self._process(["-c", program, *words], stdin, 1)

    @contextmanager
    def session(self) -> Iterator["Session"]:
        """Start a process that runs many commands."""
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
        """The environment of a command, without anything that would change how it computes or what it writes."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_", "PYTHON"))}
        kept |= {"PYTHONPATH": str(self.root / "src"), "PYTHONUTF8": "1", "XDG_CACHE_HOME": str(self.folder / "cache")}
        if threads is not None:  # Threads that wait passively are faster where others use the machine too.
            kept |= {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "PASSIVE"}
        return kept

    def failure(self, status: int, errors: str) -> CommandError:
        """Describe a command that failed by the last line of its standard error."""
        last = (errors.strip().splitlines() or ["no message"])[-1]
        return CommandError(f"the {self.name} checkout failed with exit status {status}: {last}")


@dataclass(frozen=True)
class Session:
    """A process of a checkout that runs commands one after another."""

    checkout: Checkout
    process: subprocess.Popen[str]

    def run(self, command: str, *words: str) -> str:
        """Run a command and return its output."""
        assert self.process.stdin is not None and self.process.stdout is not None
        with suppress(BrokenPipeError):  # A process that has ended gives no answer either.
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
        """Do the same work with both checkouts at the same time."""
        with ThreadPoolExecutor(2) as pool:
            old, new = pool.submit(work, self.old), pool.submit(work, self.new)
            return old.result(), new.result()

    @contextmanager
    def sessions(self) -> Iterator["Sessions"]:
        """Start a session of each checkout."""
        with ExitStack() as stack:
            old, new = (stack.enter_context(checkout.session()) for checkout in (self.old, self.new))
            yield Sessions(self, {"old": old, "new": new})


@dataclass(frozen=True)
class Sessions:
    """One session of each checkout."""

    pair: Pair
    by_name: dict[str, Session]

    def run(self, command: str, *words: str) -> tuple[str, str]:
        """Run the same command in both sessions at the same time and return both outputs."""
        return self.pair.both(lambda checkout: self.by_name[checkout.name].run(command, *words))
