"""`regard train` and `regard check`: from data to a model."""

from pathlib import Path

import click

from regard.cli.commands.average import _average
from regard.cli.main import main
from regard.cli.options import SET
from regard.cli.training_display import Stop, watch
from regard.settings.parser import user_overrides
from regard.settings.sizes import SIZES


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
    user_overrides(overrides, settings_file)
    from regard.training.planning.choices import parse_duration
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
