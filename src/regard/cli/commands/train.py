"""`regard train` and `regard check`: from data to a model."""

import json
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.group import SET, main
from regard.console import say, show_lines, show_report, show_training, show_work
from regard.errors import UserError
from regard.settings import SIZES, user_layer

if TYPE_CHECKING:
    from regard.training.events import Event


@main.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The model folder to write.")
@click.option(
    "--valid",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A validation file; for two: --valid val.en --valid val.fr. Else some pairs are held out.",
)
@click.option("--size", type=click.Choice(list(SIZES)), help="Else chosen from the data and the machine.")
@click.option("--budget", metavar="TIME", help="How long to train, e.g. 20m or 1h30m.")
@click.option("--steps", type=click.IntRange(min=1), help="How many steps to train.")
@click.option("--from", "parent", type=click.Path(path_type=Path), help="Fine-tune this model, or this bundled one.")
@click.option("--average", is_flag=True, help="FILES are model folders: write the mean of their weights.")
@click.option("--languages", nargs=2, metavar="SOURCE TARGET", help="Else from the file names.")
@click.option("--settings", "settings_file", type=click.Path(path_type=Path), help="A TOML file of settings.")
@SET
def train(
    files: tuple[Path, ...],
    out: Path,
    valid: tuple[Path, ...],
    size: str | None,
    budget: str | None,
    steps: int | None,
    parent: Path | None,
    average: bool,
    languages: tuple[str, str] | None,
    settings_file: Path | None,
    overrides: tuple[str, ...],
) -> None:
    """Train a translator on FILES.

    FILES are two line-aligned texts (train.en train.fr), or one file of both sides: TSV with a tab between source and
    target, JSON lines, TMX, gettext's PO or MO; plain, gzip or zstd; - is a TSV from standard input. Several corpora
    may follow each other, each perhaps with a weight (web.tsv=0.3: draw three pairs in ten each epoch). The same
    command goes on where an interrupted one was.
    """
    if average:
        _average(files, out, valid, size, budget, steps, parent, languages, settings_file, overrides)
        return
    user_layer(overrides, settings_file)
    from regard.training.plan import parse_duration
    from regard.training.run import train as run

    stop = Stop()
    watch(
        run(
            files,
            out=out,
            valid=valid,
            size=size,
            budget=parse_duration(budget) if budget is not None else None,
            steps=steps,
            parent=parent,
            languages=languages,
            overrides=overrides,
            settings_file=settings_file,
            stop=stop,
        ),
        stop,
    )


def _average(folders: tuple[Path, ...], out: Path, *others: object) -> None:
    """Write the mean of models."""
    if any(others):
        raise UserError("--average makes a model of others as they are; give it their folders and --out, and no more")
    from regard.training.average import average

    average(folders, out=out)
    say(f"the mean of {len(folders)} models is in {out}; its card is {out / 'card.md'}")


class Stop:
    """Asked to stop while learning, finish the step and save; asked twice, or before, go at once: nothing is lost."""

    def __init__(self) -> None:
        self.signal = 0
        self.learning = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._heard)

    def __call__(self) -> bool:
        return self.signal != 0

    def _heard(self, number: int, frame: object) -> None:
        if self.signal or not self.learning:
            say("stopped; the same command goes on with what is done")
            sys.exit(128 + number)
        self.signal = number
        say("stopping after this step; once more stops at once")


def watch(events: "Iterator[Event]", stop: Stop) -> None:
    """Show a run; exit as a signal demands if it was stopped by one."""
    from regard.training.events import Planned, Stopped
    from regard.training.loop import Step
    from regard.training.validation import Validation

    def noting() -> "Iterator[Event]":
        for event in events:
            stop.learning = isinstance(event, Planned | Step | Validation)
            yield event

    if isinstance(show_training(noting()), Stopped):
        sys.exit(128 + stop.signal)


@main.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--valid", multiple=True, type=click.Path(path_type=Path), help="A validation file, as for train.")
@click.option("--test", multiple=True, type=click.Path(path_type=Path), help="A test file; for two: give it twice.")
@click.option("--languages", nargs=2, metavar="SOURCE TARGET", help="Which to read where a file has several.")
@click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
@SET
def check(
    files: tuple[Path, ...],
    valid: tuple[Path, ...],
    test: tuple[Path, ...],
    languages: tuple[str, str] | None,
    as_json: bool,
    overrides: tuple[str, ...],
) -> None:
    """Report on FILES before anyone trains on them: what is odd, what would be left out, how long it would take."""
    user = user_layer(overrides)
    from regard.data.check import check as look
    from regard.data.pairs import check_direction, corpora
    from regard.data.standard_input import keep_stream, reads_standard_input
    from regard.training.forecast import forecast

    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "standard-input.tsv"
        if reads_standard_input(files):
            keep_stream(sys.stdin.buffer, kept)
        train, *others = (
            corpora(paths, languages=languages, standard_input=kept if paths is files else None)
            for paths in (files, valid, test)
        )
        if languages is None:
            check_direction([*train, *others[0], *others[1]])
        report = show_work(look(train, *others))
        expected = show_work(forecast(train, report, user))
    if as_json:
        show_lines([json.dumps({**asdict(report), "forecast": asdict(expected)}, ensure_ascii=False, indent=2)])
    else:
        show_report(report, expected)
