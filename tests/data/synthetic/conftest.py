"""Samples of the synthetic language."""

from itertools import islice

import pytest

from regard.data.synthetic.generator import sample_minimal_pairs, sample_pairs
from regard.data.synthetic.grammar.realization import Pair
from regard.data.synthetic.rng import Rng


@pytest.fixture(scope="session")
def sample() -> list[Pair]:
    """Return pairs of every kind and every split."""
    return list(islice(sample_pairs(Rng(1, "tests")), 5_000))


@pytest.fixture(scope="session")
def minimal_pair_sample() -> list[tuple[Pair, Pair]]:
    """Return minimal pairs of every split."""
    return list(islice(sample_minimal_pairs(Rng(1, "tests")), 5_000))
