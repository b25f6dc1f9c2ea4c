"""The word lists of the synthetic language, and a reader for them."""

import csv
from collections.abc import Iterator
from importlib.resources import files


def rows(name: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a TSV file of this package, keyed by the header."""
    lines = (files("regard.data.synthetic.word_lists") / name).read_text("utf-8").splitlines()
    yield from csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
