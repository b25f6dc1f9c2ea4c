"""`regard average`: averages the parameters of several models."""

from pathlib import Path

import click

from regard.cli.main import main
from regard.console import say
from regard.render.units import format_count


@main.command()
@click.argument("models", nargs=-1, required=True, metavar="MODEL MODEL...", type=click.Path(path_type=Path))
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), help="The model folder to write.")
def average(models: tuple[Path, ...], out: Path) -> None:
    """Average the parameters of several MODELs into a new model.

    The models must have the same tokenizer and the same architecture, for example fine-tuned versions of one model.
    """
    from regard.training.weight_average import average_models

    average_models(models, out=out)
    say(f"the average of {format_count(len(models), 'model')} is in {out}; its card is {out / 'card.md'}")
