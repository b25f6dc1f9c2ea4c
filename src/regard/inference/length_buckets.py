"""Batches of sequences of similar length."""

from collections.abc import Iterator, Sequence


def length_buckets(lengths: Sequence[int], tokens: int, workers: int = 1) -> Iterator[list[int]]:
    """Group sequences of similar length into batches and yield the indices of each batch.

    The longest sequences come first, so that a lack of memory is noticed at once. A batch has at most `tokens` tokens,
    including padding and EOS, unless one sequence alone has more. With several workers, the last batches are smaller,
    down to half of `tokens`, so that all workers finish at about the same time. If there are so few sequences that
    workers would be idle, they get equal shares, down to a sixteenth of `tokens`.
    """
    batch: list[int] = []
    limit, left = tokens, sum(lengths) + len(lengths)
    equal_share = -(-len(lengths) // workers) * (max(lengths, default=0) + 1)
    least = min(tokens // 2, max(tokens // 16, equal_share))
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if batch and (len(batch) + 1) * (lengths[batch[0]] + 1) > limit:
            yield batch
            batch = []
        if not batch and workers > 1:
            limit = min(tokens, max(least, left // workers))
        batch.append(index)
        left -= lengths[index] + 1
    if batch:
        yield batch
