"""Puts a stand-in that the model has left out where the model finds it most probable."""

import math
import re
from collections.abc import Callable, Sequence

_WORD = re.compile(r"\S+")

_STOP = re.compile(r"\s*[.!?…。！？]*\s*$")

# The stand-in may make the translation this much less probable; otherwise the model does not expect it anywhere.
_LEAST_CHANGE = math.log(0.01)


def before_stop(text: str) -> int:
    """Return the index of the stop, and the white space, at the end of a text."""
    return _STOP.search(text).start()  # type: ignore[union-attr]


def insert_stand_in(text: str, stand_in: str, score: Callable[[Sequence[str]], Sequence[float]]) -> str | None:
    """Return a translation with a stand-in between two of its words, or None if it is improbable everywhere.

    `score` returns the log-probability of each of some translations.
    """
    end = before_stop(text)
    texts = [f"{text[: word.start()]}{stand_in} {text[word.start() :]}" for word in _WORD.finditer(text, 0, end)]
    texts.append(f"{text[:end]} {stand_in}{text[end:]}")
    before, *after = score([text, *texts])
    best = max(range(len(texts)), key=after.__getitem__)
    return texts[best] if after[best] - before >= _LEAST_CHANGE else None
