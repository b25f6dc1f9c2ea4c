"""Prints results, messages and progress on the command line.

Results go to standard output. Messages and progress go to standard error, so that results can be piped.
"""

import io
import logging
import math
import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from regard.render.units import format_duration

if TYPE_CHECKING:
    from rich.progress import Progress

    from regard.progress import Work
    from regard.training.tracking.events import Planned

Item = TypeVar("Item")

PLAIN_SECONDS = 15.0  # time between two lines of progress, if standard error is not a terminal


def say(text: str) -> None:
    """Write a message to standard error."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


class _MessageHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage())


def show_log_messages() -> None:
    """Print the log messages of the library, which prints nothing itself, to standard error."""
    logger = logging.getLogger("regard")
    if not logger.handlers:
        logger.addHandler(_MessageHandler())
        logger.setLevel(logging.INFO)


def fail(message: str) -> None:
    say(f"error: {message}")


class Screen:
    """Shows progress on standard error: as a bar on a terminal, and otherwise as a line every 15 seconds."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._bar: Progress | None = None
        self._task = None
        self._stage = ""
        self._last_line = 0.0
        self._steps = 0
        self._first = 0
        self._began = 0.0
        self._speed, self._loss = 0.0, math.nan

    @contextmanager
    def open(self) -> Iterator[None]:
        if not self._live:
            yield
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        columns = (TextColumn("{task.description}"), BarColumn(bar_width=12), TextColumn("{task.fields[state]}"))
        with Progress(*columns, console=Console(file=sys.stderr)) as self._bar:
            yield

    def line(self, text: str) -> None:
        if self._bar is not None:
            self._bar.console.print(text, markup=False, highlight=False)
        else:
            say(text)

    def progress(self, stage: str, done: int, total: int) -> None:
        if stage != self._stage:
            self._began = time.monotonic()
        elapsed = time.monotonic() - self._began
        left = f", {format_duration(elapsed / done * (total - done))} left" if elapsed > 2 and 0 < done < total else ""
        self._update(stage, done, total, f"{done / max(1, total):.0%}{left}", quiet=done == total)

    def planned(self, event: "Planned") -> None:
        for reason in event.plan.reasons:
            self.line(f"  {reason}")
        left = event.plan.seconds * (1 - event.resumed / event.plan.settings.train.steps)
        start = f"resuming after step {event.resumed:,}" if event.resumed else "training"
        self.line(f"{start}: about {format_duration(left)}")
        self._steps, self._first, self._began = event.plan.settings.train.steps, event.resumed, time.monotonic()

    def step(self, step: int, loss: float, rate: float, tokens: int, seconds: float) -> None:
        # Loss and speed vary with the length of the sentences in a batch, so moving averages are shown.
        self._speed = 0.95 * (self._speed or tokens / seconds) + 0.05 * tokens / seconds
        if math.isfinite(loss):
            self._loss = loss if math.isnan(self._loss) else 0.95 * self._loss + 0.05 * loss
        elapsed = time.monotonic() - self._began
        left = elapsed / (step - self._first) * (self._steps - step)
        state = (
            f"{format_duration(left)} left, step {step:,} of {self._steps:,}, loss {self._loss:.3f}, "
            f"{self._speed:,.0f} tokens/s, rate {rate:.1e}"
        )
        self._update("training", step, self._steps, state, quiet=step == self._steps)

    def _update(self, stage: str, done: int, total: int, state: str, *, quiet: bool) -> None:
        if self._bar is not None:
            if self._task is None or stage != self._stage:
                if self._task is not None:
                    self._bar.remove_task(self._task)
                self._task = self._bar.add_task(stage, total=total, state="")  # type: ignore[assignment]
            self._bar.update(self._task, completed=done, total=total, state=state)  # type: ignore[arg-type]
        elif (stage != self._stage and not quiet) or time.monotonic() - self._last_line > PLAIN_SECONDS:
            say(f"{stage}: {state}")
            self._last_line = time.monotonic()
        self._stage = stage


def follow(items: Iterable[Item], unit: str, total: int | None = None) -> Iterator[Item]:
    """Yield the items; if this takes longer than two seconds, show the number of items so far and the speed.

    If `total`, the expected number of items, is given, the time left is shown too.
    """
    began = last_shown = time.monotonic()
    live = sys.stderr.isatty()
    count = 0
    for count, item in enumerate(items, start=1):
        yield item
        now = time.monotonic()
        if now - began > 2 and now - last_shown > (0.5 if live else PLAIN_SECONDS):
            last_shown = now
            left = f", {format_duration((now - began) / count * (total - count))} left" if total else ""
            text = f"{count:,}{f' of {total:,}' if total else ''} {unit}, {count / (now - began):,.0f} per second{left}"
            sys.stderr.write(f"\r\x1b[K{text}" if live else text + "\n")
            sys.stderr.flush()
    if live and last_shown != began:
        sys.stderr.write("\r\x1b[K")


def show_work(work: "Work[Item]") -> Item:
    """Run a generator that yields its progress, show the progress, and return the generator's result."""
    screen = Screen()
    with screen.open():
        while True:
            try:
                event = next(work)
            except StopIteration as end:
                result: Item = end.value
                return result
            screen.progress(event.stage, event.done, event.total)


def show_lines(lines: Iterable[str]) -> None:
    """Write lines to standard output."""
    with standard_output() as output:
        try:
            output.writelines(line + "\n" for line in lines)
            output.flush()
        except BrokenPipeError:
            # The program that reads the output has closed the pipe. Redirect standard output to the null device,
            # because otherwise flushing it at exit would fail as well.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def standard_output() -> Iterator[io.TextIOWrapper]:
    """Open standard output as a stream that writes UTF-8 and ends lines with `\\n`, on every operating system.

    At the end, the stream is flushed, and standard output stays open.
    """
    output = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="\n", write_through=False)
    try:
        yield output
    finally:
        output.detach()
