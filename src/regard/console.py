"""What people see: progress bars with time left on a terminal, plain lines elsewhere, and errors that teach.

Everything but results goes to standard error, so that output can be piped.
"""

import io
import json
import logging
import math
import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

    from regard.data.check import Report
    from regard.data.texts import Work
    from regard.decoding.speed import Speed
    from regard.decoding.translation import Translation
    from regard.training.events import Event, Planned
    from regard.training.forecast import Forecast
    from regard.training.pace import Pace

Item = TypeVar("Item")
PLAIN_SECONDS = 15.0  # between plain lines


def say(text: str) -> None:
    """Tell the person something, beside the output."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


class _Saying(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage())


def listen() -> None:
    """Say what the library notes on the way; it does not print."""
    notes = logging.getLogger("regard")
    if not notes.handlers:
        notes.addHandler(_Saying())
        notes.setLevel(logging.INFO)


def fail(message: str) -> None:
    say(f"error: {message}")


def duration(seconds: float) -> str:
    """`45 s`, `12 min`, `1 h 05 min`, `3 days`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes >= 48 * 60:
        return f"{minutes / (24 * 60):,.0f} days"
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


def show_training(events: Iterable["Event"]) -> "Event | None":
    """Show a run as it happens; return its last event."""
    from regard.data.texts import Preparing
    from regard.training.events import Finished, Note, Planned, Stopped
    from regard.training.loop import Step
    from regard.training.validation import Validation

    screen = _Screen()
    last: Event | None = None
    with screen.open():
        for event in events:
            last = event
            match event:
                case Preparing():
                    screen.preparing(event.stage, event.done, event.total)
                case Note():
                    screen.line(event.text)
                case Planned():
                    screen.planned(event)
                case Step():
                    screen.step(event.step, event.loss, event.learning_rate, event.target_tokens, event.seconds)
                case Validation():
                    source, translation, _ = event.example
                    screen.line(
                        f"step {event.step:,}: validation loss {event.loss:.3f}, BLEU {event.bleu:.1f}, "
                        f"chrF {event.chrf:.1f} ({event.sentences} sentences)"
                    )
                    screen.line(f"    {_short(source)} → {_short(translation)}")
                case Stopped():
                    screen.line(f"stopped after step {event.step:,}; the same command goes on from there")
                case Finished() if event.scores is None:
                    screen.line(f"{event.folder} is finished already; nothing to do")
                case Finished():
                    screen.line(
                        f"kept {event.kept}: validation loss {event.scores.loss:.3f}, BLEU {event.scores.bleu:.1f}, "
                        f"chrF {event.scores.chrf:.1f} ({event.scores.sentences:,} sentences)"
                    )
                    screen.line(f"the model is in {event.folder}; its card is {event.folder / 'card.md'}")
    return last


