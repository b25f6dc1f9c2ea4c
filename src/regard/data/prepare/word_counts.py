"""The word counts of a run: a folder that says how often each word occurs in the training sources.

`regard evaluate` groups sentences by the frequency of their rarest word. Reading all training texts for that would take
long, so the words are counted once, when the data is prepared. The counts are a table of 16 bytes per distinct word,
sorted by the hash of the word, and read through a memory map.
"""

import hashlib
from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.data.code_points import words
from regard.data.prepare.ragged import map_file
from regard.data.prepare.text_store import TextStore
from regard.progress import Progress, Work
from regard.storage import atomic_files, json_files, manifest

_FORMAT = 1

_MIN_PENDING = 1 << 20  # minimum number of counts that are added to the table at once

_ROW = np.dtype([("hash", "uint64"), ("count", "int64")])


class WordCounts:
    """How often each word occurs in the training sources; `sources` is the number of these."""

    def __init__(self, folder: Path) -> None:
        self.sources = int(json_files.read_json(folder / "info.json")["sources"])
        table = folder / "table"
        is_empty = table.stat().st_size == 0  # an empty file cannot be mapped
        self._table = np.empty(0, _ROW) if is_empty else map_file(table, "uint8").view(_ROW)

    def count(self, word: str) -> int:
        """Return how often a word occurs; `words` in `code_points.py` says what a word is."""
        hashed = _hash(word)
        index = int(np.searchsorted(self._table["hash"], np.uint64(hashed)))
        is_known = index < len(self._table) and int(self._table["hash"][index]) == hashed
        return int(self._table["count"][index]) if is_known else 0


def build_word_counts(folder: Path, texts: TextStore) -> Work[None]:
    """Count the words of the training sources, and write the counts to `folder`."""
    wanted = {"format": _FORMAT, "texts": manifest.sha256(texts.folder / "manifest.json")}
    if manifest.is_up_to_date(folder, wanted):
        return
    table = _Table()
    for start, stop in texts.train.blocks():
        sources = texts.train.texts("source", start, stop)
        table.add(Counter(word for source in sources for word in words(source)))
        yield Progress("counting words", stop, len(texts.train))
    with atomic_files.new_folder(folder) as new:
        table.rows().tofile(new / "table")
        json_files.write_json(new / "info.json", {**wanted, "sources": len(texts.train)})
        manifest.write_folder_manifest(new)


class _Table:
    """Counts that are added up.

    New counts are collected and added to the table together. There are at least as many of them as rows in the table,
    so that sorting takes time in proportion to all counts, up to a logarithm.
    """

    def __init__(self) -> None:
        self._rows: NDArray[np.void] = np.empty(0, _ROW)
        self._pending: list[NDArray[np.void]] = []

    def add(self, counts: Counter[str]) -> None:
        self._pending.append(np.array([(_hash(word), count) for word, count in counts.items()], _ROW))
        if sum(map(len, self._pending)) >= max(_MIN_PENDING, len(self._rows)):
            self._merge()

    def rows(self) -> NDArray[np.void]:
        """Return the counts of all words, sorted by hash."""
        self._merge()
        return self._rows

    def _merge(self) -> None:
        rows = np.concatenate([self._rows, *self._pending])
        rows.sort(order="hash")
        hashes, firsts = np.unique(rows["hash"], return_index=True)
        self._rows = np.empty(len(hashes), _ROW)
        self._rows["hash"] = hashes
        self._rows["count"] = np.add.reduceat(rows["count"], firsts) if len(rows) else 0
        self._pending = []


def _hash(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest())
