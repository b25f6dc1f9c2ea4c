"""All texts of a run gathered in one folder, validation pairs held out, read through memory maps.

The folder is written whole or not at all, and found again when nothing changed. No step needs more memory for a
larger corpus. `prepare_texts` is a generator that reports how far it is and returns what it opened: use `yield from`.
"""

import hashlib
import heapq
import struct
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TextIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from regard import files
from regard.data.pairs import Corpus, Pairs, holds_several
from regard.data.records import Fault, Pair, Record
from regard.errors import DataError

Part = Literal["train", "valid"]
Side = Literal["source", "target"]

PARTS: tuple[Part, ...] = ("train", "valid")
SIDES: tuple[Side, ...] = ("source", "target")
UNREADABLE = "unreadable.tsv"  # what was no pair: file, line, reason
_FORMAT = 2
_MOST_HELD_OUT = 1000
_REPORT_EVERY = 50_000
_PAIRS_AT_ONCE = 10_000
_BYTES_AT_ONCE = 1 << 23
_SAMPLE_BYTES = 1 << 25  # more hardly makes better pieces, and finding them takes many times as much memory
_NUMBER = struct.Struct("=q")
_TWO_NUMBERS = struct.Struct("=qq")
Result = TypeVar("Result")
Work = Generator["Preparing", None, Result]


@dataclass(frozen=True)
class Preparing:
    """How far a stage is, in bytes or lines."""

    stage: str
    done: int
    total: int


class TextPairs:
    """The pairs of one part as texts, in memory maps. Lines keep their `\\n`, so the files are readable too."""

    def __init__(self, folder: Path, corpora: Sequence[Sequence[str]]) -> None:
        self._corpora = corpora
        self._lines = map_file(folder / "lines", "int64").reshape(-1, 2)
        self._texts = {side: map_file(folder / f"{side}.txt", "uint8") for side in SIDES}
        self._offsets = {side: map_file(folder / f"{side}.offsets", "int64") for side in SIDES}

    def __len__(self) -> int:
        return len(self._lines)

    def source(self, index: int) -> str:
        return self.texts("source", index, index + 1)[0]

    def target(self, index: int) -> str:
        return self.texts("target", index, index + 1)[0]

    def texts(self, side: Side, start: int, stop: int) -> list[str]:
        """The texts of pairs start to stop, in one read."""
        if not 0 <= start < stop <= len(self):
            raise IndexError(f"pairs {start} to {stop} of {len(self)}")
        first, end = self._offsets[side][start], self._offsets[side][stop]
        return self._texts[side][first : end - 1].tobytes().decode("utf-8").split("\n")

    def origin(self, index: int, side: Side = "source") -> tuple[str, int]:
        """The name of the input file and the line a text came from."""
        corpus, line = (int(number) for number in self._lines[index])
        return self._corpora[corpus][0 if side == "source" else -1], line

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Starts and stops of runs of pairs that fit in memory, however long their lines."""
        start = 0
        while start < len(self):
            source, target = (self._offsets[side][start : start + _PAIRS_AT_ONCE + 1] for side in SIDES)
            ends = source + target
            fitting = int(np.searchsorted(ends[1:] - ends[0], _BYTES_AT_ONCE, side="right"))
            stop = start + max(1, fitting)
            yield start, stop
            start = stop

    def lines(self, start: int, stop: int) -> NDArray[np.int64]:
        """Corpus and line number of pairs start to stop."""
        return self._lines[start:stop]

    def sentences(self, *, most: int = _SAMPLE_BYTES) -> Iterator[str]:
        """Both sides of evenly spread pairs, about `most` bytes together: what a tokenizer is trained on."""
        total = sum(int(self._offsets[side][-1]) for side in SIDES)
        pairs = min(len(self), max(1, len(self) * most // total))
        for number in range(pairs):
            index = number * len(self) // pairs
            yield self.source(index)
            yield self.target(index)


class Texts:
    """All pairs of a run as texts, and the facts about them in `info`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.info: dict[str, Any] = files.read_json(folder / "info.json")
        names = {part: [[file["name"] for file in corpus] for corpus in self.info["inputs"][part]] for part in PARTS}
        self.train = TextPairs(folder / "train", names["train"])
        self.valid = TextPairs(folder / "valid", names["train" if self.held_out else "valid"])

    @property
    def held_out(self) -> bool:
        """Whether the validation pairs were taken from the training data."""
        return not self.info["inputs"]["valid"]

    @property
    def words(self) -> int:
        """Words of both sides of the training pairs, by white space."""
        train = self.info["train"]
        return int(train["source_words"]) + int(train["target_words"])


