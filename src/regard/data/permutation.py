"""Random permutations that are computed instead of stored. A seed gives the same order on every machine."""

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]
Bits = NDArray[np.uint64]

_ROUNDS = 6


def permute(positions: Indices, pairs: int, seed: int, epoch: int) -> Indices:
    """Return the indices of the pairs that are at `positions` when all pairs are shuffled for an epoch.

    The order is computed by a Feistel network, which splits the bits of a number into two halves and mixes them. It
    maps different numbers to different numbers, but its range is a power of four and may be larger than the number of
    pairs. Results that are too large are therefore mapped again until they are in range.
    """
    half = np.uint64(max(1, (max(1, pairs - 1).bit_length() + 1) // 2))
    mask = (np.uint64(1) << half) - np.uint64(1)
    result = positions.astype(np.uint64)
    outside = np.ones(len(result), dtype=bool)
    while outside.any():
        left: Bits = result[outside] >> half
        right: Bits = result[outside] & mask
        for number in range(_ROUNDS):
            mixed: Bits = mix(right, (seed, epoch, number)) & mask
            left, right = right, left ^ mixed
        result[outside] = (left << half) | right
        outside = result >= pairs
    return result.astype(np.int64)


def mix(words: Bits, keys: tuple[int, ...]) -> Bits:
    """Return pseudo-random numbers (splitmix64). They depend only on `words` and `keys`, not on the machine."""
    state = np.zeros(1, dtype=np.uint64)
    for word in (*(np.array([key % (1 << 64)], dtype=np.uint64) for key in keys), words):
        state = (state ^ word) + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state = state ^ (state >> np.uint64(31))
    return state
