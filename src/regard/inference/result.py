"""The result of a translation."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from regard.inference.alignment import Link

# The index of the first character of a part of a text, and the index after its last character.
Range = tuple[int, int]

WarningKind = Literal[
    "length limit",
    "same as source",
    "repetition",
    "missing number",
    "lost span",
    "unknown characters",
    "language",
    "markup",
]

# "model": the model has put a stand-in there; "end": no place was found, so the span stands at the end
PlacedBy = Literal["model", "alignment", "end"]


@dataclass(frozen=True)
class TranslationWarning:
    """A reason to check a translation, with the part of the source and of the translation that it is about."""

    kind: WarningKind
    message: str
    source: Range | None = None
    target: Range | None = None


@dataclass(frozen=True)
class PlacedSpan:
    """A protected span or a term of the glossary, with its place in the source and in the translation."""

    kind: str  # such as "url" or "term"
    text: str  # as it stands in the translation
    source: Range
    target: Range
    placed_by: PlacedBy


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
    # If `log_probabilities` are requested: the calibrated probability of each word, None for a word that was copied.
    word_probabilities: tuple[float | None, ...] = ()
    alternatives: tuple["Translation", ...] = ()  # if n_best > 1: the other translations, best first
    alignment: tuple[Link, ...] | None = None  # if requested: pairs of a source word and a target word, counted from 0
    warnings: tuple[TranslationWarning, ...] = ()  # reasons to check the translation
    spans: tuple[PlacedSpan, ...] = ()  # protected spans and terms of the glossary

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, as `regard translate --json` prints them."""
        return asdict(self)
