"""Lets a run continue when a training step does not fit in memory, by cutting its micro-batches into smaller slices.

Apart from dropout, slices do not change the gradient: the loss of each slice is divided by the number of target tokens
in the whole step. Dropout, however, draws a new mask for each slice. The run therefore records the number of slices and
the step from which it applies, and a resumed run uses the same slices.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch

from regard.data.batching.batches import Batch
from regard.errors import RunError
from regard.storage.json_files import read_hashed_json, write_hashed_json


def is_out_of_memory(error: Exception) -> bool:
    """Return whether an error means that memory ran out; on a CPU, torch says so only in the text of the error."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(
        words in str(error) for words in ("DefaultCPUAllocator", "out of memory")
    )


@contextmanager
def explain_out_of_memory() -> Iterator[None]:
    """Turn an out-of-memory error into a `RunError` that says what the user can do."""
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
    """Cut each batch into `slices` batches, and remove padding that is no longer needed.

    A batch with fewer sentence pairs than `slices` is cut into one batch per pair.
    """
    if slices == 1:
        return batches
    return [
        _rows(batch, rows)
        for batch in batches
        for rows in np.array_split(np.arange(len(batch)), min(slices, len(batch)))
    ]


def _rows(batch: Batch, rows: np.ndarray) -> Batch:
    target = batch.target.rows(rows)
    weight_BT = None if batch.weight_BT is None else batch.weight_BT[rows, : target.values.shape[1]]
    return Batch(batch.source.rows(rows), target, weight_BT)


class MicroBatchSlices:
    """A file that records into how many slices each replica cuts its share of a micro-batch, and from which step on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._since: list[tuple[int, int]] = []
        if path.exists():
            try:
                self._since = [(step, slices) for step, slices in read_hashed_json(path)["since"]]
            except ValueError as error:
                raise RunError(f"{error}; restore it from a copy, or start a new run in another --out") from None

    def at(self, step: int) -> int:
        """Return the number of slices into which each replica cuts its share of a micro-batch at a step."""
        return max((slices for since, slices in self._since if since <= step), default=1)

    def record(self, step: int, slices: int) -> None:
        """Save that, from this step on, each replica cuts its share of a micro-batch into this number of slices."""
        self._since.append((step, slices))
        write_hashed_json(self._path, {"since": self._since})

    def until(self, step: int) -> list[tuple[int, int]]:
        """Return the changes up to a step, each as (first step, number of slices from that step on)."""
        return [(since, slices) for since, slices in self._since if since <= step]
