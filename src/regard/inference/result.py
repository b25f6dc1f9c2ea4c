"""The result of a translation."""

from dataclasses import dataclass

from regard.inference.alignment import Link


@dataclass(frozen=True)
class Translation:
    """A text, what it became, and the pieces that was written in."""

    source: str
    text: str
    score: float  # log-probability over the length penalty; of a text in parts, their sum
    log_probability: float  # like the score nan, if not asked for; of a blank text 0
    tokens: tuple[str, ...]
    log_probabilities: tuple[float, ...] = ()  # if asked for: each piece's, and the end mark's where a part ends in one
    alternatives: tuple["Translation", ...] = ()  # the next best, best first, where more than one was asked for
    alignment: tuple[Link, ...] | None = None  # if asked for: which source word each word comes from, counted from 0
