"""Random choices that are the same in every Python version.

Python's module `random` guarantees this only for its function `random()`, so all choices here are derived from it.
"""

import random
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


class Rng:
    """A stream of random choices that depends only on the seed and on `purpose`, a name for the use of the stream."""

    def __init__(self, seed: int, purpose: str) -> None:
        self._random = random.Random(f"{purpose}/{seed}").random

    def choice(self, items: Sequence[Item]) -> Item:
        return items[int(self._random() * len(items))]

    def bernoulli(self, probability: float) -> bool:
        return self._random() < probability
