"""Sequences of different lengths in one memory-mapped array: one side of a corpus, as token ids or as vectors.

All sequences follow each other in one file, and another file has the position at which each sequence starts. Only the
parts that are accessed are read from disk.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from regard.tokenizers.special_ids import PAD

Values = NDArray[Any]  # the values of a sequence: token ids (S,), or vectors (S, F)


def map_file(path: Path, dtype: str) -> NDArray[Any]:
    """Map a file of numbers into memory; only the parts that are accessed are read from disk."""
    return np.asarray(np.memmap(path, np.dtype(dtype), mode="r"))


@dataclass(frozen=True)
class Padded:
    """Sequences of a batch in one array, padded on the right with zeros, and the length of each sequence.

    `values` has the shape (B, S) for token ids, and (B, S, F) for vectors. Zero is also the id of the token PAD.
    """

    values: NDArray[Any]
    lengths: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.lengths)

    def rows(self, indices: NDArray[np.int64]) -> Self:
        """Return some of the sequences, without padding that they do not need."""
        lengths = self.lengths[indices]
        return type(self)(self.values[indices, : lengths.max()], lengths)


class Ragged:
    """Sequences of different lengths, read from `values` and from `starts`, which has one entry more than sequences."""

    def __init__(self, values: Values, starts: NDArray[np.int64]) -> None:
        self.values, self.starts = values, starts

    @classmethod
    def open(cls, folder: Path, side: str, dtype: str, features: int = 0) -> Self:
        """Map the files that `RaggedWriter` has written; `features` is the width of the vectors, or 0 for ids."""
        values = map_file(folder / f"{side}.values", dtype)
        return cls(values.reshape(-1, features) if features else values, map_file(folder / f"{side}.starts", "int64"))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: int) -> Values:
        return self.values[self.starts[index] : self.starts[index + 1]]

    def lengths(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.starts[indices + 1] - self.starts[indices]

    def gather(self, indices: NDArray[np.int64]) -> Padded:
        """Return these sequences as one padded array. Token ids become int64, and vectors keep their type."""
        lengths = self.lengths(indices)
        columns = np.arange(lengths.max())
        is_real = columns < lengths[:, None]
        features = self.values.shape[1:]
        padded = np.full((*is_real.shape, *features), PAD, dtype=self.values.dtype if features else np.int64)
        padded[is_real] = self.values[(self.starts[indices][:, None] + columns)[is_real]]
        return Padded(padded, lengths)


class RaggedWriter:
    """Writes the files that `Ragged` reads. The files are closed by `stack`."""

    def __init__(self, folder: Path, side: str, dtype: str, stack: ExitStack) -> None:
        self._dtype = np.dtype(dtype)
        self._values = stack.enter_context((folder / f"{side}.values").open("wb"))
        self._starts = stack.enter_context((folder / f"{side}.starts").open("wb"))
        self._starts.write(np.int64(0).tobytes())
        self._end = 0

    def write(self, sequences: Sequence[Sequence[Any] | Values]) -> None:
        """Append sequences of token ids or of vectors."""
        if not sequences:
            return
        ends = self._end + np.cumsum([len(sequence) for sequence in sequences], dtype=np.int64)
        self._values.write(np.concatenate([np.asarray(one, self._dtype) for one in sequences]).tobytes())
        self._starts.write(ends.tobytes())
        self._end = int(ends[-1])
