"""Computed permutations are bijections, look random, and never change."""

import numpy as np
import pytest

from regard.data.permutation import permute


@pytest.mark.parametrize("pairs", [*range(1, 201), 1000, 12_345, 65_536, 65_537])
def test_the_permutation_is_a_bijection(pairs: int) -> None:
    result = permute(np.arange(pairs), pairs, 1, 2)
    assert np.array_equal(np.sort(result), np.arange(pairs))


def test_the_permutation_is_computed_for_any_positions() -> None:
    complete = permute(np.arange(1000), 1000, 1, 0)
    assert np.array_equal(permute(np.arange(400, 500), 1000, 1, 0), complete[400:500])


def test_the_permutation_looks_random() -> None:
    result = permute(np.arange(12_345), 12_345, 1, 0)
    assert abs(np.corrcoef(np.arange(12_345), result)[0, 1]) < 0.03
    assert np.mean(np.abs(np.diff(result)) == 1) < 0.001
    # Over many epochs the first position holds every pair about equally often: chi-squared with 9 degrees of freedom.
    first = np.bincount([int(permute(np.array([0]), 10, 1, number)[0]) for number in range(2000)], minlength=10)
    assert float(((first - 200) ** 2 / 200).sum()) < 30


def test_the_permutation_never_changes() -> None:
    """A later version must resume a run in the same order."""
    assert permute(np.arange(8), 8, 1, 0).tolist() == [3, 0, 4, 7, 5, 6, 2, 1]
    assert permute(np.arange(5), 10**10, 1, 0).tolist() == [9139775028, 6225180028, 6352789796, 2174413184, 2877392080]
