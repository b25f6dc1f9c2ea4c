"""Orders that are computed: bijections, random enough, and the same for ever."""

import numpy as np
import pytest

from regard.data.permutation import permute


@pytest.mark.parametrize("pairs", [*range(1, 201), 1000, 12_345, 65_536, 65_537])
def test_the_shuffle_is_a_bijection(pairs: int) -> None:
    found = permute(np.arange(pairs), pairs, 1, 2)
    assert np.array_equal(np.sort(found), np.arange(pairs))


def test_the_shuffle_is_computed_for_any_places_alone() -> None:
    whole = permute(np.arange(1000), 1000, 1, 0)
    assert np.array_equal(permute(np.arange(400, 500), 1000, 1, 0), whole[400:500])


def test_the_shuffle_looks_random() -> None:
    found = permute(np.arange(12_345), 12_345, 1, 0)
    assert abs(np.corrcoef(np.arange(12_345), found)[0, 1]) < 0.03
    assert np.mean(np.abs(np.diff(found)) == 1) < 0.001
    # Over many epochs the first place holds every pair about equally often: chi-squared with 9 degrees of freedom.
    first = np.bincount([int(permute(np.array([0]), 10, 1, number)[0]) for number in range(2000)], minlength=10)
    assert float(((first - 200) ** 2 / 200).sum()) < 30


def test_the_shuffle_stays_what_it_was() -> None:
    """A run must resume in the same order with a later version."""
    assert permute(np.arange(8), 8, 1, 0).tolist() == [3, 0, 4, 7, 5, 6, 2, 1]
    assert permute(np.arange(5), 10**10, 1, 0).tolist() == [9139775028, 6225180028, 6352789796, 2174413184, 2877392080]
