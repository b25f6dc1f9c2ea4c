"""Mixed corpora: the shares asked for, every pair in its turn, and the same from any place."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.batching.mixture import Mixture
from regard.data.permutation import permute


def epoch(mixture: Mixture, number: int, seed: int = 1) -> np.ndarray:
    return mixture.draw(np.arange(len(mixture)), seed, number)


def counts(mixture: Mixture, epochs: int, pairs: int, seed: int = 1) -> np.ndarray:
    """How often each pair was drawn."""
    drawn = np.concatenate([epoch(mixture, number, seed) for number in range(epochs)])
    return np.bincount(drawn, minlength=pairs)


def test_without_weights_an_epoch_is_the_plain_shuffle() -> None:
    assert np.array_equal(epoch(Mixture([30, 70], [1.0, 1.0]), 3), permute(np.arange(100), 100, 1, 3))


def test_a_weight_is_how_often_a_pair_is_drawn() -> None:
    found = counts(Mixture([100, 10, 40], [0.3, 2.0, 1.5]), 10, 150)
    assert (found[:100] == 3).all()
    assert (found[100:110] == 20).all()
    assert (found[110:] == 15).all()


@given(
    st.lists(st.tuples(st.integers(0, 50), st.fractions("0.05", 4)), min_size=1, max_size=4).filter(
        lambda parts: any(size for size, _ in parts)
    ),
    st.integers(0, 2**40),
)
def test_no_pair_is_ever_ahead_of_another_by_more_than_one(parts: list[tuple[int, Fraction]], seed: int) -> None:
    sizes, weights = [size for size, _ in parts], [float(weight) for _, weight in parts]
    mixture = Mixture(sizes, weights)
    assert len(mixture) == sum(max(1, round(w * n)) for n, w in zip(sizes, weights, strict=True) if n)
    found = counts(mixture, 3, sum(sizes), seed)
    for start, size in zip(np.cumsum([0, *sizes]), sizes, strict=False):
        assert np.ptp(found[start : start + size]) <= 1 if size else True


@pytest.mark.parametrize("first", [0, 1, 37, 160])
def test_any_place_is_found_without_those_before_it(first: int) -> None:
    mixture = Mixture([100, 10, 40], [0.3, 2.0, 3.0])
    assert np.array_equal(mixture.draw(np.arange(first, 170), 1, 7), epoch(mixture, 7)[first:])


def test_the_least_weight_still_draws_a_pair() -> None:
    assert len(Mixture([100, 3], [1.0, 0.01])) == 101


def test_epochs_and_seeds_differ() -> None:
    mixture = Mixture([100, 50], [0.5, 1.0])
    assert not np.array_equal(epoch(mixture, 0), epoch(mixture, 1))
    assert not np.array_equal(epoch(mixture, 0), epoch(mixture, 0, seed=2))
