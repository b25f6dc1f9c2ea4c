"""Finds repeated pairs, sources with several targets, and validation or test data that is also in the training data.

Each pair is stored as two 64-bit hashes and its location, in one of 64 temporary files on disk. The hash of the source
selects the file, so equal sources are in the same file. At the end the files are sorted one after the other, so that
only one of them is in memory at a time.
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO

import numpy as np
from numpy.typing import NDArray

from regard.data.code_points import Numbers

_FILES = 64

_RECORD = np.dtype([("source", "u8"), ("target", "u8"), ("split", "u1"), ("corpus", "u4"), ("line", "u8")])

Records = NDArray[np.void]

Location = tuple[int, int]  # index of the corpus, and line number


@dataclass
class Matches:
    """The number of matches, and the first few of them as examples.

    An example has two locations: that of a pair, and that of the pair that it matches.
    """

    count: int = 0
    examples: list[tuple[Location, Location]] = field(default_factory=list)

    def add(self, later: Records, earlier: Records, max_examples: int) -> None:
        self.count += len(later)
        first = np.lexsort((later["line"], later["corpus"]))[:max_examples]
        self.examples += [
            (_location(repeated), _location(original))
            for repeated, original in zip(later[first], earlier[first], strict=True)
        ]
        self.examples = sorted(self.examples)[:max_examples]


@dataclass
class Duplicates:
    """All duplicates. The keys are the numbers of the splits; split 0 is the training data."""

    pairs: dict[int, Matches] = field(default_factory=dict)
    several_targets: Matches = field(default_factory=Matches)  # training sources with several targets, counted once
    pairs_in_training: dict[int, Matches] = field(default_factory=dict)
    # Pairs whose source is in the training data, but only with other targets.
    sources_in_training: dict[int, Matches] = field(default_factory=dict)


class DuplicateIndex:
    """An index that takes pairs block by block, then finds all duplicates. It must be closed at the end."""

    def __init__(self) -> None:
        self._files: list[IO[bytes]] = [tempfile.TemporaryFile() for _ in range(_FILES)]  # noqa: SIM115 (see close)

    def close(self) -> None:
        for file in self._files:
            file.close()

    def add(self, split: int, corpus: int, lines: Numbers, sources: Sequence[str], targets: Sequence[str]) -> None:
        """Add pairs. Split 0 is the training data."""
        records = np.zeros(len(lines), _RECORD)
        records["source"], records["target"] = hashes(sources), hashes(targets)
        records["split"], records["corpus"], records["line"] = split, corpus, lines
        files = records["source"] >> np.uint64(64 - _FILES.bit_length() + 1)
        records = records[np.argsort(files, kind="stable")]
        ends = np.cumsum(np.bincount(files, minlength=_FILES))
        for file, own in zip(self._files, np.split(records, ends[:-1]), strict=True):
            file.write(own.tobytes())

    def find(self, splits: int, max_examples: int) -> Duplicates:
        """Return all duplicates, with at most `max_examples` examples of each kind."""
        duplicates = Duplicates(
            pairs={split: Matches() for split in range(splits)},
            pairs_in_training={split: Matches() for split in range(1, splits)},
            sources_in_training={split: Matches() for split in range(1, splits)},
        )
        for records in self._sorted():
            _find_within_splits(records, duplicates, max_examples)
            _find_in_training(records, duplicates, max_examples)
        return duplicates

    def _sorted(self) -> Iterator[Records]:
        for file in self._files:
            file.seek(0)
            records = np.frombuffer(file.read(), _RECORD)
            order = np.lexsort(tuple(records[name] for name in ("line", "corpus", "split", "target", "source")))
            yield records[order]


def hashes(texts: Sequence[str]) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each text.

    Python uses a different random seed for string hashes in every process. So an input file cannot be made to cause
    collisions, but the hashes are not valid in another process.
    """
    return np.fromiter(map(hash, texts), np.int64, len(texts)).view(np.uint64)


def _find_within_splits(records: Records, duplicates: Duplicates, max_examples: int) -> None:
    """Add to `duplicates` the repeated pairs, and the sources with several targets.

    `records` must be sorted by source, target, split, corpus and line.
    """
    for split, matches in duplicates.pairs.items():
        own = records[records["split"] == split]
        repeats = _equals_previous(own, "source", "target")
        matches.add(own[1:][repeats], own[:-1][repeats], max_examples)
        if split == 0:
            distinct = own[np.concatenate([np.ones(min(1, len(own)), bool), ~repeats])]
            distinct = distinct[np.lexsort((distinct["line"], distinct["corpus"], distinct["source"]))]
            same_source = _equals_previous(distinct, "source")
            first = same_source & ~np.concatenate([np.zeros(min(1, len(same_source)), bool), same_source[:-1]])
            duplicates.several_targets.add(distinct[1:][first], distinct[:-1][first], max_examples)


def _find_in_training(records: Records, duplicates: Duplicates, max_examples: int) -> None:
    """Add to `duplicates` the pairs and sources of the other splits that are also in the training data.

    `records` must be sorted by source, target, split, corpus and line.
    """
    # Among equal pairs, those of the training data (split 0) come first. So if the first of several equal pairs is not
    # in the training data, none of them is.
    for split in duplicates.pairs_in_training:
        both = records[np.isin(records["split"], (0, split))]
        by_pair, by_source = (_first_of_group(both, names) for names in (("source", "target"), ("source",)))
        training = np.flatnonzero(both["split"] == 0)
        training_source = _first_member_of_group(by_source, training)
        same_pair = (both["split"] == split) & (both["split"][by_pair] == 0)
        same_source = (both["split"] == split) & ~same_pair & (training_source >= 0)
        duplicates.pairs_in_training[split].add(both[same_pair], both[by_pair[same_pair]], max_examples)
        duplicates.sources_in_training[split].add(both[same_source], both[training_source[same_source]], max_examples)


def _location(record: np.void) -> Location:
    return int(record["corpus"]), int(record["line"])


def _equals_previous(records: Records, *names: str) -> NDArray[np.bool_]:
    """Return for each record except the first whether it equals the previous record in the fields `names`."""
    equal = np.ones(max(0, len(records) - 1), np.bool_)
    for name in names:
        equal &= records[name][1:] == records[name][:-1]
    return equal


def _first_of_group(records: Records, names: tuple[str, ...]) -> Numbers:
    """Return for each record the index of the first record that equals it in the fields `names`."""
    indices = np.arange(len(records))
    indices[1:][_equals_previous(records, *names)] = 0
    return np.maximum.accumulate(indices)


def _first_member_of_group(groups: Numbers, members: Numbers) -> Numbers:
    """Return for each record the first index in `members` whose record is in the same group; -1 if there is none.

    `groups` is a result of `_first_of_group`.
    """
    result = np.full(len(groups), -1)
    result[groups[members][::-1]] = members[::-1]
    return result[groups]
