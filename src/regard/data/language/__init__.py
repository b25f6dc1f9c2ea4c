"""The built-in language: English and French sentence pairs without end, made by a grammar, with the truth about them.

`pairs` and `flips` are all one needs. The words are in TSV files, the relations behind "it" in frames.toml.
"""

from collections.abc import Iterator

from regard.data.language import sentences
from regard.data.language.dice import Dice
from regard.data.language.splits import FAMOUS, SPLITS, is_famous, split_of
from regard.data.language.truth import It, Truth, Verb, Word
from regard.data.language.writing import Pair
from regard.errors import UserError

__all__ = [
    "FAMOUS", "SPLITS", "It", "Pair", "Truth", "Verb", "Word", "about_it", "flips", "is_famous", "pairs", "split_of",
]  # fmt: skip


def pairs(seed: int, split: str = "train") -> Iterator[Pair]:
    """Sentence pairs of a split without end, the same for the same seed. Short ones come again now and then."""
    _check(split)
    return (pair for pair in sentences.sentences(Dice(seed, f"pairs/{split}")) if split_of(pair) == split)


def about_it(seed: int, split: str = "train") -> Iterator[Pair]:
    """As `pairs`, but only those in which "it" may stand for either of two nouns."""
    _check(split)
    return (pair for pair in sentences.about_it(Dice(seed, f"it/{split}")) if split_of(pair) == split)


def flips(seed: int, split: str = "test") -> Iterator[tuple[Pair, Pair]]:
    """Two sentences at a time that differ in one word alone, and "it" stands for the other noun, of other gender.

    Both belong to the split. The first has no fixed side.
    """
    _check(split)
    found = sentences.flips(Dice(seed, f"flips/{split}"))
    return (both for both in found if split_of(both[0]) == split == split_of(both[1]))


def _check(split: str) -> None:
    if split not in SPLITS:
        raise UserError(f"the built-in language has no split {split!r}; choose one of {', '.join(SPLITS)}")
