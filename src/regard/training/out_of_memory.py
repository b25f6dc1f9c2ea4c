"""What a run does when a step does not fit in memory: the same step again, each micro-batch cut into more parts.

The gradient is that of the whole, because the loss is a sum that is divided once. Dropout draws anew for each part, so
the run records from which step on there were how many: resumed, it cuts the same steps the same way.
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
    """Whether a computation failed for want of memory. On a processor torch says so only in words."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(
        words in str(error) for words in ("DefaultCPUAllocator", "out of memory")
    )


@contextmanager
def explain_out_of_memory() -> Iterator[None]:
    """Say it plainly where memory runs out and no cutting helps: in an update, a validation, at the end."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise RunError(
            "memory ran out; end other programs and give the same command again, which goes on from the last "
            "checkpoint, or start anew with a smaller --size"
        ) from error


def split_batches(batches: list[Batch], parts: int) -> list[Batch]:
    """Each batch in so many parts, as far as it has pairs; padding that a part does not need is left out."""
    if parts == 1:
        return batches
    return [
        _rows(batch, rows)
        for batch in batches
        for rows in np.array_split(np.arange(len(batch.source_BS)), min(parts, len(batch.source_BS)))
    ]


def _rows(batch: Batch, rows: np.ndarray) -> Batch:
    source_BS, target_BT = batch.source_BS[rows], batch.target_BT[rows]
    lengths_B = (target_BT != PAD).sum(axis=1)
    longest = (source_BS != PAD).sum(axis=1).max()
    weight_BT = None if batch.weight_BT is None else batch.weight_BT[rows, : lengths_B.max()]
    return Batch(source_BS[:, :longest], target_BT[:, : lengths_B.max()], int(lengths_B.sum()), weight_BT)


class MicroBatchSplits:
    """From which step on each micro-batch is computed in how many parts; kept in a file of the run."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._since: list[tuple[int, int]] = []
        if path.exists():
            try:
                self._since = [(step, parts) for step, parts in read_hashed_json(path)["since"]]
            except ValueError as error:
                raise RunError(f"{error}; restore it from a copy, or start a new run in another --out") from None

    def parts(self, step: int) -> int:
        return max((parts for since, parts in self._since if since <= step), default=1)

    def record(self, step: int, parts: int) -> None:
        """From this step on, so many."""
        self._since.append((step, parts))
        write_hashed_json(self._path, {"since": self._since})

    def until(self, step: int) -> list[tuple[int, int]]:
        """What was recorded up to a step."""
        return [(since, parts) for since, parts in self._since if since <= step]
