"""Corpora mixed by weight: which pairs an epoch has, in an order that depends only on (seed, epoch).

A corpus of n pairs and weight w contributes round(w * n) pairs to every epoch. It is traversed in random order, pass
after pass; each epoch continues where the previous one ended, so that in the long run every pair is sampled equally
often. Any position of an epoch can be computed without the positions before it, so a run can resume anywhere.
"""

from collections.abc import Sequence

import numpy as np

from regard.data.permutation import Indices, permute

_CORPUS_SEED = 0x6D69786564  # makes the order within a corpus independent of the order of the epoch


class Mixture:
    """A weighted mixture of corpora, stored one after the other. Its length is the number of pairs of an epoch."""

    def __init__(self, sizes: Sequence[int], weights: Sequence[float]) -> None:
        self._sizes = list(sizes)
        self._counts = [max(1, round(w * n)) if n else 0 for n, w in zip(sizes, weights, strict=True)]
        self._is_unweighted = self._counts == self._sizes
        self._starts = np.cumsum([0, *self._sizes])
        self._ends = np.cumsum(self._counts)

    def __len__(self) -> int:
        return int(self._ends[-1])

    def sample(self, positions: Indices, seed: int, epoch: int) -> Indices:
        """Return the pairs at these positions of an epoch."""
        shuffled = permute(positions, len(self), seed, epoch)
        if self._is_unweighted:
            return shuffled
        corpus = np.searchsorted(self._ends, shuffled, side="right")
        result = np.empty_like(shuffled)
        for number in range(len(self._sizes)):
            own = corpus == number
            if own.any():
                within = shuffled[own] - (self._ends[number] - self._counts[number])
                result[own] = self._starts[number] + self._traverse(number, within, seed, epoch)
        return result

    def _traverse(self, number: int, within: Indices, seed: int, epoch: int) -> Indices:
        """Return the pairs at these steps of an epoch's traversal of one corpus."""
        size = self._sizes[number]
        passes, offsets = np.divmod(epoch * self._counts[number] + within, size)
        result = np.empty_like(within)
        for pass_number in np.unique(passes):
            own = passes == pass_number
            result[own] = permute(offsets[own], size, seed ^ _CORPUS_SEED, int(pass_number))
        return result
