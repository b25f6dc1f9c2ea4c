"""A mixture of corpora by weight: the pairs of each epoch, in an order that depends only on seed and epoch.

A corpus of n pairs and weight w contributes round(w * n) pairs, but at least one, to every epoch. The pairs of a corpus
are taken in random order. When all have been taken, they are taken again in a new random order. Each epoch continues
where the previous one ended, so that in the long run all pairs of a corpus are sampled equally often. The pair at any
position of an epoch can be computed without the pairs before it, so a run can resume anywhere.
"""

from collections.abc import Sequence

import numpy as np

from regard.data.permutation import Indices, permute

_CORPUS_SEED = 0x6D69786564  # XORed with the seed, so that corpora and epochs are shuffled in different orders


class Mixture:
    """A weighted mixture of corpora; its length is the number of pairs of an epoch.

    A pair is identified by its index in the concatenation of all corpora.
    """

    def __init__(self, sizes: Sequence[int], weights: Sequence[float]) -> None:
        self._sizes = list(sizes)
        self._counts = [max(1, round(w * n)) if n else 0 for n, w in zip(sizes, weights, strict=True)]
        self._is_unweighted = self._counts == self._sizes
        self._starts = np.cumsum([0, *self._sizes])
        self._ends = np.cumsum(self._counts)

    def __len__(self) -> int:
        return int(self._ends[-1])

    def sample(self, positions: Indices, seed: int, epoch: int) -> Indices:
        """Return the indices of the pairs at the given positions of an epoch."""
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
        """Return some of the pairs that a corpus contributes to an epoch, as indices in the corpus.

        `within` selects them: 0 is the first pair that the epoch takes from this corpus, 1 is the second, and so on.
        """
        size = self._sizes[number]
        passes, offsets = np.divmod(epoch * self._counts[number] + within, size)
        result = np.empty_like(within)
        for pass_number in np.unique(passes):
            own = passes == pass_number
            result[own] = permute(offsets[own], size, seed ^ _CORPUS_SEED, int(pass_number))
        return result
