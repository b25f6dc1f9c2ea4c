"""The result of a translation."""

from dataclasses import asdict, dataclass
from typing import Any

from regard.inference.alignment import Link


@dataclass(frozen=True)
class Translation:
    """A text and its translation."""

    source: str
    text: str
    score: float | None  # log-probability / length penalty, summed over the parts of the text; None if not requested
    log_probability: float | None  # of the whole translation; 0 for a blank text; None if not requested
    tokens: tuple[str, ...]
    # If requested: the log-probability of each token. After the tokens of each part of the text, there is also a value
    # for EOS, unless the translation of the part was cut off.
    log_probabilities: tuple[float, ...] = ()
    alternatives: tuple["Translation", ...] = ()  # if n_best > 1: the other translations, best first
    alignment: tuple[Link, ...] | None = None  # if requested: pairs of a source word and a target word, counted from 0

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, as `regard translate --json` prints them."""
        return asdict(self)
