"""`regard average`: the mean of the parameters of several models."""

from pathlib import Path

from regard.console import say
from regard.errors import UserError


def _average(folders: tuple[Path, ...], out: Path, *others: object) -> None:
    """Write the mean of models."""
    if any(others):
        raise UserError("--average makes a model of others as they are; give it their folders and --out, and no more")
    from regard.training.weight_average import average

    average(folders, out=out)
    say(f"the mean of {len(folders)} models is in {out}; its card is {out / 'card.md'}")
