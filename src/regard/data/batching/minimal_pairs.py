"""Learning by contrast: two neighbouring lines that differ in little, and the piece in which their targets part.

Lines 1 and 2 of a file, 3 and 4, and so on, are a two if more than half of their sources is the same from both ends:
"… because it was too tired", "… because it was too wide". Both stay in one batch, where what they share cancels out,
and the first piece in which their targets differ counts more than the others: here "il" or "elle", one piece of many.
"""

import numpy as np
from numpy.typing import NDArray

from regard.data.permutation import Indices
from regard.data.prepare.token_store import EncodedPairs, Ids

NONE = -1

_BLOCK = 10_000


def has_minimal_pairs(shard: EncodedPairs) -> bool:
    """Whether there is a two anywhere."""
    starts = range(0, len(shard), _BLOCK)
    return any((second_members(shard, np.arange(at, min(at + _BLOCK, len(shard)))) != NONE).any() for at in starts)


def second_members(shard: EncodedPairs, indices: Indices) -> Indices:
    """For each pair that leads a two the one that follows it; NONE for the others."""
    found = np.full(len(indices), NONE, dtype=np.int64)
    first = np.flatnonzero(indices + 1 < len(shard))
    lines, after = shard.lines[indices[first]], shard.lines[indices[first] + 1]
    neighbours = (lines[:, 0] == after[:, 0]) & (lines[:, 1] % 2 == 1) & (after[:, 1] == lines[:, 1] + 1)
    for place in first[neighbours]:
        one = int(indices[place])
        if _alike(shard.source(one)[:-1], shard.source(one + 1)[:-1]):  # the end mark is always the same
            found[place] = one + 1
    return found


def join(shard: EncodedPairs, indices: Indices) -> tuple[Indices, Indices]:
    """The same pairs with every two in one place: who leads or is alone, and who follows, or NONE.

    A pair that follows comes with its leader and not where it was drawn itself, so that it comes once.
    """
    before = second_members(shard, np.maximum(indices - 1, 0))
    kept = indices[before != indices]
    if not len(kept):  # by weight, only such as follow may be drawn
        kept = indices - 1
    return kept, second_members(shard, kept)


def minimal_pair_weights(
    target_BT: NDArray[np.int64], leads_B: NDArray[np.bool_], counts: float
) -> NDArray[np.float32]:
    """What each target piece counts, where every row that leads is followed by the other of its two."""
    weight_BT = np.ones(target_BT.shape, dtype=np.float32)
    for row in np.flatnonzero(leads_B):
        differ = target_BT[row] != target_BT[row + 1]
        if differ.any():
            weight_BT[row : row + 2, differ.argmax()] = counts
    return weight_BT


def _alike(one: Ids, other: Ids) -> bool:
    """Whether they differ, and share more than half of the longer from both ends."""
    beginning = _shared(one, other)
    if beginning == len(one) == len(other):
        return False
    ending = _shared(one[beginning:][::-1], other[beginning:][::-1])
    return 2 * (beginning + ending) > max(len(one), len(other))


def _shared(one: Ids, other: Ids) -> int:
    """How many pieces they begin with alike."""
    length = min(len(one), len(other))
    differ = np.flatnonzero(one[:length] != other[:length])
    return int(differ[0]) if len(differ) else length
