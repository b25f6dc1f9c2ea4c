"""IBM model 1: word alignment from the words alone, as a baseline (Brown et al., 1993).

The model knows for each source word which target words it becomes with which probability. It learns this from sentence
pairs by expectation maximisation, starting from equal probabilities, and ignores the order of words.
"""

from collections import defaultdict
from collections.abc import Sequence

from regard.inference.alignment import Link

ITERATIONS = 8

NULL = ""  # a source word that every sentence has, for target words without a translation

Words = Sequence[str]


class IbmModel1:
    """The probabilities of target words given source words, learned from sentence pairs."""

    def __init__(self, pairs: Sequence[tuple[Words, Words]]) -> None:
        targets = {word for _, target in pairs for word in target}
        self._probabilities: dict[str, dict[str, float]] = {}
        for iteration in range(ITERATIONS):
            counts: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
            for source, target in pairs:
                words = [NULL, *source]
                for word in target:
                    weights = [self._probability(other, word) if iteration else 1 / len(targets) for other in words]
                    total = sum(weights)
                    for other, weight in zip(words, weights, strict=True):
                        counts[other][word] += weight / total
            self._probabilities = {
                other: {word: count / total for word, count in row.items()}
                for other, row in counts.items()
                if (total := sum(row.values()))
            }

    def align(self, source: Words, target: Words) -> tuple[Link, ...]:
        """Link each target word to its most probable source word, or to none if none is more probable than `NULL`."""
        links = []
        for index, word in enumerate(target):
            weights = [self._probability(other, word) for other in (NULL, *source)]
            best = max(range(len(weights)), key=lambda at: weights[at])
            if best:
                links.append((best - 1, index))
        return tuple(links)

    def _probability(self, source: str, target: str) -> float:
        return self._probabilities.get(source, {}).get(target, 0.0)
