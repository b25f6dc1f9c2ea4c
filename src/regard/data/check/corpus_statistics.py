"""Counts over the pairs of one part of the data, block by block, in constant memory, with a few examples of each."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.data.code_points import ODDITIES, SCRIPTS, Block, Numbers
from regard.data.formats.records import SIDES, Side

EXAMPLES = 3

RATIO = 3.0  # how many times longer than usual one side must be to be worth a look

_LONGEST_COUNTED = 10_000

_RATIO_STEPS = 16  # per doubling

_RATIO_RANGE = 24 * _RATIO_STEPS

_RATIO_SLACK = 10  # characters: short texts differ by chance

_PROFILE = 4096

_SHOWN = 200  # characters of an example


@dataclass(frozen=True)
class Spot:
    """Where something was seen: side 0 or 1 of a line, and its text."""

    corpus: int
    line: int
    side: int
    text: str


@dataclass(frozen=True)
class Lengths:
    """Of the texts that are not empty."""

    mean: float
    median: int
    p95: int  # one text in twenty is longer
    maximum: int


class Seen:
    """How many, and where the first few were."""

    def __init__(self) -> None:
        self.count = 0
        self.spots: list[Spot] = []

    def add(self, count: int, spots: Sequence[Spot]) -> None:
        self.count += count
        self.spots += spots[: EXAMPLES - len(self.spots)]


class CorpusStatistics:
    """The counts of one part."""

    def __init__(self) -> None:
        self.pairs = 0
        self.seen = {kind: Seen() for kind in ("source empty", "target empty", "copied", *ODDITIES)}
        self.scripts = [[Seen() for _ in SCRIPTS] for _ in SIDES]
        self._characters = [_Histogram() for _ in SIDES]
        self._words = [_Histogram() for _ in SIDES]
        self._ratios = _Ratios()

    def add(self, corpus: int, lines: Numbers, texts: tuple[Sequence[str], Sequence[str]], profile: "Profile") -> None:
        """Count a block of pairs of one corpus, whose profile grows with it."""
        self.pairs += len(lines)
        where = _Where(corpus, lines, texts)
        empty = [np.fromiter((not text or text.isspace() for text in side), bool, len(lines)) for side in texts]
        where.add(self.seen["source empty"], np.flatnonzero(empty[0]), 0)
        where.add(self.seen["target empty"], np.flatnonzero(empty[1] & ~empty[0]), 1)
        same = np.fromiter((a.strip() == b.strip() for a, b in zip(*texts, strict=True)), bool, len(lines))
        where.add(self.seen["copied"], np.flatnonzero(same & ~empty[0]), 0)
        blocks = [Block(side) for side in texts]
        for side, block in enumerate(blocks):
            self._characters[side].add(block.lengths[~empty[side]])
            self._words[side].add(block.words[~empty[side]])
            for name, rows in block.oddities().items():
                where.add(self.seen[name], rows, side)
            scripts = block.scripts()
            for script in np.unique(scripts):
                where.add(self.scripts[side][script], np.flatnonzero(scripts == script), side)
            profile.add(side, block)
        full = np.flatnonzero(~(empty[0] | empty[1]))
        self._ratios.add(blocks[0].lengths[full], blocks[1].lengths[full], full, where)

    def lengths(self, side: Side) -> dict[str, Lengths]:
        """In characters and in words."""
        number = SIDES.index(side)
        return {"characters": self._characters[number].lengths(), "words": self._words[number].lengths()}

    def other_scripts(self) -> dict[str, tuple[Seen, str]]:
        """For each side with texts in several scripts: those not in the most frequent one, and which that is."""
        found: dict[str, tuple[Seen, str]] = {}
        for side, counts in zip(SIDES, self.scripts, strict=True):
            by_count = sorted(counts[1:], key=lambda seen: -seen.count)
            if by_count[1].count:
                others = Seen()
                for seen in by_count[1:]:
                    others.add(seen.count, seen.spots)
                found[side] = others, SCRIPTS[counts.index(by_count[0])]
        return found

    def odd_ratios(self) -> Seen:
        """Pairs of which one side is much longer than usual beside the other."""
        return self._ratios.outliers()


class Profile:
    """How often two characters follow each other on each side of a corpus: languages differ in it."""

    def __init__(self) -> None:
        self._counts = np.zeros((2, _PROFILE))

    def add(self, side: int, block: Block) -> None:
        pairs = (block.codes[:-1].astype(np.uint32) * 31 + block.codes[1:]) % _PROFILE
        self._counts[side] += np.bincount(pairs, minlength=_PROFILE)

    def seems_swapped(self, other: "Profile") -> bool:
        """Whether the sides of two corpora fit much better crosswise."""
        if min(self._counts.sum(1).min(), other._counts.sum(1).min()) < _PROFILE:
            return False  # too little text to tell
        straight = sum(_cosine(self._counts[side], other._counts[side]) for side in (0, 1))
        crosswise = sum(_cosine(self._counts[side], other._counts[1 - side]) for side in (0, 1))
        return crosswise > straight + 0.2


def _cosine(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float(one @ other / np.sqrt((one @ one) * (other @ other)))


class _Where:
    """Turns rows of a block into spots."""

    def __init__(self, corpus: int, lines: Numbers, texts: tuple[Sequence[str], Sequence[str]]) -> None:
        self._corpus, self._lines, self._texts = corpus, lines, texts

    def add(self, seen: Seen, rows: Numbers, side: int) -> None:
        seen.add(len(rows), [self.spot(int(row), side) for row in rows[:EXAMPLES]])

    def spot(self, row: int, side: int) -> Spot:
        return Spot(self._corpus, int(self._lines[row]), side, self._texts[side][row][:_SHOWN])


class _Histogram:
    """How many texts have which length; very long ones are counted together."""

    def __init__(self) -> None:
        self._counts = np.zeros(_LONGEST_COUNTED + 1, np.int64)
        self._sum = self._longest = 0

    def add(self, lengths: Numbers) -> None:
        self._counts += np.bincount(np.minimum(lengths, _LONGEST_COUNTED), minlength=_LONGEST_COUNTED + 1)
        self._sum += int(lengths.sum())
        self._longest = max(self._longest, int(lengths.max(initial=0)))

    def lengths(self) -> Lengths:
        total = int(self._counts.sum())
        return Lengths(self._sum / max(1, total), self._at(0.5), self._at(0.95), self._longest)

    def _at(self, share: float) -> int:
        running = np.cumsum(self._counts)
        return int(np.searchsorted(running, share * running[-1])) if running[-1] else 0


class _Ratios:
    """How the lengths of two sides compare. What is usual is known only at the end, so the extremes are kept."""

    def __init__(self) -> None:
        self._counts = np.zeros(2 * _RATIO_RANGE + 1, np.int64)
        self._extremes: tuple[list[tuple[int, Spot]], list[tuple[int, Spot]]] = [], []  # lowest first, highest first

    def add(self, source: Numbers, target: Numbers, rows: Numbers, where: _Where) -> None:
        ratios = np.log2((target + _RATIO_SLACK) / (source + _RATIO_SLACK)) * _RATIO_STEPS
        steps = np.clip(np.rint(ratios), -_RATIO_RANGE, _RATIO_RANGE).astype(np.int64) + _RATIO_RANGE
        self._counts += np.bincount(steps, minlength=len(self._counts))
        for sign, extremes in zip((1, -1), self._extremes, strict=True):
            order = np.argsort(sign * steps, kind="stable")[:EXAMPLES]
            extremes += [(int(steps[row]), where.spot(int(rows[row]), 0)) for row in order]
            extremes.sort(key=lambda extreme: sign * extreme[0])
            del extremes[EXAMPLES:]

    def outliers(self) -> Seen:
        running = np.cumsum(self._counts)
        usual = int(np.searchsorted(running, running[-1] / 2))
        far = round(np.log2(RATIO) * _RATIO_STEPS)
        places = np.arange(len(self._counts))
        seen = Seen()
        extremes = sorted(self._extremes[0] + self._extremes[1], key=lambda extreme: -abs(extreme[0] - usual))
        spots = [spot for step, spot in extremes if abs(step - usual) > far]
        seen.add(int(self._counts[abs(places - usual) > far].sum()), spots)
        return seen
