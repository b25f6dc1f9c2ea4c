"""Intervals hold what they promise: against published figures, exact sums and drawn samples."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from regard.statistics.intervals import mean, proportion
from regard.statistics.multiplicity import significance_threshold, z_score


def test_wilson_as_published():
    found = proportion([1] * 40 + [0] * 10, [1] * 50)
    assert found is not None and found.count == 50
    assert (found.low, found.high) == pytest.approx((0.67, 0.89), abs=0.005)
    found = proportion([1] * 400 + [0] * 100, [1] * 500)
    assert found is not None and (found.low, found.high) == pytest.approx((0.76, 0.83), abs=0.005)


def test_cases_that_go_together_count_as_one():
    alone = proportion([1, 0] * 50, [1] * 100)
    together = proportion([10, 0] * 50, [10] * 100)
    apart = proportion([4, 6] * 50, [10] * 100)
    assert alone is not None and together is not None and apart is not None
    assert together.count == 1000 and (together.low, together.high) == pytest.approx((alone.low, alone.high), abs=0.002)
    assert apart.high - apart.low < 0.75 * (alone.high - alone.low)  # within a sentence they do not go together
    assert proportion([0, 0], [0, 0]) is None


def test_an_interval_for_many_is_wider():
    one, many = proportion([1, 0] * 50, [1] * 100), proportion([1, 0] * 50, [1] * 100, tests=48)
    assert one is not None and many is not None and many.low < one.low < one.high < many.high
    assert z_score(1) == pytest.approx(1.96, abs=0.001)
    assert z_score(50) == pytest.approx(3.29, abs=0.001)  # 0.1 % on both sides together


def test_a_share_of_sentences_is_caught_nineteen_times_of_twenty():
    chance = np.random.default_rng(3)
    caught = 0
    for _ in range(400):
        cases = chance.integers(1, 5, size=120)
        likely = chance.beta(2, 1, size=120)  # a sentence is easy or hard
        found = proportion(chance.binomial(cases, likely), cases)
        assert found is not None
        caught += found.low <= 2 / 3 <= found.high
    assert 0.92 <= caught / 400 <= 0.98


def test_the_mean_is_that_of_drawn_samples():
    chance = np.random.default_rng(4)
    values, weights = chance.normal(size=300), chance.integers(1, 20, size=300)
    found = mean(values, weights=weights)
    assert found.value == pytest.approx(np.average(values, weights=weights))
    drawn = chance.integers(300, size=(2000, 300))
    low, high = np.quantile([np.average(values[one], weights=weights[one]) for one in drawn], (0.025, 0.975))
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.02)
    assert mean([2.0, 2.0, 2.0]).high == 2.0


@pytest.mark.parametrize(("pairs", "least"), [(30, 16), (50, 23), (100, 40), (200, 70)])
def test_the_threshold_for_48_heads(pairs, least):
    assert significance_threshold(pairs, 0.25, 48) == least


@pytest.mark.parametrize(("cases", "tests"), [(1, 1), (7, 3), (40, 144), (500, 48)])
def test_the_threshold_is_the_exact_one(cases, tests):
    def tail(hits: int) -> Fraction:
        terms = (comb(cases, k) * 3 ** (cases - k) for k in range(hits, cases + 1))
        return Fraction(sum(terms), 4**cases)

    least = significance_threshold(cases, 0.25, tests)
    assert tail(least) <= Fraction(1, 20 * tests) < tail(least - 1)
