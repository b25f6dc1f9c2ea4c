"""`regard average`: averages the parameters of several models."""

from pathlib import Path

import click

from regard.cli.main import main
from regard.console import say


@main.command()
@click.argument("models", nargs=-1, required=True, metavar="MODEL MODEL...", type=click.Path(path_type=Path))
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), help="The model folder to write.")
def average(models: tuple[Path, ...], out: Path) -> None:
    """Average the parameters of several MODELs, and write the average as a new model.

    The models must have the same tokenizer and the same architecture, for example fine-tuned versions of one model.
    """
    from regard.training.weight_average import average_models

    average_models(models, out=out)
    say(f"the mean of {len(models)} models is in {out}; its card is {out / 'card.md'}")