def finished(work: Work[Result]) -> Result:
    """What some work comes to, when nobody watches."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: Result = end.value
            return result


def prepare_texts(folder: Path, train: Sequence[Corpus], valid: Sequence[Corpus], *, seed: int) -> Work[Texts]:
    """Gather all pairs in `folder`. Without `valid`, hold out some source sentences of `train` with all their pairs."""
    if not train:
        raise DataError("there is nothing to train on; give a source and a target file, or a .tsv file")
    inputs = {"train": (yield from describe(train)), "valid": (yield from describe(valid))}
    # A file that holds several languages gives other texts when asked for others.
    chosen = [list(one.languages) for one in (*train, *valid) if one.languages and holds_several(one)] or None
    wanted = {"format": _FORMAT, "inputs": inputs, "languages": chosen, "seed": seed}
    if reusable(folder, wanted):
        return Texts(folder)
    held_out = frozenset[int]() if valid else (yield from _choose_held_out(train, seed))
    with files.new_folder(folder) as new:
        facts: dict[str, Any]
        with ExitStack() as stack:
            writers = {part: _TextWriter(new / part, stack) for part in PARTS}
            unreadable = stack.enter_context((new / UNREADABLE).open("w", encoding="utf-8", newline="\n"))
            yield from _write_texts(train, writers, "train", held_out, seed, unreadable)
            yield from _write_texts(valid, writers, "valid", frozenset(), seed, unreadable)
            facts = {part: writers[part].facts() for part in PARTS}
        files.write_json(new / "info.json", {**wanted, **facts})
        seal(new)
    return Texts(folder)


def describe(corpora: Sequence[Corpus]) -> Work[list[list[dict[str, str]]]]:
    """Name and SHA-256 of every file of every corpus, in order."""
    total = _size(corpora)
    done = 0
    described = []
    for corpus in corpora:
        entry = []
        for path in corpus.paths:
            entry.append({"name": path.name, "sha256": files.sha256(path)})
            done += path.stat().st_size
            yield Preparing("hashing", done, total)
        described.append(entry)
    return described


def _size(corpora: Sequence[Corpus]) -> int:
    return sum(path.stat().st_size for corpus in corpora for path in corpus.paths)


def map_file(path: Path, kind: str) -> NDArray[Any]:
    """A file of numbers, read from disk only where it is looked at."""
    return np.asarray(np.memmap(path, np.dtype(kind), mode="r"))


def reusable(folder: Path, wanted: dict[str, Any]) -> bool:
    """Whether `folder` is whole and was made from what is wanted now."""
    if not folder.is_dir() or files.damage(folder) is not None:
        return False
    info = files.read_json(folder / "info.json")
    return all(info.get(name) == value for name, value in wanted.items())


def seal(folder: Path) -> None:
    """Write the manifest of all files below `folder`."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    files.write_manifest(folder, names)


