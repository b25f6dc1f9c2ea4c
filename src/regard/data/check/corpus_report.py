"""The check of all data of a run before training, in one pass over the files and in constant memory.

If there is no usable training pair, an error is raised. All other problems are counted and reported with the file and
line of a few examples. The data is not changed. `check_corpora` is a generator that yields progress and returns the
report.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regard.data.check.corpus_statistics import EXAMPLES, MAX_RATIO, CorpusStatistics, Lengths, Occurrences, Profile
from regard.data.check.duplicates import DuplicateIndex, Matches, hashes
from regard.data.check.near_duplicates import MAX_TEXTS, NearDuplicateIndex
from regard.data.formats.corpus import Corpus
from regard.data.formats.lines import shown_path
from regard.data.formats.pairs import read_all
from regard.data.formats.records import SIDES, InvalidRecord, Pair
from regard.errors import DataError
from regard.progress import Work

SPLITS = ("training", "validation", "test")

_PAIRS_AT_ONCE = 4096

_CHARACTERS_AT_ONCE = 1 << 20

_EXAMPLE_CHARACTERS = 60

# For each kind of finding: what `regard train` does with such pairs, or how they affect the model or its scores.
MEANINGS = {
    "unreadable": "not valid pairs; left out",
    "source empty": "left out",
    "target empty": "left out",
    "duplicates": "the same pair occurs earlier; kept, and trained on more often",
    "sources with several targets": "kept; the model cannot know which target is wanted",
    "copied": "source and target are the same; kept; they teach the model to leave text untranslated",
    "odd lengths": f"one side is more than {MAX_RATIO:g} times as long as usual for the other; kept; often misaligned",
    "source in another script": "kept; often the wrong language",
    "target in another script": "kept; often the wrong language",
    "control characters": "kept; rarely intended",
    "line separators": "U+0085, U+2028 or U+2029 inside a line; kept; other tools may read two lines",
    "direction marks": "kept; invisible characters that reverse the order of the text after them",
    "replacement characters": "U+FFFD: a character was lost earlier; kept",
    "byte order marks": "U+FEFF inside the text; kept",
    "swapped sides": "source and target seem to be exchanged; check the order of the files",
    "pairs also in training": "scores on them are too high",
    "sources also in training": "with another target; scores on them are too high",
    "near duplicates of training sources": "eight or more words, all but one the same; scores on them are too high",
}

# What one occurrence is called, for the kinds that are plural nouns. The others are adjectives.
SINGULAR = {
    "duplicates": "duplicate",
    "sources with several targets": "source with several targets",
    "odd lengths": "odd length",
    "control characters": "text with control characters",
    "line separators": "text with line separators",
    "direction marks": "text with direction marks",
    "replacement characters": "text with replacement characters",
    "byte order marks": "text with byte order marks",
    "swapped sides": "pair with swapped sides",
    "pairs also in training": "pair also in training",
    "sources also in training": "source also in training",
    "near duplicates of training sources": "near duplicate of a training source",
}

LEFT_OUT = ("unreadable", "source empty", "target empty")

_ALWAYS_WARN = ("swapped sides", "pairs also in training", "sources also in training")

_NEVER_WARN = (*LEFT_OUT, "sources with several targets")


@dataclass(frozen=True)
class Example:
    """One occurrence of a problem: its file, its line, and the text or a description."""

    file: str
    line: int
    text: str


@dataclass(frozen=True)
class Finding:
    """One kind of problem in one split of the data: how often it occurs, and the first few examples."""

    kind: str
    split: str
    count: int
    meaning: str
    examples: tuple[Example, ...]

    def amount(self) -> str:
        """Return the number of occurrences and their kind, such as `1 duplicate` or `2,000 duplicates`."""
        return f"{self.count:,} {SINGULAR.get(self.kind, self.kind) if self.count == 1 else self.kind}"

    def sentence(self) -> str:
        """Return the finding as one line of text."""
        first = f"{self.examples[0].file}:{self.examples[0].line}"
        return f"{self.split} data: {self.amount()} ({self.meaning}); the first is {first}"


@dataclass(frozen=True)
class CorpusFacts:
    """The weight of one corpus, and its number of pairs and unreadable records."""

    name: str
    split: str
    weight: float
    pairs: int
    unreadable: int


@dataclass(frozen=True)
class SplitFacts:
    """The number of pairs of one split, and the text lengths of its source and target, in characters and words."""

    name: str
    pairs: int
    lengths: dict[str, dict[str, Lengths]]


@dataclass(frozen=True)
class CorpusReport:
    """The report on all data of a run."""

    corpora: tuple[CorpusFacts, ...]
    splits: tuple[SplitFacts, ...]
    findings: tuple[Finding, ...]

    def warnings(self) -> list[Finding]:
        """Return the findings to show before training.

        Some kinds are always shown and some never. The others are shown if they occur more than 10 times and in more
        than 1 % of the pairs of a split.
        """
        limits = {split.name: max(10, split.pairs / 100) for split in self.splits}
        return [
            finding
            for finding in self.findings
            if finding.kind in _ALWAYS_WARN
            or (finding.kind not in _NEVER_WARN and finding.count > limits[finding.split])
        ]


def check_corpora(
    train: Sequence[Corpus], valid: Sequence[Corpus] = (), test: Sequence[Corpus] = ()
) -> Work[CorpusReport]:
    """Check every pair of the three splits."""
    with closing(_Check((train, valid, test))) as check:
        # The training data is read last, because its pairs are compared with those of the other splits.
        for split in (1, 2, 0):
            yield from check.read(split)
        return check.report()


class _Check:
    """The counts and statistics collected during a check."""

    def __init__(self, splits: tuple[Sequence[Corpus], ...]) -> None:
        self._splits = splits
        self._corpora = [corpus for split in splits for corpus in split]
        self._first_corpus = [0, len(splits[0]), len(splits[0]) + len(splits[1])]
        self._pairs = [0] * len(self._corpora)
        self._invalid: list[list[InvalidRecord]] = [[] for _ in self._corpora]
        self._invalid_counts = [0] * len(self._corpora)
        self._profiles = [Profile() for _ in self._corpora]
        self._statistics = [CorpusStatistics() for _ in splits]
        self._nonempty_pairs = 0  # number of training pairs with text on both sides
        self._duplicates = DuplicateIndex()
        self._overlaps = [_Overlap() for _ in splits]

    def close(self) -> None:
        self._duplicates.close()

    def read(self, split: int) -> Work[None]:
        """Read and check all pairs of a split; `split` is an index into SPLITS."""
        pairs: list[Pair] = []
        corpus = characters = 0
        for number, record, progress in read_all(f"checking {SPLITS[split]} texts", self._splits[split]):
            if progress is not None:
                yield progress
            if number != corpus or len(pairs) == _PAIRS_AT_ONCE or characters > _CHARACTERS_AT_ONCE:
                self._add(split, corpus, pairs)
                pairs, corpus, characters = [], number, 0
            if isinstance(record, InvalidRecord):
                self._add_invalid(self._first_corpus[split] + number, record)
            else:
                pairs.append(record)
                characters += len(record.source) + len(record.target)
        self._add(split, corpus, pairs)

    def _add_invalid(self, corpus: int, record: InvalidRecord) -> None:
        self._invalid_counts[corpus] += 1
        if len(self._invalid[corpus]) < EXAMPLES:
            self._invalid[corpus].append(record)

    def _add(self, split: int, number: int, pairs: list[Pair]) -> None:
        if not pairs:
            return
        corpus = self._first_corpus[split] + number
        self._pairs[corpus] += len(pairs)
        sources, targets, numbers = (list(column) for column in zip(*pairs, strict=True))
        lines = np.array(numbers, np.int64)
        self._statistics[split].add(corpus, lines, (sources, targets), self._profiles[corpus])
        rows = [row for row, pair in enumerate(pairs) if pair.source.strip() and pair.target.strip()]
        sources, targets, lines = [sources[row] for row in rows], [targets[row] for row in rows], lines[rows]
        self._duplicates.add(split, corpus, lines, sources, targets)
        if split:
            self._overlaps[split].index(corpus, lines.tolist(), sources)
        else:
            self._nonempty_pairs += len(rows)
            for overlap in self._overlaps[1:]:
                overlap.compare(corpus, lines.tolist(), sources)

    def report(self) -> CorpusReport:
        if not self._nonempty_pairs:
            names = ", ".join(corpus.name for corpus in self._splits[0])
            raise DataError(
                f"there is nothing to train on: every pair of {names} has an empty side; fill in the texts, or give "
                "other files"
            )
        return CorpusReport(
            corpora=tuple(self._facts()),
            splits=tuple(
                SplitFacts(name, statistics.pairs, {side: statistics.lengths(side) for side in SIDES})
                for name, statistics in zip(SPLITS, self._statistics, strict=True)
                if statistics.pairs
            ),
            findings=tuple(self._findings()),
        )

    def _facts(self) -> Iterator[CorpusFacts]:
        number = 0
        for split, corpora in zip(SPLITS, self._splits, strict=True):
            for corpus in corpora:
                yield CorpusFacts(corpus.name, split, corpus.weight, self._pairs[number], self._invalid_counts[number])
                number += 1

    def _findings(self) -> Iterator[Finding]:
        duplicates = self._duplicates.find(len(SPLITS), EXAMPLES)
        for number, split in enumerate(SPLITS):
            yield from self._unreadable(number)
            yield from self._unusual(split, self._statistics[number])
            yield from self._matches("duplicates", split, duplicates.pairs[number], "like")
            if number:
                yield from self._matches("pairs also in training", split, duplicates.pairs_in_training[number], "is")
                yield from self._matches(
                    "sources also in training", split, duplicates.sources_in_training[number], "is"
                )
                near = self._overlaps[number].matches()
                yield from self._matches("near duplicates of training sources", split, near, "like")
            else:
                yield from self._matches("sources with several targets", split, duplicates.several_targets, "also at")
        yield from self._swapped()

    def _unreadable(self, split: int) -> Iterator[Finding]:
        first = self._first_corpus[split]
        own = range(first, first + len(self._splits[split]))
        records = [record for corpus in own for record in self._invalid[corpus]][:EXAMPLES]
        count = sum(self._invalid_counts[corpus] for corpus in own)
        if count:
            examples = tuple(
                Example(shown_path(Path(record.path.name)), record.line, record.reason) for record in records
            )
            yield Finding("unreadable", SPLITS[split], count, MEANINGS["unreadable"], examples)

    def _unusual(self, split: str, statistics: CorpusStatistics) -> Iterator[Finding]:
        for kind, occurrences in statistics.occurrences.items():
            yield from self._occurrences(kind, split, occurrences)
        for side, (others, usual) in statistics.other_scripts().items():
            yield from self._occurrences(f"{side} in another script", split, others, f" (not {usual})")
        yield from self._occurrences("odd lengths", split, statistics.unusual_ratios())

    def _occurrences(self, kind: str, split: str, occurrences: Occurrences, detail: str = "") -> Iterator[Finding]:
        if occurrences.count:
            examples = tuple(
                Example(self._file(location.corpus, location.side), location.line, _shorten(location.text))
                for location in occurrences.locations
            )
            yield Finding(kind, split, occurrences.count, MEANINGS[kind] + detail, examples)

    def _matches(self, kind: str, split: str, matches: Matches, word: str) -> Iterator[Finding]:
        if matches.count:
            examples = tuple(
                Example(self._file(corpus, 0), line, f"{word} {self._file(other_corpus, 0)}:{other_line}")
                for (corpus, line), (other_corpus, other_line) in matches.examples
            )
            yield Finding(kind, split, matches.count, MEANINGS[kind], examples)

    def _swapped(self) -> Iterator[Finding]:
        """Yield a finding for each corpus that seems to have the opposite direction of the largest training corpus."""
        largest = max(range(len(self._splits[0])), key=lambda number: self._pairs[number], default=0)
        for number, (facts, profile) in enumerate(zip(self._facts(), self._profiles, strict=True)):
            if number != largest and profile.seems_swapped(self._profiles[largest]):
                example = Example(self._file(number, 0), 1, f"compared with {self._file(largest, 0)}")
                yield Finding("swapped sides", facts.split, facts.pairs, MEANINGS["swapped sides"], (example,))

    def _file(self, corpus: int, side: int) -> str:
        return shown_path(Path(self._corpora[corpus].paths[-side].name))


class _Overlap:
    """Finds the sources of a validation or test split that have near duplicates in the training data."""

    def __init__(self) -> None:
        self._sources: list[str] = []
        self._locations: list[tuple[int, int]] = []
        self._index: NearDuplicateIndex | None = None
        self._near: dict[int, tuple[int, int]] = {}  # source index -> corpus and line of its first near duplicate
        self._exact: set[int] = set()

    def index(self, corpus: int, lines: Sequence[int], sources: Sequence[str]) -> None:
        """Add sources of the validation or test split. Only the first MAX_TEXTS sources are kept."""
        remaining = MAX_TEXTS - len(self._sources)
        self._sources += sources[:remaining]
        self._locations += [(corpus, line) for line in lines[:remaining]]

    def compare(self, corpus: int, lines: Sequence[int], sources: Sequence[str]) -> None:
        """Compare training sources with the sources of the validation or test split."""
        if not self._sources:
            return
        if self._index is None:
            self._index = NearDuplicateIndex(self._sources)
            self._hashes = hashes(self._sources)
        rows, owners = self._index.find(sources)
        is_exact = hashes(sources)[rows] == self._hashes[owners]
        self._exact.update(owners[is_exact].tolist())
        for row, owner in zip(rows[~is_exact].tolist(), owners[~is_exact].tolist(), strict=True):
            self._near.setdefault(owner, (corpus, lines[row]))

    def matches(self) -> Matches:
        """Return the sources that have a near duplicate but no exact duplicate in the training data."""
        near = sorted(self._near.keys() - self._exact)
        return Matches(len(near), [(self._locations[owner], self._near[owner]) for owner in near[:EXAMPLES]])


def _shorten(text: str) -> str:
    return repr(text[:_EXAMPLE_CHARACTERS])[1:-1] + ("…" if len(text) > _EXAMPLE_CHARACTERS else "")
