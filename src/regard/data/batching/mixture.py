"""Corpora mixed by weight: which pairs an epoch has, in an order that follows from (seed, epoch) alone.

A corpus of n pairs and weight w gives round(w * n) pairs to every epoch. It is walked through in random order, pass
after pass; each epoch goes on where the one before ended, so that over time every pair is drawn equally often. As a
place of an epoch can be computed without those before it, a run resumes anywhere.
"""

from collections.abc import Sequence

import numpy as np

from regard.data.permutation import Indices, permute

_OTHER_SEED = 0x6D69786564  # the walk through a corpus is another shuffle than that of the epoch


class Mixture:
    """Pairs of corpora that stand one after the other, drawn by weight. Its length is the pairs of an epoch."""

    def __init__(self, sizes: Sequence[int], weights: Sequence[float]) -> None:
        self._sizes = list(sizes)
        self._shares = [max(1, round(w * n)) if n else 0 for n, w in zip(sizes, weights, strict=True)]
        self._plain = self._shares == self._sizes
        self._starts = np.cumsum([0, *self._sizes])
        self._ends = np.cumsum(self._shares)

    def __len__(self) -> int:
        return int(self._ends[-1])

    def draw(self, places: Indices, seed: int, epoch: int) -> Indices:
        """The pairs at these places of an epoch."""
        drawn = permute(places, len(self), seed, epoch)
        if self._plain:
            return drawn
        corpus = np.searchsorted(self._ends, drawn, side="right")
        result = np.empty_like(drawn)
        for number in range(len(self._sizes)):
            chosen = corpus == number
            if chosen.any():
                within = drawn[chosen] - (self._ends[number] - self._shares[number])
                result[chosen] = self._starts[number] + self._walk(number, within, seed, epoch)
        return result

    def _walk(self, number: int, within: Indices, seed: int, epoch: int) -> Indices:
        """The pairs at these steps of an epoch's walk through one corpus."""
        size = self._sizes[number]
        passes, offsets = np.divmod(epoch * self._shares[number] + within, size)
        found = np.empty_like(within)
        for one in np.unique(passes):
            found[passes == one] = permute(offsets[passes == one], size, seed ^ _OTHER_SEED, int(one))
        return found
