"""Statistics of one split of the data, with a few examples. They are computed block by block, in constant memory."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.data.code_points import SCRIPTS, UNUSUAL_CHARACTERS, Block, Numbers
from regard.data.formats.records import SIDES, Side

EXAMPLES = 3

MAX_RATIO = 3.0  # a pair is reported if its length ratio differs from the usual ratio by more than this factor

_MAX_COUNTED_LENGTH = 10_000

_RATIO_STEPS = 16  # number of histogram steps per doubling of the length ratio

_RATIO_RANGE = 24 * _RATIO_STEPS

_RATIO_OFFSET = 10  # characters added to both lengths of a pair, because the ratios of short texts vary by chance

_PROFILE_SIZE = 4096

_EXAMPLE_CHARACTERS = 200


@dataclass(frozen=True)
class TextLocation:
    """A text and its location: index of the corpus, line number, and side (0 for source, 1 for target)."""

    corpus: int
    line: int
    side: int
    text: str


@dataclass(frozen=True)
class Lengths:
    """Statistics of the lengths of the texts that are not empty."""

    mean: float
    median: int
    p95: int
    maximum: int


class Occurrences:
    """The number of occurrences of a problem, and the locations of the first few."""

    def __init__(self) -> None:
        self.count = 0
        self.locations: list[TextLocation] = []

    def add(self, count: int, locations: Sequence[TextLocation]) -> None:
        self.count += count
        self.locations += locations[: EXAMPLES - len(self.locations)]


class CorpusStatistics:
    """The statistics of one split."""

    def __init__(self) -> None:
        self.pairs = 0
        self.occurrences = {
            kind: Occurrences() for kind in ("source empty", "target empty", "copied", *UNUSUAL_CHARACTERS)
        }
        self.scripts = [[Occurrences() for _ in SCRIPTS] for _ in SIDES]
        self._characters = [_Histogram() for _ in SIDES]
        self._words = [_Histogram() for _ in SIDES]
        self._ratios = _Ratios()

    def add(self, corpus: int, lines: Numbers, texts: tuple[Sequence[str], Sequence[str]], profile: "Profile") -> None:
        """Add a block of pairs of one corpus, and update the profile of the corpus."""
        self.pairs += len(lines)
        block_rows = _BlockRows(corpus, lines, texts)
        empty = [np.fromiter((not text or text.isspace() for text in side), bool, len(lines)) for side in texts]
        block_rows.add(self.occurrences["source empty"], np.flatnonzero(empty[0]), 0)
        block_rows.add(self.occurrences["target empty"], np.flatnonzero(empty[1] & ~empty[0]), 1)
        copied = np.fromiter((a.strip() == b.strip() for a, b in zip(*texts, strict=True)), bool, len(lines))
        block_rows.add(self.occurrences["copied"], np.flatnonzero(copied & ~empty[0]), 0)
        blocks = [Block(side) for side in texts]
        for side, block in enumerate(blocks):
            self._characters[side].add(block.lengths[~empty[side]])
            self._words[side].add(block.words[~empty[side]])
            for name, unusual in block.unusual_characters().items():
                block_rows.add(self.occurrences[name], unusual, side)
            scripts = block.scripts()
            for script in np.unique(scripts):
                block_rows.add(self.scripts[side][script], np.flatnonzero(scripts == script), side)
            profile.add(side, block)
        rows = np.flatnonzero(~(empty[0] | empty[1]))
        self._ratios.add(blocks[0].lengths[rows], blocks[1].lengths[rows], rows, block_rows)

    def lengths(self, side: Side) -> dict[str, Lengths]:
        """Return the length statistics of a side in characters and in words."""
        number = SIDES.index(side)
        return {"characters": self._characters[number].lengths(), "words": self._words[number].lengths()}

    def other_scripts(self) -> dict[str, tuple[Occurrences, str]]:
        """Return for each side with several scripts the texts outside the main script, and the name of that script."""
        result: dict[str, tuple[Occurrences, str]] = {}
        for side, counts in zip(SIDES, self.scripts, strict=True):
            by_count = sorted(counts[1:], key=lambda occurrences: -occurrences.count)
            if by_count[1].count:
                others = Occurrences()
                for occurrences in by_count[1:]:
                    others.add(occurrences.count, occurrences.locations)
                result[side] = others, SCRIPTS[counts.index(by_count[0])]
        return result

    def unusual_ratios(self) -> Occurrences:
        """Return the pairs in which one side is much longer than usual in relation to the other side."""
        return self._ratios.outliers()


class Profile:
    """The frequencies of character bigrams on each side of a corpus, which differ between languages."""

    def __init__(self) -> None:
        self._counts = np.zeros((2, _PROFILE_SIZE))

    def add(self, side: int, block: Block) -> None:
        pairs = (block.codes[:-1].astype(np.uint32) * 31 + block.codes[1:]) % _PROFILE_SIZE
        self._counts[side] += np.bincount(pairs, minlength=_PROFILE_SIZE)

    def seems_swapped(self, other: "Profile") -> bool:
        """Return whether the two corpora would be much more similar if source and target of one were exchanged."""
        if min(self._counts.sum(1).min(), other._counts.sum(1).min()) < _PROFILE_SIZE:
            return False  # too little text to tell
        straight = sum(_cosine(self._counts[side], other._counts[side]) for side in (0, 1))
        crosswise = sum(_cosine(self._counts[side], other._counts[1 - side]) for side in (0, 1))
        return crosswise > straight + 0.2


def _cosine(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float(one @ other / np.sqrt((one @ one) * (other @ other)))


class _BlockRows:
    """A block of pairs, and the locations of its texts."""

    def __init__(self, corpus: int, lines: Numbers, texts: tuple[Sequence[str], Sequence[str]]) -> None:
        self._corpus, self._lines, self._texts = corpus, lines, texts

    def add(self, occurrences: Occurrences, rows: Numbers, side: int) -> None:
        occurrences.add(len(rows), [self.location(int(row), side) for row in rows[:EXAMPLES]])

    def location(self, row: int, side: int) -> TextLocation:
        return TextLocation(self._corpus, int(self._lines[row]), side, self._texts[side][row][:_EXAMPLE_CHARACTERS])


class _Histogram:
    """A histogram of text lengths; all lengths from _MAX_COUNTED_LENGTH on are counted together."""

    def __init__(self) -> None:
        self._counts = np.zeros(_MAX_COUNTED_LENGTH + 1, np.int64)
        self._sum = self._maximum = 0

    def add(self, lengths: Numbers) -> None:
        self._counts += np.bincount(np.minimum(lengths, _MAX_COUNTED_LENGTH), minlength=_MAX_COUNTED_LENGTH + 1)
        self._sum += int(lengths.sum())
        self._maximum = max(self._maximum, int(lengths.max(initial=0)))

    def lengths(self) -> Lengths:
        total = int(self._counts.sum())
        return Lengths(self._sum / max(1, total), self._percentile(0.5), self._percentile(0.95), self._maximum)

    def _percentile(self, fraction: float) -> int:
        running = np.cumsum(self._counts)
        return int(np.searchsorted(running, fraction * running[-1])) if running[-1] else 0


class _Ratios:
    """A histogram of the length ratios of target to source, with the pairs that have the lowest and highest ratios.

    These pairs are kept as examples, because the usual ratio is known only at the end.
    """

    def __init__(self) -> None:
        self._counts = np.zeros(2 * _RATIO_RANGE + 1, np.int64)
        # Two lists of ratios and locations: one of the lowest ratios, one of the highest.
        self._extremes: tuple[list[tuple[int, TextLocation]], list[tuple[int, TextLocation]]] = [], []

    def add(self, source: Numbers, target: Numbers, rows: Numbers, block_rows: _BlockRows) -> None:
        ratios = np.log2((target + _RATIO_OFFSET) / (source + _RATIO_OFFSET)) * _RATIO_STEPS
        steps = np.clip(np.rint(ratios), -_RATIO_RANGE, _RATIO_RANGE).astype(np.int64) + _RATIO_RANGE
        self._counts += np.bincount(steps, minlength=len(self._counts))
        for sign, extremes in zip((1, -1), self._extremes, strict=True):
            order = np.argsort(sign * steps, kind="stable")[:EXAMPLES]
            extremes += [(int(steps[row]), block_rows.location(int(rows[row]), 0)) for row in order]
            extremes.sort(key=lambda extreme: sign * extreme[0])
            del extremes[EXAMPLES:]

    def outliers(self) -> Occurrences:
        running = np.cumsum(self._counts)
        usual = int(np.searchsorted(running, running[-1] / 2))
        limit = round(np.log2(MAX_RATIO) * _RATIO_STEPS)
        steps = np.arange(len(self._counts))
        occurrences = Occurrences()
        extremes = sorted(self._extremes[0] + self._extremes[1], key=lambda extreme: -abs(extreme[0] - usual))
        locations = [location for step, location in extremes if abs(step - usual) > limit]
        occurrences.add(int(self._counts[abs(steps - usual) > limit].sum()), locations)
        return occurrences
