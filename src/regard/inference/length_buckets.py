"""Batches of sequences of similar length."""

from collections.abc import Iterator, Sequence


def length_buckets(lengths: Sequence[int], tokens: int, workers: int = 1) -> Iterator[list[int]]:
    """Indices of like length together, longest first: if one does not fit into memory, that shows at once.

    Where several workers are about to end, the last are smaller, down to a half, so that none works long alone.
    """
    batch: list[int] = []
    most, left = tokens, sum(lengths) + len(lengths)
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if batch and (len(batch) + 1) * (lengths[batch[0]] + 1) > most:
            yield batch
            batch = []
        if not batch and workers > 1:
            most = min(tokens, max(tokens // 2, left // workers))
        batch.append(index)
        left -= lengths[index] + 1
    if batch:
        yield batch