class _Screen:
    """One live bar on a terminal; a plain line now and then elsewhere."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._bar: Progress | None = None
        self._task = None
        self._stage = ""
        self._spoke = 0.0
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

    def preparing(self, stage: str, done: int, total: int) -> None:
        if stage != self._stage:
            self._began = time.monotonic()
        elapsed = time.monotonic() - self._began
        left = f", {duration(elapsed / done * (total - done))} left" if elapsed > 2 and 0 < done < total else ""
        self._update(stage, done, total, f"{done / max(1, total):.0%}{left}", quiet=done == total)

    def planned(self, event: "Planned") -> None:
        for reason in event.plan.reasons:
            self.line(f"  {reason}")
        left = event.plan.seconds * (1 - event.resumed / event.plan.settings.train.steps)
        where = f"going on after step {event.resumed:,}" if event.resumed else "learning"
        self.line(f"{where}: about {duration(left)}")
        self._steps, self._first, self._began = event.plan.settings.train.steps, event.resumed, time.monotonic()

    def step(self, step: int, loss: float, rate: float, tokens: int, seconds: float) -> None:
        # Batches of short sentences are easier and slower than those of long ones: show the mean of the last steps.
        self._speed = 0.95 * (self._speed or tokens / seconds) + 0.05 * tokens / seconds
        if math.isfinite(loss):
            self._loss = loss if math.isnan(self._loss) else 0.95 * self._loss + 0.05 * loss
        elapsed = time.monotonic() - self._began
        left = elapsed / (step - self._first) * (self._steps - step)
        state = (
            f"{duration(left)} left, step {step:,} of {self._steps:,}, loss {self._loss:.3f}, "
            f"{self._speed:,.0f} pieces/s, rate {rate:.1e}"
        )
        self._update("learning", step, self._steps, state, quiet=step == self._steps)

    def _update(self, stage: str, done: int, total: int, state: str, *, quiet: bool) -> None:
        if self._bar is not None:
            if self._task is None or stage != self._stage:
                if self._task is not None:
                    self._bar.remove_task(self._task)
                self._task = self._bar.add_task(stage, total=total, state="")  # type: ignore[assignment]
            self._bar.update(self._task, completed=done, total=total, state=state)  # type: ignore[arg-type]
        elif (stage != self._stage and not quiet) or time.monotonic() - self._spoke > PLAIN_SECONDS:
            say(f"{stage}: {state}")
            self._spoke = time.monotonic()
        self._stage = stage


def follow(items: Iterable[Item], unit: str, total: int | None = None) -> Iterator[Item]:
    """Pass items on, showing how many have come and, with a total, the time left, once two seconds have gone by."""
    began = spoke = time.monotonic()
    live = sys.stderr.isatty()
    count = 0
    for count, item in enumerate(items, start=1):
        yield item
        now = time.monotonic()
        if now - began > 2 and now - spoke > (0.5 if live else PLAIN_SECONDS):
            spoke = now
            left = f", {duration((now - began) / count * (total - count))} left" if total else ""
            text = f"{count:,}{f' of {total:,}' if total else ''} {unit}, {count / (now - began):,.0f} a second{left}"
            sys.stderr.write(f"\r\x1b[K{text}" if live else text + "\n")
            sys.stderr.flush()
    if live and spoke != began:
        sys.stderr.write("\r\x1b[K")


def show_work(work: "Work[Item]") -> Item:
    """Show how far some work is; return its result."""
    screen = _Screen()
    with screen.open():
        while True:
            try:
                event = next(work)
            except StopIteration as end:
                result: Item = end.value
                return result
            screen.preparing(event.stage, event.done, event.total)


def show_report(report: "Report", forecast: "Forecast") -> None:
    """A report on data for people, on standard output."""
    lines = []
    for corpus in report.corpora:
        weight = f", weight {corpus.weight:g}" if corpus.weight != 1 else ""
        lines.append(f"{corpus.part}: {corpus.name}, {corpus.pairs:,} pairs{weight}")
    lines += ["", f"{'Lengths':17}" + f"{'mean':>16}{'median':>8}{'1 in 20 over':>14}{'longest':>9}"]
    for part in report.parts:
        for side, units in part.lengths.items():
            lines += [
                f"{part.name:10} {side:6} {unit:10}{size.mean:6.1f}{size.median:8,}{size.longest_in_20:14,}"
                f"{size.longest:9,}"
                for unit, size in units.items()
            ]
    lines += ["", "Seen" if report.findings else "Nothing odd was seen."]
    pairs = {part.name: part.pairs for part in report.parts}
    for found in report.findings:
        share = f"{found.count / pairs[found.part]:.1%}" if pairs.get(found.part) else "all"
        lines.append(f"  {found.part}: {found.count:,} {found.kind} ({share}): {found.meaning}")
        lines += [f"      {example.file}:{example.line}  {example.text}" for example in found.examples]
    show_lines([*lines, "", *_forecast_lines(forecast)])


def _forecast_lines(forecast: "Forecast") -> Iterator[str]:
    yield f"regard train would keep {forecast.kept:,} pairs"
    for reason, count in forecast.left_out.items():
        yield f"  and leave out {count:,}: {reason}"
    pieces = forecast.pieces
    per_word = ", ".join(
        f"{side} {count:.2f} a word (at most {pieces.longest[side]:,} a text)"
        for side, count in pieces.per_word.items()
    )
    yield f"Pieces: {pieces.vocabulary:,}, found in {pieces.pairs:,} pairs; {per_word}; {pieces.by_bytes:.2%} are bytes"
    yield f"  such as {' '.join(pieces.example)}"
    yield f"Time on this machine ({forecast.reason}):"
    for one in forecast.expected:
        about = "" if one.measured else " (estimated from the size before)"
        yield (
            f"  --size {one.size:5}  {one.parameters / 1e6:6.1f} million weights, {one.steps:,} steps: about "
            f"{duration(one.seconds)}{about}"
        )


def show_scores(found: Iterable["Translation"], *, as_json: bool) -> None:
    """What a model thinks of given translations, on standard output; all of them together beside it."""
    pairs = pieces = 0
    total = 0.0

    def lines() -> Iterator[str]:
        nonlocal pairs, pieces, total
        for one in found:
            pairs, pieces, total = pairs + 1, pieces + len(one.log_probabilities), total + one.log_probability
            plain = f"{one.log_probability:.4f}\t{one.source}\t{one.text}"
            yield json.dumps(asdict(one), ensure_ascii=False) if as_json else plain

    show_lines(lines())
    if pieces:
        say(f"{pairs:,} pairs, {pieces:,} pieces with their end marks: log-probability {total / pieces:.4f} a piece")


def show_speed(speed: "Speed") -> None:
    """Figures for people, on standard output."""
    memory = f"{speed.peak_memory_mb:,.0f} MB" if speed.peak_memory_mb is not None else "not told by this system"
    sys.stdout.write(
        f"many sentences    {speed.sentences_per_second:,.1f} sentences, {speed.pieces_per_second:,.0f} pieces a second"
        f" ({speed.workers} at once; {speed.share_of_engine:.0%} of the engine's own speed)\n"
        f"one sentence      {speed.p50_milliseconds:,.1f} ms (p50), {speed.p99_milliseconds:,.1f} ms (p99)\n"
        f"from nothing      {speed.cold_start_seconds:.2f} s for the first sentence\n"
        f"memory            {memory} at most\n"
    )


def show_pace(pace: "Pace") -> None:
    """Figures for people, on standard output."""
    memory = f"{pace.peak_memory_mb:,.0f} MB" if pace.peak_memory_mb is not None else "not told by this system"
    sys.stdout.write(
        f"size              {pace.size}, {pace.parameters:,} weights\n"
        f"speed             {pace.pieces_per_second:,.0f} target pieces a second, "
        f"{pace.seconds_per_step:.2f} s a step\n"
        f"arithmetic        {pace.gigaflops:,.0f} GFLOP/s, {pace.gigaflops / pace.peak_gigaflops:.0%} of the "
        f"{pace.peak_gigaflops:,.0f} of one large product\n"
        f"memory            {memory} at most\n"
        f"your data         {pace.steps:,} steps, {duration(pace.seconds)}\n"
    )


def show_lines(lines: Iterable[str]) -> None:
    """Lines for people or programs, on standard output."""
    with standard_output() as output:
        try:
            output.writelines(line + "\n" for line in lines)
            output.flush()
        except BrokenPipeError:
            # Whoever read us has enough. Nothing more can be written, not even at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def standard_output() -> io.TextIOWrapper:
    """Standard output in UTF-8 whose lines end at `\\n`, whatever the system."""
    return io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="\n", write_through=False)


def _short(text: str, most: int = 70) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
