"""Recovery when a training step does not fit in memory: repeat it with each micro-batch cut into more slices.

The gradient stays the same, because the loss is a sum that is divided once. Dropout samples a new mask for each slice,
so the run records the number of slices from each step on: a resumed run cuts the same steps into the same slices.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch

from regard.data.batching.batches import Batch
from regard.errors import RunError
from regard.storage.json_files import read_hashed_json, write_hashed_json
from regard.tokenizers.special_ids import PAD


def is_out_of_memory(error: Exception) -> bool:
    """Return whether an error means that memory ran out, which torch on a CPU reports only in the message."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(
        words in str(error) for words in ("DefaultCPUAllocator", "out of memory")
    )


@contextmanager
def explain_out_of_memory() -> Iterator[None]:
    """Turn an out-of-memory error into a `RunError`, for work that smaller micro-batches would not help."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise RunError(
            "memory ran out; close other programs and run the same command again, which continues from the last "
            "checkpoint, or start a new run with a smaller --size"
        ) from error


def slice_batches(batches: list[Batch], slices: int) -> list[Batch]:
    """Cut each batch into `slices` batches, or one per pair if it has fewer pairs, without needless padding."""
    if slices == 1:
        return batches
    return [
        _rows(batch, rows)
        for batch in batches
        for rows in np.array_split(np.arange(len(batch.source_BS)), min(slices, len(batch.source_BS)))
    ]


def _rows(batch: Batch, rows: np.ndarray) -> Batch:
    source_BS, target_BT = batch.source_BS[rows], batch.target_BT[rows]
    target_lengths_B = (target_BT != PAD).sum(axis=1)
    source_length, target_length = (source_BS != PAD).sum(axis=1).max(), target_lengths_B.max()
    weight_BT = None if batch.weight_BT is None else batch.weight_BT[rows, :target_length]
    return Batch(source_BS[:, :source_length], target_BT[:, :target_length], int(target_lengths_B.sum()), weight_BT)


class MicroBatchSlices:
    """The number of slices per micro-batch from each step on, kept in a file of the run."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._since: list[tuple[int, int]] = []
        if path.exists():
            try:
                self._since = [(step, slices) for step, slices in read_hashed_json(path)["since"]]
            except ValueError as error:
                raise RunError(f"{error}; restore it from a copy, or start a new run in another --out") from None

    def at(self, step: int) -> int:
        """Return the number of slices per micro-batch at a step."""
        return max((slices for since, slices in self._since if since <= step), default=1)

    def record(self, step: int, slices: int) -> None:
        """Record that each micro-batch is cut into this number of slices from a step on."""
        self._since.append((step, slices))
        write_hashed_json(self._path, {"since": self._since})

    def until(self, step: int) -> list[tuple[int, int]]:
        """Return the records up to a step, each as (first step, number of slices)."""
        return [(since, slices) for since, slices in self._since if since <= step]