def _choose_held_out(train: Sequence[Corpus], seed: int) -> Work[frozenset[int]]:
    """Hashes of the source sentences to hold out: about 5 % of the pairs, at most 1,000.

    The sources of smallest hash are a random sample that fits in constant memory, however large the corpus.
    """
    pairs = 0
    counts: dict[int, int] = {}
    largest_first: list[int] = []  # the keys of `counts`, negated: a heap
    for _, pair, report in read_all("choosing validation pairs", train):
        if report is not None:
            yield report
        if isinstance(pair, Fault) or not pair.source.strip() or not pair.target.strip():
            continue
        pairs += 1
        hashed = _hash(pair.source, seed)
        if hashed in counts:
            counts[hashed] += 1
        elif len(counts) < _MOST_HELD_OUT:
            counts[hashed] = 1
            heapq.heappush(largest_first, -hashed)
        elif hashed < -largest_first[0]:
            # What falls out here can never come back, so the counts that stay are complete.
            del counts[-heapq.heappushpop(largest_first, -hashed)]
            counts[hashed] = 1
    if len(counts) < 2:
        raise DataError(
            f"validation pairs are held out by source sentence, which needs at least 2 different source sentences, "
            f"but there {'is only 1' if counts else 'is none'}; add pairs, or give validation files with --valid"
        )
    return _pick(counts, at_most=max(1, min(_MOST_HELD_OUT, pairs // 20)))


def _pick(counts: dict[int, int], *, at_most: int) -> frozenset[int]:
    """Sources in the order of their hashes, as long as their pairs fit in; the rarest if none does."""
    chosen: list[int] = []
    room = at_most
    for hashed in sorted(counts):
        if counts[hashed] <= room:
            chosen.append(hashed)
            room -= counts[hashed]
    return frozenset(chosen or [min(counts, key=lambda hashed: (counts[hashed], hashed))])


def _hash(source: str, seed: int) -> int:
    return int.from_bytes(hashlib.blake2b(source.encode(), digest_size=8, key=str(seed).encode()).digest())


def read_all(stage: str, corpora: Sequence[Corpus]) -> Iterator[tuple[int, Record, Preparing | None]]:
    """All pairs and faults with the number of their corpus, and now and then a report to pass on."""
    total, before = _size(corpora), 0
    for number, corpus in enumerate(corpora):
        reading = Pairs(corpus)
        for count, record in enumerate(reading, start=1):
            due = count % _REPORT_EVERY == 0
            yield number, record, Preparing(stage, before + reading.bytes_read, total) if due else None
        before += reading.bytes_read


def _write_texts(
    corpora: Sequence[Corpus],
    writers: dict[Part, "_TextWriter"],
    part: Part,
    held_out: frozenset[int],
    seed: int,
    unreadable: TextIO,
) -> Work[None]:
    for number, record, report in read_all(f"reading {part} texts", corpora):
        if report is not None:
            yield report
        if isinstance(record, Fault):
            unreadable.write(f"{record.path.name}\t{record.line}\t{record.reason}\n")
        else:
            goes_to = "valid" if held_out and _hash(record.source, seed) in held_out else part
            writers[goes_to].write(number, record)


class _TextWriter:
    """Writes the files that `TextPairs` reads."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        folder.mkdir()
        self._lines = stack.enter_context((folder / "lines").open("wb"))
        self._sides = tuple(_TextSide(folder, side, stack) for side in SIDES)
        self._pairs = 0

    def write(self, corpus: int, pair: Pair) -> None:
        self._lines.write(_TWO_NUMBERS.pack(corpus, pair.line))
        self._sides[0].write(pair.source)
        self._sides[1].write(pair.target)
        self._pairs += 1

    def facts(self) -> dict[str, int]:
        words = {f"{side}_words": writer.words for side, writer in zip(SIDES, self._sides, strict=True)}
        return {"pairs": self._pairs, **words}


class _TextSide:
    def __init__(self, folder: Path, side: Side, stack: ExitStack) -> None:
        self._text = stack.enter_context((folder / f"{side}.txt").open("wb"))
        self._offsets = stack.enter_context((folder / f"{side}.offsets").open("wb"))
        self._offsets.write(_NUMBER.pack(0))
        self._bytes = 0
        self.words = 0

    def write(self, text: str) -> None:
        self._bytes += self._text.write(text.encode() + b"\n")
        self._offsets.write(_NUMBER.pack(self._bytes))
        self.words += len(text.split())
