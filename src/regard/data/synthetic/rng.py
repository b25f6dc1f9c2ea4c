"""Choices by chance that are the same in every version of Python: of `random`, only `random()` promises that."""

import random
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


class Rng:
    """A stream of choices that depends on the seed and the purpose alone."""

    def __init__(self, seed: int, purpose: str) -> None:
        self._random = random.Random(f"{purpose}/{seed}").random

    def pick(self, items: Sequence[Item]) -> Item:
        return items[int(self._random() * len(items))]

    def chance(self, probability: float) -> bool:
        return self._random() < probability
