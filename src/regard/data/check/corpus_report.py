"""The report on a corpus before anyone trains on it: one pass over the files, in constant memory.

What cannot be trained on at all is an error. All else is counted, with examples by file and line; nothing is changed.
`check` is a generator that reports how far it is and returns the report.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from regard.data.check.corpus_statistics import EXAMPLES, RATIO, CorpusStatistics, Lengths, Profile, Spot
from regard.data.check.duplicates import DuplicateIndex, Found, hashes
from regard.data.check.near_duplicates import MOST as MOST_NEAR
from regard.data.check.near_duplicates import NearDuplicateIndex
from regard.data.formats.corpus import Corpus
from regard.data.formats.pairs import read_all
from regard.data.formats.records import SIDES, InvalidRecord, Pair
from regard.errors import DataError
from regard.progress import Work

SPLITS = ("training", "validation", "test")

_PAIRS_AT_ONCE = 4096

_CHARACTERS_AT_ONCE = 1 << 20

_SHOWN = 60

# What train does with such pairs, or what they may do to it.
MEANINGS = {
    "unreadable": "no pairs; left out",
    "source empty": "left out",
    "target empty": "left out",
    "duplicates": "the same pair stands before; kept, and learnt more often",
    "sources with several targets": "kept; the model cannot know which is meant",
    "copied": "source and target are the same; kept, and they teach to leave text untranslated",
    "odd lengths": f"one side is more than {RATIO:g} times as long as usual beside the other; kept; often misaligned",
    "source in another script": "kept; often the wrong language",
    "target in another script": "kept; often the wrong language",
    "control characters": "kept; seldom meant",
    "line separators": "U+0085, U+2028 or U+2029 inside a line; kept, other tools may see two lines",
    "direction marks": "kept; invisible, they turn the order of what follows",
    "replacement characters": "U+FFFD: a character was lost before; kept",
    "byte order marks": "U+FEFF inside the text; kept",
    "swapped sides": "source and target seem to be exchanged; check the order of the files",
    "pairs also in training": "scores on them flatter",
    "sources also in training": "with another target; scores on them flatter",
    "sources nearly in training": "eight words or more, the same but for one; scores on them flatter",
}

LEFT_OUT = ("unreadable", "source empty", "target empty")

_ALWAYS_NOTABLE = ("swapped sides", "pairs also in training", "sources also in training")

_NEVER_NOTABLE = (*LEFT_OUT, "sources with several targets")


@dataclass(frozen=True)
class Example:
    """One case: where, and what."""

    file: str
    line: int
    text: str


@dataclass(frozen=True)
class Finding:
    """Something seen in one part of the data, how often, and where first."""

    kind: str
    split: str
    count: int
    meaning: str
    examples: tuple[Example, ...]

    def sentence(self) -> str:
        """The finding in one line."""
        first = f"{self.examples[0].file}:{self.examples[0].line}"
        return f"{self.split} data: {self.count:,} {self.kind} ({self.meaning}); the first is {first}"


@dataclass(frozen=True)
class CorpusFacts:
    """One corpus as given."""

    name: str
    split: str
    weight: float
    pairs: int
    unreadable: int


@dataclass(frozen=True)
class SplitFacts:
    """The pairs of one part; lengths by side, in characters and words."""

    name: str
    pairs: int
    lengths: dict[str, dict[str, Lengths]]


@dataclass(frozen=True)
class CorpusReport:
    """What was seen."""

    corpora: tuple[CorpusFacts, ...]
    splits: tuple[SplitFacts, ...]
    findings: tuple[Finding, ...]

    def notable(self) -> list[Finding]:
        """What deserves a word before training: what deceives, and what is in more than ten and one in a hundred."""
        most = {part.name: max(10, part.pairs / 100) for part in self.splits}
        return [
            found
            for found in self.findings
            if found.kind in _ALWAYS_NOTABLE or (found.kind not in _NEVER_NOTABLE and found.count > most[found.split])
        ]


def check_corpora(
    train: Sequence[Corpus], valid: Sequence[Corpus] = (), test: Sequence[Corpus] = ()
) -> Work[CorpusReport]:
    """Look at every pair of the three parts."""
    with closing(_Check((train, valid, test))) as work:
        # The other parts first: training texts are compared with them as they pass by.
        for part in (1, 2, 0):
            yield from work.read(part)
        return work.report()


class _Check:
    """The state of a check."""

    def __init__(self, parts: tuple[Sequence[Corpus], ...]) -> None:
        self._parts = parts
        self._corpora = [corpus for part in parts for corpus in part]
        self._first = [0, len(parts[0]), len(parts[0]) + len(parts[1])]
        self._pairs = [0] * len(self._corpora)
        self._faults: list[list[InvalidRecord]] = [[] for _ in self._corpora]
        self._fault_counts = [0] * len(self._corpora)
        self._profiles = [Profile() for _ in self._corpora]
        self._tallies = [CorpusStatistics() for _ in parts]
        self._full = 0  # training pairs with text on both sides
        self._repeats = DuplicateIndex()
        self._overlaps = [_Overlap() for _ in parts]

    def close(self) -> None:
        self._repeats.close()

    def read(self, part: int) -> Work[None]:
        """Look at all pairs of a part."""
        pairs: list[Pair] = []
        corpus = characters = 0
        for number, record, progress in read_all(f"checking {SPLITS[part]} texts", self._parts[part]):
            if progress is not None:
                yield progress
            if number != corpus or len(pairs) == _PAIRS_AT_ONCE or characters > _CHARACTERS_AT_ONCE:
                self._add(part, corpus, pairs)
                pairs, corpus, characters = [], number, 0
            if isinstance(record, InvalidRecord):
                self._add_fault(self._first[part] + number, record)
            else:
                pairs.append(record)
                characters += len(record.source) + len(record.target)
        self._add(part, corpus, pairs)

    def _add_fault(self, corpus: int, fault: InvalidRecord) -> None:
        self._fault_counts[corpus] += 1
        if len(self._faults[corpus]) < EXAMPLES:
            self._faults[corpus].append(fault)

    def _add(self, part: int, number: int, pairs: list[Pair]) -> None:
        if not pairs:
            return
        corpus = self._first[part] + number
        self._pairs[corpus] += len(pairs)
        sources, targets, numbers = (list(column) for column in zip(*pairs, strict=True))
        lines = np.array(numbers, np.int64)
        self._tallies[part].add(corpus, lines, (sources, targets), self._profiles[corpus])
        full = [row for row, pair in enumerate(pairs) if pair.source.strip() and pair.target.strip()]
        sources, targets, lines = [sources[row] for row in full], [targets[row] for row in full], lines[full]
        self._repeats.add(part, corpus, lines, sources, targets)
        if part:
            self._overlaps[part].index(corpus, lines.tolist(), sources)
        else:
            self._full += len(full)
            for overlap in self._overlaps[1:]:
                overlap.look(corpus, lines.tolist(), sources)

    def report(self) -> CorpusReport:
        if not self._full:
            raise DataError(
                f"there is nothing to train on: every pair of {', '.join(c.name for c in self._parts[0])} has an empty "
                "side; fill in the texts, or give other files"
            )
        return CorpusReport(
            corpora=tuple(self._facts()),
            splits=tuple(
                SplitFacts(name, tally.pairs, {side: tally.lengths(side) for side in SIDES})
                for name, tally in zip(SPLITS, self._tallies, strict=True)
                if tally.pairs
            ),
            findings=tuple(self._findings()),
        )

    def _facts(self) -> Iterator[CorpusFacts]:
        number = 0
        for part, corpora in zip(SPLITS, self._parts, strict=True):
            for corpus in corpora:
                yield CorpusFacts(corpus.name, part, corpus.weight, self._pairs[number], self._fault_counts[number])
                number += 1

    def _findings(self) -> Iterator[Finding]:
        repetition = self._repeats.find(len(SPLITS), EXAMPLES)
        for number, (part, tally) in enumerate(zip(SPLITS, self._tallies, strict=True)):
            yield from self._unreadable(number)
            for kind, seen in tally.seen.items():
                yield from self._made(kind, part, seen.count, seen.spots)
            for side, (others, usual) in tally.other_scripts().items():
                yield from self._made(f"{side} in another script", part, others.count, others.spots, f" (not {usual})")
            ratios = tally.odd_ratios()
            yield from self._made("odd lengths", part, ratios.count, ratios.spots)
            yield from self._again("duplicates", part, repetition.duplicates[number], "like")
            if number:
                yield from self._again("pairs also in training", part, repetition.pairs_in_training[number], "is")
                yield from self._again("sources also in training", part, repetition.sources_in_training[number], "is")
                yield from self._again("sources nearly in training", part, self._overlaps[number].found(), "like")
            else:
                yield from self._again("sources with several targets", part, repetition.several_targets, "also at")
        yield from self._swapped()

    def _unreadable(self, part: int) -> Iterator[Finding]:
        own = range(self._first[part], self._first[part] + len(self._parts[part]))
        faults = [fault for corpus in own for fault in self._faults[corpus]][:EXAMPLES]
        count = sum(self._fault_counts[corpus] for corpus in own)
        if count:
            examples = tuple(Example(fault.path.name, fault.line, fault.reason) for fault in faults)
            yield Finding("unreadable", SPLITS[part], count, MEANINGS["unreadable"], examples)

    def _made(self, kind: str, part: str, count: int, spots: Sequence[Spot], more: str = "") -> Iterator[Finding]:
        if count:
            examples = tuple(Example(self._file(s.corpus, s.side), s.line, _short(s.text)) for s in spots)
            yield Finding(kind, part, count, MEANINGS[kind] + more, examples)

    def _again(self, kind: str, part: str, found: Found, word: str) -> Iterator[Finding]:
        if found.count:
            examples = tuple(
                Example(self._file(place[0], 0), place[1], f"{word} {self._file(other[0], 0)}:{other[1]}")
                for place, other in found.examples
            )
            yield Finding(kind, part, found.count, MEANINGS[kind], examples)

    def _swapped(self) -> Iterator[Finding]:
        """Corpora whose sides fit crosswise to those of the largest training corpus."""
        largest = max(range(len(self._parts[0])), key=lambda number: self._pairs[number], default=0)
        for number, (facts, profile) in enumerate(zip(self._facts(), self._profiles, strict=True)):
            if number != largest and profile.seems_swapped(self._profiles[largest]):
                example = Example(self._file(number, 0), 1, f"compared with {self._file(largest, 0)}")
                yield Finding("swapped sides", facts.split, facts.pairs, MEANINGS["swapped sides"], (example,))

    def _file(self, corpus: int, side: int) -> str:
        return self._corpora[corpus].paths[-side].name


class _Overlap:
    """The sources of a part that the training data nearly has."""

    def __init__(self) -> None:
        self._sources: list[str] = []
        self._places: list[tuple[int, int]] = []
        self._near: NearDuplicateIndex | None = None
        self._seen: dict[int, tuple[int, int]] = {}
        self._exact: set[int] = set()

    def index(self, corpus: int, lines: Sequence[int], sources: Sequence[str]) -> None:
        room = MOST_NEAR - len(self._sources)
        self._sources += sources[:room]
        self._places += [(corpus, line) for line in lines[:room]]

    def look(self, corpus: int, lines: Sequence[int], sources: Sequence[str]) -> None:
        """Compare training sources with those indexed."""
        if not self._sources:
            return
        if self._near is None:
            self._near = NearDuplicateIndex(self._sources)
            self._hashes = hashes(self._sources)
        rows, owners = self._near.find(sources)
        same = hashes(sources)[rows] == self._hashes[owners]
        self._exact.update(owners[same].tolist())
        for row, owner in zip(rows[~same].tolist(), owners[~same].tolist(), strict=True):
            self._seen.setdefault(owner, (corpus, lines[row]))

    def found(self) -> Found:
        """Those that are near but nowhere the same."""
        near = sorted(self._seen.keys() - self._exact)
        return Found(len(near), [(self._places[owner], self._seen[owner]) for owner in near[:EXAMPLES]])


def _short(text: str) -> str:
    return repr(text[:_SHOWN])[1:-1] + ("…" if len(text) > _SHOWN else "")
