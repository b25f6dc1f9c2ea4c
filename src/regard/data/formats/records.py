"""What a reader yields: a pair of texts, or the fault that hides one. A fault is never silent: who reads lists it."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

_SURROGATE = re.compile("[\ud800-\udfff]")


class Pair(NamedTuple):
    """Two texts that mean the same, and the line they stand on, counted from 1."""

    source: str
    target: str
    line: int


@dataclass(frozen=True)
class InvalidRecord:
    """A record that is not read as a pair. `reason` is for lists, `message` says how to mend it.

    Some are `usual` in their format, such as messages nobody has translated yet, and say nothing against the file.
    """

    path: Path
    line: int
    reason: str
    message: str
    usual: bool = False


Record = Pair | InvalidRecord


def parse_pair(path: Path, line: int, source: str, target: str) -> Record:
    """A pair out of a format whose texts may hold anything.

    A text is one line everywhere in Regard, so a line break inside it, with the white space around, becomes a space.
    """
    for text in (source, target):
        if half := _SURROGATE.search(text):
            return InvalidRecord(
                path,
                line,
                "half a character",
                f"{path}:{line}: U+{ord(half[0]):04X} is half of a surrogate pair and no character of its own; write "
                f"the whole character, or remove the half; the text is {text[:60]!a}",
            )
    return Pair(_one_line(source), _one_line(target), line)


def _one_line(text: str) -> str:
    return " ".join(filter(None, map(str.strip, text.split("\n")))) if "\n" in text else text


LanguagePair = tuple[str | None, str | None]  # source and target language, where known

Codes = tuple[str, str]

Side = Literal["source", "target"]

SIDES: tuple[Side, ...] = ("source", "target")
