"""The records that readers yield: pairs of texts, and records that could not be read as a pair.

Invalid records are never dropped silently: every caller lists them or raises an error.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

_SURROGATE = re.compile("[\ud800-\udfff]")


class Pair(NamedTuple):
    """A source text, its translation, and their line number, counted from 1."""

    source: str
    target: str
    line: int


@dataclass(frozen=True)
class InvalidRecord:
    """A record that is not a valid pair. `reason` is a short text for lists; `message` says how to fix the record.

    `expected` marks records that are normal in their format, such as fuzzy messages in a PO file. They do not mean that
    the file is broken.
    """

    path: Path
    line: int
    reason: str
    message: str
    expected: bool = False


Record = Pair | InvalidRecord


def parse_pair(path: Path, line: int, source: str, target: str) -> Record:
    """Return the pair, or an invalid record if a text contains a lone surrogate.

    In Regard every text is a single line, so a line break and the white space around it are replaced by one space.
    """
    for text in (source, target):
        if surrogate := _SURROGATE.search(text):
            return InvalidRecord(
                path,
                line,
                "half a character",
                f"{path}:{line}: U+{ord(surrogate[0]):04X} is half of a surrogate pair, not a character; write the "
                f"complete character or remove the half; the text is {text[:60]!a}",
            )
    return Pair(_as_one_line(source), _as_one_line(target), line)


def _as_one_line(text: str) -> str:
    return " ".join(filter(None, map(str.strip, text.split("\n")))) if "\n" in text else text


LanguagePair = tuple[str | None, str | None]  # source and target language; None if unknown

Codes = tuple[str, str]

Side = Literal["source", "target"]

SIDES: tuple[Side, ...] = ("source", "target")
