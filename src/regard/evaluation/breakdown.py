"""Where a translator does well and where it does not: its figures by the length of the source and by its rarest word.

Words are runs of letters and digits, whatever their case; in scripts without spaces, each letter. How rare a word is
was decided by the training text, so that is where it is looked up while it is still in the model's folder; else among
the test set's own sources.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.data.code_points import words
from regard.data.prepare.text_store import TextStore
from regard.evaluation.scores import Figures
from regard.progress import Progress, Work
from regard.storage.manifest import find_damage

WORDS = (5, 10, 20, 40)

TIMES = (0, 1, 9, 99, 999)

NO_WORDS = "no words"


@dataclass(frozen=True)
class Bucket:
    """Some sentences, and the figures of one translator or of two on them."""

    name: str
    sentences: int
    scores: Figures
    against: Figures | None


@dataclass(frozen=True)
class Breakdown:
    """All sentences, each in one group."""

    by: str
    groups: tuple[Bucket, ...]


def by_length(sources: Sequence[str]) -> dict[str, list[int]]:
    """Which sentences have how many words."""
    return _grouped([len(words(source)) for source in sources], WORDS)


def by_rarity(sources: Sequence[str], times: Counter[str]) -> dict[str, list[int]]:
    """Which sentences have a rarest word that was seen how many times."""
    return _grouped([min((times[word] for word in words(source)), default=None) for source in sources], TIMES)


def _grouped(values: Sequence[int | None], limits: Sequence[int]) -> dict[str, list[int]]:
    """Places of values by range; ranges without any are left out."""
    starts = [0, *(limit + 1 for limit in limits)]
    names = [
        f"{first:,} to {last:,}" if first < last else f"{last}" for first, last in zip(starts, limits, strict=False)
    ]
    names += [f"over {limits[-1]:,}", NO_WORDS]
    found: dict[str, list[int]] = {name: [] for name in names}
    for place, value in enumerate(values):
        found[NO_WORDS if value is None else names[bisect_left(limits, value)]].append(place)
    return {name: places for name, places in found.items() if places}


def word_frequencies(sources: Sequence[str], trained_in: Path | None) -> Work[tuple[Counter[str], str]]:
    """How often each word of the sources was seen, and where."""
    own = Counter(word for source in sources for word in words(source))
    if trained_in is None:
        return own, "these sources themselves"
    folder = trained_in / "run" / "texts"
    if not folder.is_dir() or find_damage(folder) is not None:
        return own, f"these sources themselves ({trained_in} has its training text no more)"
    train = TextStore(folder).train
    times: Counter[str] = Counter()
    for start, stop in train.blocks():
        yield Progress("counting words of the training text", start, len(train))
        # Only what is asked for is kept: a large text has more words than fit in memory.
        for source in train.texts("source", start, stop):
            times.update(word for word in words(source) if word in own)
    return times, f"the {len(train):,} sources it was trained on"
