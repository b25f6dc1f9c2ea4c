"""Intervals agree with published values, exact sums and simulated samples."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from regard.statistics.intervals import mean, proportion
from regard.statistics.multiplicity import significance_threshold, z_score


def test_wilson_intervals_equal_published_values():
    estimate = proportion([1] * 40 + [0] * 10, [1] * 50)
    assert estimate is not None and estimate.count == 50
    assert (estimate.low, estimate.high) == pytest.approx((0.67, 0.89), abs=0.005)
    estimate = proportion([1] * 400 + [0] * 100, [1] * 500)
    assert estimate is not None and (estimate.low, estimate.high) == pytest.approx((0.76, 0.83), abs=0.005)


def test_correlated_cases_of_a_sentence_count_as_one():
    single = proportion([1, 0] * 50, [1] * 100)
    correlated = proportion([10, 0] * 50, [10] * 100)
    independent = proportion([4, 6] * 50, [10] * 100)
    assert single is not None and correlated is not None and independent is not None
    assert correlated.count == 1000
    assert (correlated.low, correlated.high) == pytest.approx((single.low, single.high), abs=0.002)
    assert independent.high - independent.low < 0.75 * (single.high - single.low)
    assert proportion([0, 0], [0, 0]) is None


def test_intervals_are_wider_for_many_tests():
    one, many = proportion([1, 0] * 50, [1] * 100), proportion([1, 0] * 50, [1] * 100, tests=48)
    assert one is not None and many is not None and many.low < one.low < one.high < many.high
    assert z_score(1) == pytest.approx(1.96, abs=0.001)
    assert z_score(50) == pytest.approx(3.29, abs=0.001)  # 0.1 % in total on both sides


def test_intervals_of_proportions_have_95_percent_coverage():
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(400):
        cases = rng.integers(1, 5, size=120)
        hit_rate = rng.beta(2, 1, size=120)  # the probability of a hit differs between sentences
        estimate = proportion(rng.binomial(cases, hit_rate), cases)
        assert estimate is not None
        covered += estimate.low <= 2 / 3 <= estimate.high
    assert 0.92 <= covered / 400 <= 0.98


def test_intervals_of_means_equal_bootstrap_intervals():
    rng = np.random.default_rng(4)
    values, weights = rng.normal(size=300), rng.integers(1, 20, size=300)
    estimate = mean(values, weights=weights)
    assert estimate.value == pytest.approx(np.average(values, weights=weights))
    samples = rng.integers(300, size=(2000, 300))
    low, high = np.quantile([np.average(values[rows], weights=weights[rows]) for rows in samples], (0.025, 0.975))
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=0.02)
    assert mean([2.0, 2.0, 2.0]).high == 2.0


@pytest.mark.parametrize(("pairs", "threshold"), [(30, 16), (50, 23), (100, 40), (200, 70)])
def test_significance_thresholds_for_48_heads(pairs, threshold):
    assert significance_threshold(pairs, 0.25, 48) == threshold


@pytest.mark.parametrize(("cases", "tests"), [(1, 1), (7, 3), (40, 144), (500, 48)])
def test_significance_thresholds_are_exact(cases, tests):
    def tail(hits: int) -> Fraction:
        terms = (comb(cases, k) * 3 ** (cases - k) for k in range(hits, cases + 1))
        return Fraction(sum(terms), 4**cases)

    threshold = significance_threshold(cases, 0.25, tests)
    assert tail(threshold) <= Fraction(1, 20 * tests) < tail(threshold - 1)
