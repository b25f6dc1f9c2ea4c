"""Sentences to look at."""

from itertools import islice

import pytest

from regard.data.synthetic.generator import draw_minimal_pairs, draw_sentences
from regard.data.synthetic.grammar.realization import Pair
from regard.data.synthetic.rng import Rng


@pytest.fixture(scope="session")
def sample() -> list[Pair]:
    """Sentences of every kind and every split."""
    return list(islice(draw_sentences(Rng(1, "tests")), 5_000))


@pytest.fixture(scope="session")
def scenes() -> list[tuple[Pair, Pair]]:
    """Flips of every split."""
    return list(islice(draw_minimal_pairs(Rng(1, "tests")), 5_000))
