"""Chooses the pairs that are held out for validation."""

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
    """Hashes of the source sentences to hold out: about 5 % of the pairs, at most 1,000.

    The sources of smallest hash are a random sample that fits in constant memory, however large the corpus.
    """
    pairs = 0
    counts: dict[int, int] = {}
    largest_first: list[int] = []  # the keys of `counts`, negated: a heap
    for _, pair, report in read_all("choosing validation pairs", train):
        if report is not None:
            yield report
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
            # What falls out here can never come back, so the counts that stay are complete.
            del counts[-heapq.heappushpop(largest_first, -hashed)]
            counts[hashed] = 1
    if len(counts) < 2:
        raise DataError(
            f"validation pairs are held out by source sentence, which needs at least 2 different source sentences, "
            f"but there {'is only 1' if counts else 'is none'}; add pairs, or give validation files with --valid"
        )
    return _pick(counts, at_most=max(1, min(_MAX_HELD_OUT, pairs // 20)))


def _pick(counts: dict[int, int], *, at_most: int) -> frozenset[int]:
    """Sources in the order of their hashes, as long as their pairs fit in; the rarest if none does."""
    chosen: list[int] = []
    room = at_most
    for hashed in sorted(counts):
        if counts[hashed] <= room:
            chosen.append(hashed)
            room -= counts[hashed]
    return frozenset(chosen or [min(counts, key=lambda hashed: (counts[hashed], hashed))])


def hash_source(source: str, seed: int) -> int:
    return int.from_bytes(hashlib.blake2b(source.encode(), digest_size=8, key=str(seed).encode()).digest())
