"""Batches of sequences of similar length."""

from collections.abc import Iterator, Sequence


def length_buckets(lengths: Sequence[int], tokens: int, workers: int = 1) -> Iterator[list[int]]:
    """Yield batches of indices of similar length, longest first, so that running out of memory happens at once.

    A batch has at most `tokens` tokens, including padding and EOS. With several workers, the last batches shrink to as
    little as half of that, so that no worker runs alone for long.
    """
    batch: list[int] = []
    limit, left = tokens, sum(lengths) + len(lengths)
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if batch and (len(batch) + 1) * (lengths[batch[0]] + 1) > limit:
            yield batch
            batch = []
        if not batch and workers > 1:
            limit = min(tokens, max(tokens // 2, left // workers))
        batch.append(index)
        left -= lengths[index] + 1
    if batch:
        yield batch
