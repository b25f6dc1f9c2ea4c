"""Mixed corpora have the requested proportions, use all pairs equally often, and can be entered anywhere."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.batching.mixture import Mixture
from regard.data.permutation import permute


def epoch(mixture: Mixture, number: int, seed: int = 1) -> np.ndarray:
    return mixture.sample(np.arange(len(mixture)), seed, number)


def counts(mixture: Mixture, epochs: int, pairs: int, seed: int = 1) -> np.ndarray:
    """Return how often each pair was sampled."""
    sampled = np.concatenate([epoch(mixture, number, seed) for number in range(epochs)])
    return np.bincount(sampled, minlength=pairs)


def test_without_weights_an_epoch_is_a_plain_permutation() -> None:
    assert np.array_equal(epoch(Mixture([30, 70], [1.0, 1.0]), 3), permute(np.arange(100), 100, 1, 3))


def test_a_weight_is_how_often_a_pair_is_sampled_per_epoch() -> None:
    found = counts(Mixture([100, 10, 40], [0.3, 2.0, 1.5]), 10, 150)
    assert (found[:100] == 3).all()
    assert (found[100:110] == 20).all()
    assert (found[110:] == 15).all()


@given(
    st.lists(st.tuples(st.integers(0, 50), st.fractions("0.05", 4)), min_size=1, max_size=4).filter(
        lambda corpora: any(size for size, _ in corpora)
    ),
    st.integers(0, 2**40),
)
def test_sample_counts_of_pairs_never_differ_by_more_than_one(corpora: list[tuple[int, Fraction]], seed: int) -> None:
    sizes, weights = [size for size, _ in corpora], [float(weight) for _, weight in corpora]
    mixture = Mixture(sizes, weights)
    assert len(mixture) == sum(max(1, round(w * n)) for n, w in zip(sizes, weights, strict=True) if n)
    found = counts(mixture, 3, sum(sizes), seed)
    for start, size in zip(np.cumsum([0, *sizes]), sizes, strict=False):
        assert np.ptp(found[start : start + size]) <= 1 if size else True


@pytest.mark.parametrize("first", [0, 1, 37, 160])
def test_any_position_is_computed_without_the_positions_before_it(first: int) -> None:
    mixture = Mixture([100, 10, 40], [0.3, 2.0, 3.0])
    assert np.array_equal(mixture.sample(np.arange(first, 170), 1, 7), epoch(mixture, 7)[first:])


def test_the_smallest_weight_still_samples_a_pair() -> None:
    assert len(Mixture([100, 3], [1.0, 0.01])) == 101


def test_epochs_and_seeds_differ() -> None:
    mixture = Mixture([100, 50], [0.5, 1.0])
    assert not np.array_equal(epoch(mixture, 0), epoch(mixture, 1))
    assert not np.array_equal(epoch(mixture, 0), epoch(mixture, 0, seed=2))
