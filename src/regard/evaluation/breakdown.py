"""Scores of groups of sentences: by the length of the source, and by the frequency of the rarest word in the source.

Words are sequences of letters and digits, ignoring case; in scripts without spaces, each letter is a word. Frequencies
are those in the training text if the model folder has its word counts, otherwise those in the sources of the test set.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.data.code_points import words
from regard.data.prepare.word_counts import WordCounts
from regard.evaluation.scores import MetricScores
from regard.storage.manifest import find_damage

LENGTH_LIMITS = (5, 10, 20, 40)  # upper limits of the groups, in words per sentence

FREQUENCY_LIMITS = (0, 1, 9, 99, 999)  # upper limits of the groups, in occurrences of the rarest word

NO_WORDS = "no words"


@dataclass(frozen=True)
class Bucket:
    """The scores of a translator on a group of sentences; `against` has the scores of a second translator, if any."""

    name: str
    sentences: int
    scores: MetricScores
    against: MetricScores | None


@dataclass(frozen=True)
class Breakdown:
    """The scores of groups of sentences; `by` says how they are grouped. Every sentence is in exactly one group."""

    by: str
    groups: tuple[Bucket, ...]


def by_length(sources: Sequence[str]) -> dict[str, list[int]]:
    """Return the indices of the sentences, grouped by number of words."""
    return _group([len(words(source)) for source in sources], LENGTH_LIMITS)


def by_rarity(sources: Sequence[str], frequencies: Counter[str]) -> dict[str, list[int]]:
    """Return the indices of the sentences, grouped by the frequency of the rarest word of a sentence."""
    rarest = [min((frequencies[word] for word in words(source)), default=None) for source in sources]
    return _group(rarest, FREQUENCY_LIMITS)


def _group(values: Sequence[int | None], limits: Sequence[int]) -> dict[str, list[int]]:
    """Return the indices of the values in each range, without empty ranges; `limits` are the upper limits."""
    starts = [0, *(limit + 1 for limit in limits)]
    names = [
        f"{first:,} to {last:,}" if first < last else f"{last}" for first, last in zip(starts, limits, strict=False)
    ]
    names += [f"over {limits[-1]:,}", NO_WORDS]
    groups: dict[str, list[int]] = {name: [] for name in names}
    for index, value in enumerate(values):
        groups[NO_WORDS if value is None else names[bisect_left(limits, value)]].append(index)
    return {name: indices for name, indices in groups.items() if indices}


def word_frequencies(sources: Sequence[str], trained_in: Path | None) -> tuple[Counter[str], str]:
    """Return the frequency of each word of the sources, and a description of the text in which words were counted."""
    own = Counter(word for source in sources for word in words(source))
    if trained_in is None:
        return own, "these sources"
    folder = trained_in / "run" / "word_counts"
    if not folder.is_dir() or find_damage(folder) is not None:
        return own, f"these sources ({trained_in} has no word counts of its training text)"
    trained = WordCounts(folder)
    return Counter({word: trained.count(word) for word in own}), f"the {trained.sources:,} training sources"
