"""Batches of texts of similar length, in an order that follows from (seed, epoch) and can be entered anywhere.

The pairs of an epoch are shuffled without holding the shuffle: place i is given its pair (see mixture.py). A window
of them at a time is sorted by length, cut into batches that fit the token budget with their padding, and the batches
are shuffled. So nothing grows with the corpus, and to resume one needs only three numbers. With `contrast`, lines that
belong together stay together (see contrast.py).

Shapes: B pairs, S source length, T target length.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.data.batching.minimal_pairs import NONE, join, minimal_pair_weights
from regard.data.batching.mixture import Mixture
from regard.data.permutation import mix
from regard.data.prepare.token_store import EncodedPairs
from regard.tokenizers.special_ids import PAD

Indices = NDArray[np.int64]

WINDOW = 100_000


@dataclass(frozen=True)
class StreamPosition:
    """Where the next batch starts."""

    epoch: int = 0
    window: int = 0
    batch: int = 0


_BEGINNING = StreamPosition()


@dataclass(frozen=True)
class Batch:
    """Pairs as ids, padded with PAD; both sides end in END. `target_tokens` counts the target without padding.

    `weight_BT` is how much each target piece counts; None is 1 for all.
    """

    source_BS: NDArray[np.int64]
    target_BT: NDArray[np.int64]
    target_tokens: int
    weight_BT: NDArray[np.float32] | None = None


class _Cut(NamedTuple):
    """The pairs of a batch; a row that `leads` is followed by the other of its two."""

    indices: Indices
    leads: NDArray[np.bool_]


def batches(
    shard: EncodedPairs,
    *,
    tokens: int,
    seed: int,
    position: StreamPosition = _BEGINNING,
    weights: Sequence[float] = (),
    minimal_pair_weight: float = 0.0,
) -> Iterator[tuple[Batch, StreamPosition]]:
    """Batches without end from `position` on, each with the position after it.

    Pairs times the longer side's length stays within `tokens`, unless a single pair, or a two, is longer. `weights` are
    those of the shard's corpora; none means 1 for each. `contrast` is how much the piece counts in which the targets of
    a two differ; 0 knows no twos.
    """
    mixture = Mixture(shard.corpus_sizes(len(weights)), weights) if weights else Mixture([len(shard)], [1])
    while True:
        cut = _window(shard, mixture, tokens, seed, position, twos=minimal_pair_weight > 0)
        if position.batch >= len(cut):
            raise ValueError(f"{position} is not in this data: the window has {len(cut)} batches")
        for number in range(position.batch, len(cut)):
            position = _after(position, number, len(cut), windows(len(mixture)))
            yield _pad(shard, cut[number], minimal_pair_weight), position


def sequential_batches(shard: EncodedPairs, *, tokens: int) -> Iterator[Batch]:
    """Every pair once, the same batches every time: for validation."""
    for start in range(0, len(shard), WINDOW):
        indices = np.arange(start, min(start + WINDOW, len(shard)), dtype=np.int64)
        for chosen in _cut(shard, indices, tokens, twos=False):
            yield _pad(shard, chosen, 0.0)


def epoch_tokens(shard: EncodedPairs, weights: Sequence[float] = ()) -> int:
    """About how many target pieces an epoch has."""
    if not weights:
        return len(shard.target_ids)
    ends = shard.target_starts[np.cumsum([0, *shard.corpus_sizes(len(weights))])]
    return max(1, round(float(np.diff(ends) @ np.array(weights))))


def windows(pairs: int) -> int:
    """Into how many windows an epoch is divided."""
    return -(-pairs // WINDOW)


def _after(position: StreamPosition, number: int, of_batches: int, of_windows: int) -> StreamPosition:
    if number + 1 < of_batches:
        return StreamPosition(position.epoch, position.window, number + 1)
    if position.window + 1 < of_windows:
        return StreamPosition(position.epoch, position.window + 1)
    return StreamPosition(position.epoch + 1)


def _window(
    shard: EncodedPairs, mixture: Mixture, tokens: int, seed: int, position: StreamPosition, *, twos: bool
) -> list[_Cut]:
    """The batches of a window, in the order of training."""
    pairs, count = len(mixture), windows(len(mixture))
    if position.window >= count:
        raise ValueError(f"{position} is not in this data: an epoch has {count} windows")
    # Windows of equal size: a last one of a few pairs would make a few bad batches.
    places = np.arange(pairs * position.window // count, pairs * (position.window + 1) // count)
    cut = _cut(shard, mixture.draw(places, seed, position.epoch), tokens, twos=twos)
    shuffled = mix(np.arange(len(cut), dtype=np.uint64), (seed, position.epoch, position.window))
    order = np.argsort(shuffled, kind="stable")
    return [cut[number] for number in order]


def _cut(shard: EncodedPairs, indices: Indices, tokens: int, *, twos: bool) -> list[_Cut]:
    """Sort pairs so that neighbours are of similar length on both sides, then fill one batch after the other."""
    indices, others = join(shard, indices) if twos else (indices, np.full(len(indices), NONE))
    source, target = shard.source_lengths(indices), shard.target_lengths(indices)
    longer, difference = np.maximum(source, target), source - target
    led = others != NONE
    longer[led] = np.maximum.reduce([longer[led], shard.source_lengths(others[led]), shard.target_lengths(others[led])])
    # The longer side decides how many pairs fit. Among equals the shorter side goes up and down in turn, so that it
    # does not jump where one length ends and the next begins.
    order = np.lexsort((np.where(longer % 2, difference, -difference), longer))
    indices, others, longer = indices[order], others[order], longer[order]
    rows = np.cumsum(1 + (others != NONE))
    cut, start = [], 0
    while start < len(indices):
        longest = np.maximum.accumulate(longer[start : start + tokens])
        wide = rows[start : start + len(longest)] - (rows[start - 1] if start else 0)
        stop = start + max(1, int(np.searchsorted(longest * wide, tokens, side="right")))
        both = np.stack([indices[start:stop], others[start:stop]], axis=1).ravel()
        leads = np.stack([others[start:stop] != NONE, np.zeros(stop - start, dtype=bool)], axis=1).ravel()
        cut.append(_Cut(both[both != NONE], leads[both != NONE]))
        start = stop
    return cut


def _pad(shard: EncodedPairs, cut: _Cut, contrast: float) -> Batch:
    indices = cut.indices
    source_BS = _gather(shard.source_ids, shard.source_starts[indices], shard.source_lengths(indices))
    lengths = shard.target_lengths(indices)
    target_BT = _gather(shard.target_ids, shard.target_starts[indices], lengths)
    weight_BT = minimal_pair_weights(target_BT, cut.leads, contrast) if cut.leads.any() else None
    return Batch(source_BS, target_BT, int(lengths.sum()), weight_BT)


def _gather(ids: NDArray[np.generic], starts: Indices, lengths: Indices) -> NDArray[np.int64]:
    """Rows of `ids`, each from its start, padded on the right."""
    columns = np.arange(lengths.max())
    inside = columns < lengths[:, None]
    padded = np.full(inside.shape, PAD, dtype=np.int64)
    padded[inside] = ids[(starts[:, None] + columns)[inside]]
    return padded
