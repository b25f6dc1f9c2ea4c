"""`regard train`: trains a model on text files."""

from pathlib import Path

import click

from regard.cli.main import main
from regard.cli.options import CONFIG, KIND, SIZE, TRAIN_SET
from regard.cli.training_display import Stop, watch
from regard.machine.process import tune_for_training
from regard.settings.parser import user_overrides


@main.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), help="The model folder to write.")
@click.option(
    "--valid",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A validation file; two files: --valid val.en --valid val.fr. Default: some training pairs are held out.",
)
@KIND
@SIZE
@click.option("--budget", metavar="TIME", help="How long to train, e.g. 20m or 1h30m.")
@click.option("--steps", type=click.IntRange(min=1), help="How many steps to train.")
@click.option("--from", "parent", type=click.Path(path_type=Path), help="Fine-tune this model folder or bundled model.")
@click.option(
    "--languages",
    nargs=2,
    metavar="SOURCE TARGET",
    help="Source and target language. Default: taken from the file names.",
)
@CONFIG
@TRAIN_SET
def train(
    files: tuple[Path, ...],
    out: Path,
    valid: tuple[Path, ...],
    size: str | None,
    budget: str | None,
    steps: int | None,
    parent: Path | None,
    languages: tuple[str, str] | None,
    config: Path | None,
    overrides: tuple[str, ...],
) -> None:
    """Train a translation model on FILES.

    FILES are two line-aligned texts (train.en train.fr), or one file with both languages: TSV (source, tab, target),
    JSON lines, TMX, gettext PO or MO. Files may be compressed with gzip or zstd; - reads a TSV from standard input. You
    can give several corpora, each with an optional weight: with web.tsv=0.3, each epoch uses 30% of the pairs of
    web.tsv. The same command resumes an interrupted run.
    """
    user_overrides(overrides, config)  # report a wrong setting before the slow imports
    tune_for_training()
    from regard.training.planning.choices import parse_duration
    from regard.training.run import iter_train

    stop = Stop()
    watch(
        iter_train(
            files,
            out=out,
            valid=valid,
            size=size,
            budget=parse_duration(budget) if budget is not None else None,
            steps=steps,
            parent=parent,
            languages=languages,
            overrides=overrides,
            config=config,
            stop=stop,
        ),
        stop,
    )
