"""What occurs more than once: pairs, sources with several targets, and training texts in the other sets.

Each pair is remembered as two hashes of 64 bits and its place, in one of 64 temporary files on disk, chosen by the
source's hash: equal sources meet in one file. At the end one file at a time is sorted in memory, which so needs a few
bytes per pair.
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO

import numpy as np
from numpy.typing import NDArray

from regard.data.code_points import Numbers

_FILES = 64

_RECORD = np.dtype([("source", "u8"), ("target", "u8"), ("part", "u1"), ("corpus", "u4"), ("line", "u8")])

Records = NDArray[np.void]

Place = tuple[int, int]  # corpus and line


@dataclass
class Found:
    """How many there are, and where the first few are: the place, and that of what it repeats."""

    count: int = 0
    examples: list[tuple[Place, Place]] = field(default_factory=list)

    def add(self, later: Records, earlier: Records, most: int) -> None:
        self.count += len(later)
        first = np.lexsort((later["line"], later["corpus"]))[:most]
        for one, other in zip(later[first], earlier[first], strict=True):
            self.examples.append(((int(one["corpus"]), int(one["line"])), (int(other["corpus"]), int(other["line"]))))
        self.examples = sorted(self.examples)[:most]


@dataclass
class Repetition:
    """What occurs more than once, by part."""

    duplicates: dict[int, Found] = field(default_factory=dict)
    several_targets: Found = field(default_factory=Found)  # sources of part 0, once each
    pairs_in_training: dict[int, Found] = field(default_factory=dict)
    sources_in_training: dict[int, Found] = field(default_factory=dict)  # of pairs that are not in it as they are


class DuplicateIndex:
    """Takes pairs block by block, then tells what occurs more than once. Close it in the end."""

    def __init__(self) -> None:
        self._files: list[IO[bytes]] = [tempfile.TemporaryFile() for _ in range(_FILES)]  # noqa: SIM115 (see close)

    def close(self) -> None:
        for file in self._files:
            file.close()

    def add(self, part: int, corpus: int, lines: Numbers, sources: Sequence[str], targets: Sequence[str]) -> None:
        """Remember pairs. Part 0 is the training data."""
        records = np.zeros(len(lines), _RECORD)
        records["source"], records["target"] = hashes(sources), hashes(targets)
        records["part"], records["corpus"], records["line"] = part, corpus, lines
        files = records["source"] >> np.uint64(64 - _FILES.bit_length() + 1)
        records = records[np.argsort(files, kind="stable")]
        for file, some in zip(
            self._files, np.split(records, np.cumsum(np.bincount(files, minlength=_FILES))[:-1]), strict=True
        ):
            file.write(some.tobytes())

    def find(self, parts: int, most: int) -> Repetition:
        """All repetitions, with at most so many examples of each kind."""
        found = Repetition(
            duplicates={part: Found() for part in range(parts)},
            pairs_in_training={part: Found() for part in range(1, parts)},
            sources_in_training={part: Found() for part in range(1, parts)},
        )
        for records in self._sorted():
            _find_in(records, found, most)
        return found

    def _sorted(self) -> Iterator[Records]:
        for file in self._files:
            file.seek(0)
            records = np.frombuffer(file.read(), _RECORD)
            order = np.lexsort(tuple(records[name] for name in ("line", "corpus", "part", "target", "source")))
            yield records[order]


def hashes(texts: Sequence[str]) -> NDArray[np.uint64]:
    """64 bits of each text. Python's hash is keyed at random: no text can be made to collide, and no run compares."""
    return np.fromiter(map(hash, texts), np.int64, len(texts)).view(np.uint64)


def _find_in(records: Records, found: Repetition, most: int) -> None:
    """Add what repeats among records sorted by source, target, part, corpus and line."""
    for part, duplicates in found.duplicates.items():
        own = records[records["part"] == part]
        again = _equal(own, "source", "target")
        duplicates.add(own[1:][again], own[:-1][again], most)
        if part == 0:
            distinct = own[np.concatenate([np.ones(min(1, len(own)), bool), ~again])]
            distinct = distinct[np.lexsort((distinct["line"], distinct["corpus"], distinct["source"]))]
            other = _equal(distinct, "source")
            first = other & ~np.concatenate([np.zeros(min(1, len(other)), bool), other[:-1]])
            found.several_targets.add(distinct[1:][first], distinct[:-1][first], most)
    # Part 0 comes first among equal pairs, so the first of a group tells whether training has it.
    for part in found.pairs_in_training:
        both = records[np.isin(records["part"], (0, part))]
        by_pair, by_source = (_first_of_group(both, names) for names in (("source", "target"), ("source",)))
        training = np.flatnonzero(both["part"] == 0)
        known = _in_group(by_source, training)
        inside = (both["part"] == part) & (both["part"][by_pair] == 0)
        beside = (both["part"] == part) & ~inside & (known >= 0)
        found.pairs_in_training[part].add(both[inside], both[by_pair[inside]], most)
        found.sources_in_training[part].add(both[beside], both[known[beside]], most)


def _equal(records: Records, *names: str) -> NDArray[np.bool_]:
    """For each record but the first, whether it equals the one before."""
    equal = np.ones(max(0, len(records) - 1), np.bool_)
    for name in names:
        equal &= records[name][1:] == records[name][:-1]
    return equal


def _first_of_group(records: Records, names: tuple[str, ...]) -> Numbers:
    """For each record, the place of the first that equals it."""
    places = np.arange(len(records))
    places[1:][_equal(records, *names)] = 0
    return np.maximum.accumulate(places)


def _in_group(groups: Numbers, members: Numbers) -> Numbers:
    """For each record, the place of the first of `members` in its group; -1 if there is none."""
    result = np.full(len(groups), -1)
    result[groups[members][::-1]] = members[::-1]
    return result[groups]
