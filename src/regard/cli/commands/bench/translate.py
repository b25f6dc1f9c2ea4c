"""`regard bench translate`: measures the speed of translation on this machine."""

import json
import sys
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.commands.bench.group import bench
from regard.cli.line_input import ready_lines
from regard.cli.options import BEAM_SIZE, COMPUTE_TYPE, LANGUAGES, MODEL, SET
from regard.console import say
from regard.errors import UserError
from regard.render.units import format_count
from regard.settings.parser import decode_overrides

if TYPE_CHECKING:
    from regard.benchmark.translation_speed import TranslationSpeed


@bench.command()
@MODEL
@LANGUAGES
@click.option("--json", "as_json", is_flag=True, help="The figures as JSON.")
@BEAM_SIZE
@COMPUTE_TYPE
@SET
def translate(model: Path, as_json: bool, compute_type: str, overrides: tuple[str, ...]) -> None:
    """Measure how fast a model translates standard input. This takes about a minute."""
    decode_overrides(overrides)
    if sys.stdin.isatty():
        raise UserError(f"standard input has no lines to translate: regard bench translate --model {model} < lines.txt")
    from regard.benchmark.translation_speed import TranslationSpeed, measure_translation

    for event in measure_translation(
        model, list(chain.from_iterable(ready_lines(sys.stdin.buffer))), overrides, compute_type=compute_type
    ):
        if not isinstance(event, TranslationSpeed):
            say(f"measuring: {event}")
        elif as_json:
            click.echo(json.dumps(asdict(event)))
        else:
            _show(event)


def _show(speed: "TranslationSpeed") -> None:
    """Print the speed of translation."""
    memory = f"{speed.peak_memory_mb:,.0f} MB" if speed.peak_memory_mb is not None else "not known on this system"
    sys.stdout.write(
        f"many sentences    {speed.sentences_per_second:,.1f} sentences, {speed.tokens_per_second:,.0f} tokens per "
        f"second ({format_count(speed.workers, 'batch', 'batches')} at once; {speed.share_of_ctranslate2:.0%} of "
        "CTranslate2's own speed)\n"
        f"one sentence      {speed.p50_milliseconds:,.1f} ms (p50), {speed.p99_milliseconds:,.1f} ms (p99)\n"
        f"cold start        {speed.cold_start_seconds:.2f} s for the first sentence\n"
        f"memory            {memory} at most\n"
    )
