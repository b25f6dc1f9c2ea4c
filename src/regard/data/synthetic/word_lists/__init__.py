"""The word lists of the synthetic language, and a function that reads them."""

import csv
from collections.abc import Iterator
from importlib.resources import files


def rows(name: str) -> Iterator[dict[str, str]]:
    """Yield each row of a TSV file in this package as a dictionary from the column name to the value."""
    lines = (files("regard.data.synthetic.word_lists") / name).read_text("utf-8").splitlines()
    yield from csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
