"""All texts of a run gathered in one folder, validation pairs held out, read through memory maps.

The folder is written whole or not at all, and found again when nothing changed. No step needs more memory for a
larger corpus. `prepare_texts` is a generator that reports how far it is and returns what it opened: use `yield from`.
"""

import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, TextIO

import numpy as np
from numpy.typing import NDArray

from regard.data.formats.corpus import Corpus, has_several_languages, total_bytes
from regard.data.formats.pairs import read_all
from regard.data.formats.records import SIDES, InvalidRecord, Pair, Side
from regard.data.prepare.holdout import choose_held_out, hash_source
from regard.data.prepare.ragged import map_file
from regard.errors import DataError
from regard.progress import Progress, Work
from regard.storage import atomic_files, json_files, manifest
from regard.storage.manifest import is_up_to_date, write_folder_manifest

Split = Literal["train", "valid"]

SPLITS: tuple[Split, ...] = ("train", "valid")

UNREADABLE = "unreadable.tsv"  # what was no pair: file, line, reason

_FORMAT = 2

_PAIRS_AT_ONCE = 10_000

_BYTES_AT_ONCE = 1 << 23

_SAMPLE_BYTES = 1 << 25  # more hardly makes better pieces, and finding them takes many times as much memory

_NUMBER = struct.Struct("=q")

_TWO_NUMBERS = struct.Struct("=qq")


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


class TextStore:
    """All pairs of a run as texts, and the facts about them in `info`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.info: dict[str, Any] = json_files.read_json(folder / "info.json")
        names = {part: [[file["name"] for file in corpus] for corpus in self.info["inputs"][part]] for part in SPLITS}
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


def build_text_store(folder: Path, train: Sequence[Corpus], valid: Sequence[Corpus], *, seed: int) -> Work[TextStore]:
    """Gather all pairs in `folder`. Without `valid`, hold out some source sentences of `train` with all their pairs."""
    if not train:
        raise DataError("there is nothing to train on; give a source and a target file, or a .tsv file")
    inputs = {"train": (yield from hash_inputs(train)), "valid": (yield from hash_inputs(valid))}
    # A file that holds several languages gives other texts when asked for others.
    chosen = [list(one.languages) for one in (*train, *valid) if one.languages and has_several_languages(one)] or None
    wanted = {"format": _FORMAT, "inputs": inputs, "languages": chosen, "seed": seed}
    if is_up_to_date(folder, wanted):
        return TextStore(folder)
    held_out = frozenset[int]() if valid else (yield from choose_held_out(train, seed))
    with atomic_files.new_folder(folder) as new:
        facts: dict[str, Any]
        with ExitStack() as stack:
            writers = {part: _TextWriter(new / part, stack) for part in SPLITS}
            unreadable = stack.enter_context((new / UNREADABLE).open("w", encoding="utf-8", newline="\n"))
            yield from _write_texts(train, writers, "train", held_out, seed, unreadable)
            yield from _write_texts(valid, writers, "valid", frozenset(), seed, unreadable)
            facts = {part: writers[part].facts() for part in SPLITS}
        json_files.write_json(new / "info.json", {**wanted, **facts})
        write_folder_manifest(new)
    return TextStore(folder)


def hash_inputs(corpora: Sequence[Corpus]) -> Work[list[list[dict[str, str]]]]:
    """Name and SHA-256 of every file of every corpus, in order."""
    total = total_bytes(corpora)
    done = 0
    described = []
    for corpus in corpora:
        entry = []
        for path in corpus.paths:
            entry.append({"name": path.name, "sha256": manifest.sha256(path)})
            done += path.stat().st_size
            yield Progress("hashing", done, total)
        described.append(entry)
    return described


def _write_texts(
    corpora: Sequence[Corpus],
    writers: dict[Split, "_TextWriter"],
    part: Split,
    held_out: frozenset[int],
    seed: int,
    unreadable: TextIO,
) -> Work[None]:
    for number, record, report in read_all(f"reading {part} texts", corpora):
        if report is not None:
            yield report
        if isinstance(record, InvalidRecord):
            unreadable.write(f"{record.path.name}\t{record.line}\t{record.reason}\n")
        else:
            goes_to = "valid" if held_out and hash_source(record.source, seed) in held_out else part
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
