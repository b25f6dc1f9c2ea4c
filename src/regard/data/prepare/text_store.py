"""The text store: a folder with all training and validation texts of a run, read through memory maps.

The folder is written completely or not at all, and reused if the inputs have not changed. Memory use does not depend on
the size of the corpus. `build_text_store` is a generator that yields progress and returns the store: use `yield from`.
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

FileHashes = list[list[dict[str, str]]]  # for each corpus, the name and SHA-256 of each of its files

InputHashes = dict[Split, FileHashes]

UNREADABLE = "unreadable.tsv"  # list of the invalid records, with file, line and reason

_FORMAT = 2

_PAIRS_AT_ONCE = 10_000

_BYTES_AT_ONCE = 1 << 23

# The size of the texts on which a tokenizer is trained. More text hardly improves the tokenizer, and its training needs
# many times as much memory as the text.
_SAMPLE_BYTES = 1 << 25

_NUMBER = struct.Struct("=q")

_TWO_NUMBERS = struct.Struct("=qq")


class TextPairs:
    """The pairs of one split as texts, read through memory maps. The files are ordinary text with one text per line."""

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
        """Return the source or target texts of the pairs from `start` up to, but not including, `stop`."""
        if not 0 <= start < stop <= len(self):
            raise IndexError(f"pairs {start} to {stop} of {len(self)}")
        first, end = self._offsets[side][start], self._offsets[side][stop]
        return self._texts[side][first : end - 1].tobytes().decode("utf-8").split("\n")

    def origin(self, index: int, side: Side = "source") -> tuple[str, int]:
        """Return the name of the input file and the line number of a text."""
        corpus, line = (int(number) for number in self._lines[index])
        return self._corpora[corpus][0 if side == "source" else -1], line

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Yield the start and stop of consecutive blocks of pairs. A block fits in memory even if texts are long."""
        start = 0
        while start < len(self):
            source, target = (self._offsets[side][start : start + _PAIRS_AT_ONCE + 1] for side in SIDES)
            ends = source + target
            fitting = int(np.searchsorted(ends[1:] - ends[0], _BYTES_AT_ONCE, side="right"))
            stop = start + max(1, fitting)
            yield start, stop
            start = stop

    def lines(self, start: int, stop: int) -> NDArray[np.int64]:
        """Return corpus index and line number of each pair from `start` up to, but not including, `stop`."""
        return self._lines[start:stop]

    def sample_texts(self, *, max_bytes: int = _SAMPLE_BYTES) -> Iterator[str]:
        """Yield both sides of evenly spaced pairs, about `max_bytes` in total, to train a tokenizer on."""
        total = sum(int(self._offsets[side][-1]) for side in SIDES)
        pairs = min(len(self), max(1, len(self) * max_bytes // total))
        for number in range(pairs):
            index = number * len(self) // pairs
            yield self.source(index)
            yield self.target(index)


class TextStore:
    """All pairs of a run as texts; `info` has the names and hashes of the input files, and the numbers of pairs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.info: dict[str, Any] = json_files.read_json(folder / "info.json")
        inputs = self.info["inputs"]
        names = {split: [[file["name"] for file in corpus] for corpus in inputs[split]] for split in SPLITS}
        self.train = TextPairs(folder / "train", names["train"])
        self.valid = TextPairs(folder / "valid", names["train" if self.held_out else "valid"])

    @property
    def held_out(self) -> bool:
        """Whether the validation pairs were taken from the training data."""
        return not self.info["inputs"]["valid"]

    @property
    def words(self) -> int:
        """The number of words, separated by white space, on both sides of the training pairs."""
        train = self.info["train"]
        return int(train["source_words"]) + int(train["target_words"])


def build_text_store(
    folder: Path, train: Sequence[Corpus], valid: Sequence[Corpus], *, seed: int, inputs: InputHashes | None = None
) -> Work[TextStore]:
    """Store all pairs as texts in `folder`.

    If `valid` is empty, some source sentences of `train` are held out for validation, with all their pairs. An existing
    store is used if its files have the hashes in its manifest, and if it was made from files with the hashes `inputs`
    (by default, the files are hashed here).
    """
    if not train:
        raise DataError("there is nothing to train on; give a source and a target file, or a .tsv file")
    if inputs is None:
        inputs = {"train": (yield from hash_inputs(train)), "valid": (yield from hash_inputs(valid))}
    # Which texts are read from a file with several languages depends on the chosen languages.
    multilingual = [corpus for corpus in (*train, *valid) if has_several_languages(corpus)]
    languages = [list(corpus.languages) for corpus in multilingual if corpus.languages] or None
    wanted = {"format": _FORMAT, "inputs": inputs, "languages": languages, "seed": seed}
    if is_up_to_date(folder, wanted):
        return TextStore(folder)
    held_out = frozenset[int]() if valid else (yield from choose_held_out(train, seed))
    with atomic_files.new_folder(folder) as new:
        counts: dict[str, Any]
        with ExitStack() as stack:
            writers = {split: _TextWriter(new / split, stack) for split in SPLITS}
            unreadable = stack.enter_context((new / UNREADABLE).open("w", encoding="utf-8", newline="\n"))
            yield from _write_texts(train, writers, "train", held_out, seed, unreadable)
            yield from _write_texts(valid, writers, "valid", frozenset(), seed, unreadable)
            counts = {split: writers[split].counts() for split in SPLITS}
        json_files.write_json(new / "info.json", {**wanted, **counts})
        write_folder_manifest(new)
    return TextStore(folder)


def hash_inputs(corpora: Sequence[Corpus]) -> Work[FileHashes]:
    """Return for each corpus the name and SHA-256 of each of its files."""
    total = total_bytes(corpora)
    done = 0
    hashed_corpora = []
    for corpus in corpora:
        files = []
        for path in corpus.paths:
            files.append({"name": path.name, "sha256": manifest.sha256(path)})
            done += path.stat().st_size
            yield Progress("hashing", done, total)
        hashed_corpora.append(files)
    return hashed_corpora


def _write_texts(
    corpora: Sequence[Corpus],
    writers: dict[Split, "_TextWriter"],
    split: Split,
    held_out: frozenset[int],
    seed: int,
    unreadable: TextIO,
) -> Work[None]:
    for number, record, progress in read_all(f"reading {split} texts", corpora):
        if progress is not None:
            yield progress
        if isinstance(record, InvalidRecord):
            unreadable.write(f"{record.path.name}\t{record.line}\t{record.reason}\n")
        else:
            is_held_out = held_out and hash_source(record.source, seed) in held_out
            writers["valid" if is_held_out else split].write(number, record)


class _TextWriter:
    """A writer of the files that `TextPairs` reads."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        folder.mkdir()
        self._lines = stack.enter_context((folder / "lines").open("wb"))
        self._sides = tuple(_SideWriter(folder, side, stack) for side in SIDES)
        self._pairs = 0

    def write(self, corpus: int, pair: Pair) -> None:
        self._lines.write(_TWO_NUMBERS.pack(corpus, pair.line))
        self._sides[0].write(pair.source)
        self._sides[1].write(pair.target)
        self._pairs += 1

    def counts(self) -> dict[str, int]:
        words = {f"{side}_words": writer.words for side, writer in zip(SIDES, self._sides, strict=True)}
        return {"pairs": self._pairs, **words}


class _SideWriter:
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
