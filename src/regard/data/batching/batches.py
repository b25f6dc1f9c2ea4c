"""Batches of texts of similar length, in an order that depends only on (seed, epoch) and can be entered anywhere.

The pairs of an epoch are shuffled without storing the order (see mixture.py). One pool of them at a time is sorted by
length, cut into batches that fit the token budget with their padding, and the batches are shuffled. So memory does not
grow with the corpus, and three numbers are enough to resume. With `minimal_pair_weight`, the members of a minimal pair
stay together (see minimal_pairs.py).

Shapes: B pairs, S source length, T target length.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.data.batching.minimal_pairs import NONE, group_minimal_pairs, minimal_pair_weights
from regard.data.batching.mixture import Mixture
from regard.data.permutation import mix
from regard.data.prepare.token_store import EncodedPairs
from regard.tokenizers.special_ids import PAD

Indices = NDArray[np.int64]

POOL = 100_000


@dataclass(frozen=True)
class StreamPosition:
    """The position of the next batch in the stream."""

    epoch: int = 0
    pool: int = 0
    batch: int = 0


_START = StreamPosition()


@dataclass(frozen=True)
class Batch:
    """Pairs as token ids, padded with PAD; both sides end in EOS. `target_tokens` is the target without padding.

    `weight_BT` is the loss weight of each target token; None means 1 for all.
    """

    source_BS: NDArray[np.int64]
    target_BT: NDArray[np.int64]
    target_tokens: int
    weight_BT: NDArray[np.float32] | None = None


class _Rows(NamedTuple):
    """The pairs of a batch; the row after each first member of a minimal pair is its second member."""

    indices: Indices
    is_first: NDArray[np.bool_]


def batches(
    pairs: EncodedPairs,
    *,
    tokens: int,
    seed: int,
    position: StreamPosition = _START,
    weights: Sequence[float] = (),
    minimal_pair_weight: float = 0.0,
) -> Iterator[tuple[Batch, StreamPosition]]:
    """Yield an endless stream of batches from `position`, each with the position after it.

    The number of pairs times the length of the longest side is at most `tokens`, unless a single pair or minimal pair
    is longer. `weights` are those of the corpora; empty means 1 for each. `minimal_pair_weight` is the loss weight of
    the token in which the targets of a minimal pair differ; 0 disables the search for minimal pairs.
    """
    mixture = Mixture(pairs.corpus_sizes(len(weights)), weights) if weights else Mixture([len(pairs)], [1])
    while True:
        pool = _pool_batches(pairs, mixture, tokens, seed, position, find_minimal_pairs=minimal_pair_weight > 0)
        if position.batch >= len(pool):
            raise ValueError(f"{position} is not in this data: the pool has {len(pool)} batches")
        for number in range(position.batch, len(pool)):
            position = _next_position(position, number, len(pool), pool_count(len(mixture)))
            yield _pad(pairs, pool[number], minimal_pair_weight), position


def sequential_batches(pairs: EncodedPairs, *, tokens: int) -> Iterator[Batch]:
    """Yield every pair once, in the same batches every time, for validation."""
    for start in range(0, len(pairs), POOL):
        indices = np.arange(start, min(start + POOL, len(pairs)), dtype=np.int64)
        for rows in _cut(pairs, indices, tokens, find_minimal_pairs=False):
            yield _pad(pairs, rows, 0.0)


def epoch_tokens(pairs: EncodedPairs, weights: Sequence[float] = ()) -> int:
    """Return the approximate number of target tokens of an epoch."""
    if not weights:
        return len(pairs.target_ids)
    ends = pairs.target_starts[np.cumsum([0, *pairs.corpus_sizes(len(weights))])]
    return max(1, round(float(np.diff(ends) @ np.array(weights))))


def pool_count(pairs: int) -> int:
    """Return the number of pools of an epoch."""
    return -(-pairs // POOL)


def _next_position(position: StreamPosition, number: int, batch_count: int, pools: int) -> StreamPosition:
    if number + 1 < batch_count:
        return StreamPosition(position.epoch, position.pool, number + 1)
    if position.pool + 1 < pools:
        return StreamPosition(position.epoch, position.pool + 1)
    return StreamPosition(position.epoch + 1)


def _pool_batches(
    pairs: EncodedPairs,
    mixture: Mixture,
    tokens: int,
    seed: int,
    position: StreamPosition,
    *,
    find_minimal_pairs: bool,
) -> list[_Rows]:
    """Return the batches of a pool, in training order."""
    count, pools = len(mixture), pool_count(len(mixture))
    if position.pool >= pools:
        raise ValueError(f"{position} is not in this data: an epoch has {pools} pools")
    # Pools have equal sizes: a last pool of a few pairs would make a few bad batches.
    positions = np.arange(count * position.pool // pools, count * (position.pool + 1) // pools)
    indices = mixture.sample(positions, seed, position.epoch)
    cut = _cut(pairs, indices, tokens, find_minimal_pairs=find_minimal_pairs)
    shuffled = mix(np.arange(len(cut), dtype=np.uint64), (seed, position.epoch, position.pool))
    order = np.argsort(shuffled, kind="stable")
    return [cut[number] for number in order]


def _cut(pairs: EncodedPairs, indices: Indices, tokens: int, *, find_minimal_pairs: bool) -> list[_Rows]:
    """Sort pairs so that neighbours have similar lengths on both sides, then fill one batch after the other."""
    if find_minimal_pairs:
        indices, second = group_minimal_pairs(pairs, indices)
    else:
        second = np.full(len(indices), NONE)
    source, target = pairs.source_lengths(indices), pairs.target_lengths(indices)
    longer, difference = np.maximum(source, target), source - target
    is_first = second != NONE
    second_lengths = [pairs.source_lengths(second[is_first]), pairs.target_lengths(second[is_first])]
    longer[is_first] = np.maximum.reduce([longer[is_first], *second_lengths])
    # The longer side decides how many pairs fit. Among equals, the length of the shorter side alternately rises and
    # falls, so that it does not jump where one length ends and the next begins.
    order = np.lexsort((np.where(longer % 2, difference, -difference), longer))
    indices, second, longer = indices[order], second[order], longer[order]
    row_ends = np.cumsum(1 + (second != NONE))
    cut, start = [], 0
    while start < len(indices):
        longest = np.maximum.accumulate(longer[start : start + tokens])
        row_counts = row_ends[start : start + len(longest)] - (row_ends[start - 1] if start else 0)
        stop = start + max(1, int(np.searchsorted(longest * row_counts, tokens, side="right")))
        cut.append(_interleave(indices[start:stop], second[start:stop]))
        start = stop
    return cut


def _interleave(first: Indices, second: Indices) -> _Rows:
    """Put every second member right after its first member."""
    indices = np.stack([first, second], axis=1).ravel()
    is_first = np.stack([second != NONE, np.zeros(len(second), dtype=bool)], axis=1).ravel()
    return _Rows(indices[indices != NONE], is_first[indices != NONE])


def _pad(pairs: EncodedPairs, rows: _Rows, minimal_pair_weight: float) -> Batch:
    indices = rows.indices
    source_BS = _gather(pairs.source_ids, pairs.source_starts[indices], pairs.source_lengths(indices))
    lengths = pairs.target_lengths(indices)
    target_BT = _gather(pairs.target_ids, pairs.target_starts[indices], lengths)
    has_weights = rows.is_first.any()
    weight_BT = minimal_pair_weights(target_BT, rows.is_first, minimal_pair_weight) if has_weights else None
    return Batch(source_BS, target_BT, int(lengths.sum()), weight_BT)


def _gather(ids: NDArray[np.generic], starts: Indices, lengths: Indices) -> NDArray[np.int64]:
    """Return rows of `ids`, each from its start, padded on the right."""
    columns = np.arange(lengths.max())
    is_token = columns < lengths[:, None]
    padded = np.full(is_token.shape, PAD, dtype=np.int64)
    padded[is_token] = ids[(starts[:, None] + columns)[is_token]]
    return padded
