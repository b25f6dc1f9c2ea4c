"""`regard bench`, `regard doctor` and `regard settings`: this machine, and what can be set."""

import json
import sys
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.line_input import ready_lines
from regard.cli.main import main
from regard.cli.options import FAST, MODEL, SET
from regard.console import say, show_work
from regard.errors import UserError
from regard.render.units import format_duration
from regard.settings.parser import decode_settings, user_overrides
from regard.settings.sizes import SIZES

if TYPE_CHECKING:
    from regard.benchmark.training_speed import TrainingSpeed
    from regard.benchmark.translation_speed import TranslationSpeed


@main.group()
def bench() -> None:
    """Measure a model on this machine."""


@bench.command("translate")
@MODEL
@click.option("--json", "as_json", is_flag=True, help="The figures as JSON.")
@FAST
@SET
def bench_translate(model: Path, as_json: bool, fast: str, overrides: tuple[str, ...]) -> None:
    """Measure how fast a model translates lines of standard input; it takes about a minute."""
    decode_settings(overrides)
    if sys.stdin.isatty():
        raise UserError(f"give it lines to translate: regard bench translate --model {model} < lines.txt")
    from regard.benchmark.translation_speed import TranslationSpeed, measure_translation

    for found in measure_translation(
        model, list(chain.from_iterable(ready_lines(sys.stdin.buffer))), overrides, fast=fast
    ):
        if not isinstance(found, TranslationSpeed):
            say(f"measuring: {found}")
        elif as_json:
            click.echo(json.dumps(asdict(found)))
        else:
            show_translation_speed(found)


@bench.command("train")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--size", type=click.Choice(list(SIZES)), help="Instead of the size chosen by the data.")
@click.option("--json", "as_json", is_flag=True, help="The figures as JSON.")
@SET
def bench_train(files: tuple[Path, ...], size: str | None, as_json: bool, overrides: tuple[str, ...]) -> None:
    """Measure how fast this machine learns from FILES; it takes about a minute, and keeps nothing."""
    user = user_overrides(overrides)
    from regard.benchmark.training_speed import measure_training
    from regard.data.check.corpus_report import check_corpora as look
    from regard.data.formats.corpus import corpora

    train = corpora(files)
    found = show_work(measure_training(train, show_work(look(train)), size, user))
    if as_json:
        click.echo(json.dumps(asdict(found)))
    else:
        show_training_speed(found)


def show_translation_speed(speed: "TranslationSpeed") -> None:
    """Figures for people, on standard output."""
    memory = f"{speed.peak_memory_mb:,.0f} MB" if speed.peak_memory_mb is not None else "not told by this system"
    sys.stdout.write(
        f"many sentences    {speed.sentences_per_second:,.1f} sentences, {speed.tokens_per_second:,.0f} pieces a second"
        f" ({speed.workers} at once; {speed.share_of_engine:.0%} of the engine's own speed)\n"
        f"one sentence      {speed.p50_milliseconds:,.1f} ms (p50), {speed.p99_milliseconds:,.1f} ms (p99)\n"
        f"from nothing      {speed.cold_start_seconds:.2f} s for the first sentence\n"
        f"memory            {memory} at most\n"
    )


def show_training_speed(pace: "TrainingSpeed") -> None:
    """Figures for people, on standard output."""
    memory = f"{pace.peak_memory_mb:,.0f} MB" if pace.peak_memory_mb is not None else "not told by this system"
    sys.stdout.write(
        f"size              {pace.size}, {pace.parameters:,} weights\n"
        f"speed             {pace.tokens_per_second:,.0f} target pieces a second, "
        f"{pace.seconds_per_step:.2f} s a step\n"
        f"arithmetic        {pace.gigaflops:,.0f} GFLOP/s, {pace.gigaflops / pace.peak_gigaflops:.0%} of the "
        f"{pace.peak_gigaflops:,.0f} of one large product\n"
        f"memory            {memory} at most\n"
        f"your data         {pace.steps:,} steps, {format_duration(pace.seconds)}\n"
    )
