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
    """Choose source sentences whose pairs are held out for validation, and return the hashes of the sentences.

    The held-out pairs are about 5 % of all pairs, but at most 1,000. The sentences with the smallest hashes are chosen:
    they are a random sample, and memory use does not depend on the size of the corpus.
    """
    pairs = 0
    counts: dict[int, int] = {}
    largest_first: list[int] = []  # a heap of the negated keys of `counts`, with the largest key first
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
            # A hash that is removed here is never added again, so the count of each kept hash includes all its pairs.
            del counts[-heapq.heappushpop(largest_first, -hashed)]
            counts[hashed] = 1
    if len(counts) < 2:
        raise DataError(
            f"validation pairs are held out by source sentence, which needs at least 2 different source sentences, "
            f"but there {'is only 1' if counts else 'is none'}; add pairs, or give validation files with --valid"
        )
    return _select(counts, max_pairs=max(1, min(_MAX_HELD_OUT, pairs // 20)))


def _select(counts: dict[int, int], *, max_pairs: int) -> frozenset[int]:
    """Select sources with at most `max_pairs` pairs in total, in the order of their hashes.

    If every source has more pairs than that, select the source with the fewest pairs.
    """
    chosen: list[int] = []
    remaining = max_pairs
    for hashed in sorted(counts):
        if counts[hashed] <= remaining:
            chosen.append(hashed)
            remaining -= counts[hashed]
    return frozenset(chosen or [min(counts, key=lambda hashed: (counts[hashed], hashed))])


def hash_source(source: str, seed: int) -> int:
    return int.from_bytes(hashlib.blake2b(source.encode(), digest_size=8, key=str(seed).encode()).digest())
