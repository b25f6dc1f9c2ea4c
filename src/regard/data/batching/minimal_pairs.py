"""Minimal pairs: two consecutive lines with a small difference, and a loss weight for the token in which they differ.

Lines 1 and 2 of a file, lines 3 and 4, and so on, are a minimal pair if the common start and the common end of their
sources make up more than half of the longer source: "… because it was too tired" and "… because it was too wide". Both
lines are put in the same batch, so that the words that they share cannot favour one of the two targets. The first token
in which their targets differ ("il" or "elle" in this example) gets a higher loss weight, because it is only one token
of many.
"""

import numpy as np
from numpy.typing import NDArray

from regard.data.permutation import Indices
from regard.data.prepare.ragged import Values
from regard.data.prepare.token_store import EncodedPairs

NONE = -1

_BLOCK = 10_000


def has_minimal_pairs(pairs: EncodedPairs) -> bool:
    """Return whether there is any minimal pair."""
    starts = range(0, len(pairs), _BLOCK)
    return any((second_members(pairs, np.arange(at, min(at + _BLOCK, len(pairs)))) != NONE).any() for at in starts)


def second_members(pairs: EncodedPairs, indices: Indices) -> Indices:
    """Return for each first member of a minimal pair the index of its second member; NONE for all other indices."""
    result = np.full(len(indices), NONE, dtype=np.int64)
    candidates = np.flatnonzero(indices + 1 < len(pairs))
    lines, next_lines = pairs.lines[indices[candidates]], pairs.lines[indices[candidates] + 1]
    same_corpus = lines[:, 0] == next_lines[:, 0]
    consecutive = same_corpus & (lines[:, 1] % 2 == 1) & (next_lines[:, 1] == lines[:, 1] + 1)
    for position in candidates[consecutive]:
        index = int(indices[position])
        if _is_minimal_pair(pairs.source[index][:-1], pairs.source[index + 1][:-1]):  # without the common EOS
            result[position] = index + 1
    return result


def group_minimal_pairs(pairs: EncodedPairs, indices: Indices) -> tuple[Indices, Indices]:
    """Return `indices` without second members of minimal pairs, and for each remaining index its second member or NONE.

    A second member is placed with its first member and not at its own position, so that it occurs only once.
    """
    follower_of_previous = second_members(pairs, np.maximum(indices - 1, 0))
    first = indices[follower_of_previous != indices]
    if not len(first):  # with corpus weights, a sample may consist of second members only
        first = indices - 1
    return first, second_members(pairs, first)


def minimal_pair_weights(
    target_BT: NDArray[np.int64], is_first_B: NDArray[np.bool_], weight: float
) -> NDArray[np.float32]:
    """Return the loss weight of each target token: `weight` where the targets of a minimal pair first differ, else 1.

    `is_first_B` marks the first member of each minimal pair; the second member is in the next row.
    """
    weight_BT = np.ones(target_BT.shape, dtype=np.float32)
    for row in np.flatnonzero(is_first_B):
        differs = target_BT[row] != target_BT[row + 1]
        if differs.any():
            weight_BT[row : row + 2, differs.argmax()] = weight
    return weight_BT


def _is_minimal_pair(first: Values, second: Values) -> bool:
    """Return whether two texts differ, but their common start and end are more than half of the longer text."""
    prefix = _common_prefix_length(first, second)
    if prefix == len(first) == len(second):
        return False
    suffix = _common_prefix_length(first[prefix:][::-1], second[prefix:][::-1])
    return 2 * (prefix + suffix) > max(len(first), len(second))


def _common_prefix_length(first: Values, second: Values) -> int:
    length = min(len(first), len(second))
    different = np.flatnonzero(first[:length] != second[:length])
    return int(different[0]) if len(different) else length
