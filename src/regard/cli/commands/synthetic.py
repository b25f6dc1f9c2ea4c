"""`regard synthetic`: writes sentence pairs of the built-in synthetic language to a file."""

from pathlib import Path

import click

from regard.cli.main import main
from regard.cli.options import NEW_FILE
from regard.console import follow, say


@main.command()
@click.option("-o", "--out", required=True, type=NEW_FILE, help="The TSV file to write.")
@click.option("--count", default=100_000, show_default=True, type=click.IntRange(min=1), help="How many pairs.")
@click.option("--seed", default=1, show_default=True, help="Another seed gives other pairs.")
@click.option(
    "--split", default="train", show_default=True, help="train, valid, test, noun-pairs, noun-words or longer."
)
@click.option("--annotations", is_flag=True, help="Also write the annotations of each pair, as JSON lines.")
def synthetic(out: Path, count: int, seed: int, split: str, annotations: bool) -> None:
    """Write sentence pairs of the built-in synthetic language.

    The languages are English and French, with a small, known grammar.
    """
    from regard.data.synthetic.tsv_files import generate_lines, write_files

    pairs = follow(generate_lines(count, seed, split, annotations=annotations), "pairs", count)
    for file in write_files(out, pairs, annotations=annotations):
        say(f"wrote {file}: {count:,} lines")
