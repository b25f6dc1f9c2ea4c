"""Sentences to look at."""

from itertools import islice

import pytest

from regard.data.language.dice import Dice
from regard.data.language.sentences import flips, sentences
from regard.data.language.writing import Pair


@pytest.fixture(scope="session")
def sample() -> list[Pair]:
    """Sentences of every kind and every split."""
    return list(islice(sentences(Dice(1, "tests")), 5_000))


@pytest.fixture(scope="session")
def scenes() -> list[tuple[Pair, Pair]]:
    """Flips of every split."""
    return list(islice(flips(Dice(1, "tests")), 5_000))
