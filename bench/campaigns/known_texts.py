"""Sentences and their translations by the library, against which the answers of a server are checked."""

import os
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

import regard
from regard.data.formats.lines import Lines

_DATA = Path(os.environ.get("REGARD_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))
_FILE = _DATA.resolve() / "multi30k" / "train.en.gz"


def sentences(count: int) -> list[str]:
    """Return distinct sentences of a corpus, or generated ones if there is no corpus."""
    found = dict.fromkeys(islice(Lines(_FILE), 2 * count)) if _FILE.exists() else {}
    generated = (f"The {number}th of {2 * number + 3} students sees the house." for number in range(count))
    return list(islice(dict.fromkeys([*found, *generated]), count))


def translations(texts: Iterable[str]) -> dict[str, str]:
    """Return the translation of each text by the library, as `regard translate` prints it."""
    texts = list(texts)
    with regard.load("en-fr") as model:
        return {text: each.text for text, each in zip(texts, model.translate(texts), strict=True)}


def translations_in_groups(texts: Sequence[str], size: int) -> dict[str, str]:
    """Return the translation of each text by the library, which translates `size` of them at a time."""
    found: dict[str, str] = {}
    with regard.load("en-fr") as model:
        for start in range(0, len(texts), size):
            group = texts[start : start + size]
            found |= {text: each.text for text, each in zip(group, model.translate(group), strict=True)}
    return found
