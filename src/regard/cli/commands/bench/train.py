"""`regard bench train`: measures the speed of training on this machine."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.commands.bench.group import bench
from regard.cli.options import CONFIG, KIND, SIZE, TRAIN_SET
from regard.console import show_work
from regard.machine.process import tune_for_training
from regard.render.units import format_duration
from regard.settings.parser import user_overrides

if TYPE_CHECKING:
    from regard.benchmark.training_speed import TrainingSpeed


@bench.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@KIND
@SIZE
@click.option("--json", "as_json", is_flag=True, help="The figures as JSON.")
@CONFIG
@TRAIN_SET
def train(
    files: tuple[Path, ...], size: str | None, as_json: bool, config: Path | None, overrides: tuple[str, ...]
) -> None:
    """Measure how fast this machine trains on FILES. This takes about a minute, and no model is saved."""
    user = user_overrides(overrides, config)
    tune_for_training()
    from regard.benchmark.training_speed import measure_training
    from regard.data.check.corpus_report import check_corpora
    from regard.data.formats.corpus import corpora

    corpus = corpora(files)
    speed = show_work(measure_training(corpus, show_work(check_corpora(corpus)), size, user))
    if as_json:
        click.echo(json.dumps(asdict(speed)))
    else:
        _show(speed)


def _show(speed: "TrainingSpeed") -> None:
    """Print the speed of training."""
    memory = f"{speed.peak_memory_mb:,.0f} MB" if speed.peak_memory_mb is not None else "not known on this system"
    sys.stdout.write(
        f"size              {speed.size}, {speed.parameters:,} parameters\n"
        f"speed             {speed.tokens_per_second:,.0f} target tokens per second, "
        f"{speed.seconds_per_step:.2f} s per step\n"
        f"arithmetic        {speed.gigaflops:,.0f} GFLOP/s, {speed.gigaflops / speed.peak_gigaflops:.0%} of the "
        f"{speed.peak_gigaflops:,.0f} of one large matrix product\n"
        f"memory            {memory} at most\n"
        f"your data         {speed.steps:,} steps, {format_duration(speed.seconds)}\n"
    )
