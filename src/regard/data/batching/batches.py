"""Batches of pairs of similar length, in an order that depends only on seed and epoch. A run can resume at any batch.

The pairs of an epoch are shuffled without storing the order (see mixture.py) and divided into pools. One pool is
processed at a time: its pairs are sorted by length and divided into batches that fit the token budget, including
padding. Then the batches of the pool are shuffled. So memory use does not grow with the corpus, and the numbers of the
epoch, the pool and the batch are enough to resume. With `minimal_pair_weight`, the two members of a minimal pair are
always in the same batch (see minimal_pairs.py).

Shapes: B is the number of pairs, T the target length.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.data.batching.minimal_pairs import NONE, group_minimal_pairs, minimal_pair_weights
from regard.data.batching.mixture import Mixture
from regard.data.permutation import mix
from regard.data.prepare.ragged import Padded
from regard.data.prepare.token_store import EncodedPairs

Indices = NDArray[np.int64]

POOL = 100_000


@dataclass(frozen=True)
class StreamPosition:
    """The position of the next batch: its epoch, the pool in that epoch, and the batch in that pool, counted from 0."""

    epoch: int = 0
    pool: int = 0
    batch: int = 0


_START = StreamPosition()


@dataclass(frozen=True)
class Batch:
    """Padded sources and targets; each text ends in EOS.

    `weight_BT` is the loss weight of each target token; None means that all weights are 1.
    """

    source: Padded
    target: Padded
    weight_BT: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.source)

    @property
    def target_tokens(self) -> int:
        """The number of target tokens without padding."""
        return int(self.target.lengths.sum())


class _Rows(NamedTuple):
    """The indices of the pairs of a batch. `is_first` marks the first member of each minimal pair.

    The second member directly follows the first member.
    """

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
    """Yield an endless stream of batches from `position` on, each with the position of the next batch.

    The number of pairs in a batch times the length of its longest text is at most `tokens`, unless a single pair or
    minimal pair exceeds that. `weights` are the weights of the corpora; if empty, all are 1. `minimal_pair_weight` is
    the loss weight of the first token in which the two targets of a minimal pair differ; 0 disables the search for
    minimal pairs.
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
    """Yield batches for validation, with every pair once. The batches are the same every time."""
    for start in range(0, len(pairs), POOL):
        indices = np.arange(start, min(start + POOL, len(pairs)), dtype=np.int64)
        for rows in _cut(pairs, indices, tokens, find_minimal_pairs=False):
            yield _pad(pairs, rows, 0.0)


def epoch_tokens(pairs: EncodedPairs, weights: Sequence[float] = ()) -> int:
    """Return the approximate number of target tokens of an epoch."""
    if not weights:
        return len(pairs.target.values)
    ends = pairs.target.starts[np.cumsum([0, *pairs.corpus_sizes(len(weights))])]
    return max(1, round(float(np.diff(ends) @ np.array(weights))))


def pool_count(pairs: int) -> int:
    """Return the number of pools of an epoch with the given number of pairs."""
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
    # All pools have about the same size. A last pool of only a few pairs would give batches with much padding.
    positions = np.arange(count * position.pool // pools, count * (position.pool + 1) // pools)
    indices = mixture.sample(positions, seed, position.epoch)
    cut = _cut(pairs, indices, tokens, find_minimal_pairs=find_minimal_pairs)
    shuffled = mix(np.arange(len(cut), dtype=np.uint64), (seed, position.epoch, position.pool))
    order = np.argsort(shuffled, kind="stable")
    return [cut[number] for number in order]


def _cut(pairs: EncodedPairs, indices: Indices, tokens: int, *, find_minimal_pairs: bool) -> list[_Rows]:
    """Sort pairs so that neighbours have similar source and target lengths, and divide them into batches."""
    if find_minimal_pairs:
        indices, second = group_minimal_pairs(pairs, indices)
    else:
        second = np.full(len(indices), NONE)
    source, target = pairs.source.lengths(indices), pairs.target.lengths(indices)
    longer, difference = np.maximum(source, target), source - target
    is_first = second != NONE
    second_lengths = [pairs.source.lengths(second[is_first]), pairs.target.lengths(second[is_first])]
    longer[is_first] = np.maximum.reduce([longer[is_first], *second_lengths])
    # The pairs are sorted by the length of their longer side, which decides how many pairs fit into a batch. Pairs
    # whose longer sides have the same length are sorted by source length minus target length. This second order is
    # ascending if the longer side has an odd length, and descending if it has an even length. So the last pairs with
    # one length are similar to the first pairs with the next length.
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
    """Return all pairs, with the second member of each minimal pair right after the first member."""
    indices = np.stack([first, second], axis=1).ravel()
    is_first = np.stack([second != NONE, np.zeros(len(second), dtype=bool)], axis=1).ravel()
    return _Rows(indices[indices != NONE], is_first[indices != NONE])


def _pad(pairs: EncodedPairs, rows: _Rows, minimal_pair_weight: float) -> Batch:
    source, target = pairs.source.gather(rows.indices), pairs.target.gather(rows.indices)
    has_weights = rows.is_first.any()
    weight_BT = minimal_pair_weights(target.values, rows.is_first, minimal_pair_weight) if has_weights else None
    return Batch(source, target, weight_BT)
