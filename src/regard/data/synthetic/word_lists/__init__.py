"""The words of the synthetic language, in files."""

import csv
from collections.abc import Iterator
from importlib.resources import files


def rows(name: str) -> Iterator[dict[str, str]]:
    """The rows of a TSV file of this package, by the names in its first line."""
    lines = (files("regard.data.synthetic.word_lists") / name).read_text("utf-8").splitlines()
    yield from csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
