"""The choice of training pairs that are held out for validation."""

import hashlib
import heapq
from collections.abc import Sequence

from regard.data.formats.corpus import Corpus
from regard.data.formats.pairs import read_all
from regard.data.formats.records import InvalidRecord
from regard.errors import DataError
from regard.progress import Work

_MAX_HELD_OUT = 1000


def choose_held_out(train: Sequence[Corpus], seed: int) -> Work[frozenset[int]]:
    """Return the hashes of the source sentences to hold out, which have about 5 % of the pairs, at most 1,000.

    The sources with the smallest hashes are a random sample that fits in constant memory, however large the corpus.
    """
    pairs = 0
    counts: dict[int, int] = {}
    largest_first: list[int] = []  # a heap of the negated keys of `counts`
    for _, pair, progress in read_all("choosing validation pairs", train):
        if progress is not None:
            yield progress
        if isinstance(pair, InvalidRecord) or not pair.source.strip() or not pair.target.strip():
            continue
        pairs += 1
        hashed = hash_source(pair.source, seed)
        if hashed in counts:
            counts[hashed] += 1
        elif len(counts) < _MAX_HELD_OUT:
            counts[hashed] = 1
            heapq.heappush(largest_first, -hashed)
        elif hashed < -largest_first[0]:
            # A hash removed here can never come back, so the remaining counts are complete.
            del counts[-heapq.heappushpop(largest_first, -hashed)]
            counts[hashed] = 1
    if len(counts) < 2:
        raise DataError(
            f"validation pairs are held out by source sentence, which needs at least 2 different source sentences, "
            f"but there {'is only 1' if counts else 'is none'}; add pairs, or give validation files with --valid"
        )
    return _select(counts, max_pairs=max(1, min(_MAX_HELD_OUT, pairs // 20)))


def _select(counts: dict[int, int], *, max_pairs: int) -> frozenset[int]:
    """Select sources in the order of their hashes while their pairs fit; the rarest source if none fits."""
    chosen: list[int] = []
    remaining = max_pairs
    for hashed in sorted(counts):
        if counts[hashed] <= remaining:
            chosen.append(hashed)
            remaining -= counts[hashed]
    return frozenset(chosen or [min(counts, key=lambda hashed: (counts[hashed], hashed))])


def hash_source(source: str, seed: int) -> int:
    return int.from_bytes(hashlib.blake2b(source.encode(), digest_size=8, key=str(seed).encode()).digest())
