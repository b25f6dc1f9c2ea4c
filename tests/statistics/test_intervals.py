"""Intervals agree with published values, exact sums and simulated samples, and never claim certainty."""

import numpy as np
import pytest
from scipy.stats import beta, binom, t

from regard.statistics.estimate import Estimate
from regard.statistics.intervals import mean, proportion, proportion_change


def estimate(hits: int, cases: int, tests: int = 1) -> Estimate:
    found = proportion([1] * hits + [0] * (cases - hits), [1] * cases, tests=tests)
    assert found is not None
    return found


def test_intervals_equal_published_values_of_clopper_and_pearson():
    # Newcombe (1998), table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    for hits, cases, low, high in ((81, 263, 0.2527, 0.3676), (15, 148, 0.0578, 0.1617), (0, 20, 0, 0.1684),
                                   (1, 29, 0.0009, 0.1776)):  # fmt: skip
        found = estimate(hits, cases)
        assert found.count == cases
        assert (found.low, found.high) == pytest.approx((low, high), abs=1e-4)


@pytest.mark.parametrize("tests", [1, 60])
@pytest.mark.parametrize("cases", [1, 2, 5, 10, 20, 40, 60, 100, 250, 500])
def test_coverage_of_proportions_is_at_least_nominal(cases, tests):
    """The coverage is summed exactly over all possible numbers of hits."""
    intervals = [estimate(hits, cases, tests) for hits in range(cases + 1)]
    assert all(0 <= one.low <= one.value <= one.high <= 1 and one.low < one.high for one in intervals)
    for p in (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.975, 0.99, 0.995):
        coverage = sum(binom.pmf(hits, cases, p) for hits, one in enumerate(intervals) if one.low <= p <= one.high)
        assert coverage >= 1 - 0.05 / tests - 1e-9


def test_correlated_cases_of_a_cluster_count_as_one():
    single = estimate(50, 100)
    correlated = proportion([10, 0] * 50, [10] * 100)
    independent = proportion([4, 6] * 50, [10] * 100)
    assert correlated is not None and independent is not None
    assert correlated.count == 1000
    assert (correlated.low, correlated.high) == pytest.approx((single.low, single.high), abs=0.005)
    assert independent.high - independent.low < 0.75 * (single.high - single.low)
    assert proportion([0, 0], [0, 0]) is None


def test_clusters_are_summed():
    hits, clusters = [1, 0, 1, 1, 0, 1, 1, 1], ["a", "b", "a", "c", "b", "c", "a", "b"]
    assert proportion(hits, [1] * 8, clusters=clusters) == proportion([3, 1, 2], [3, 3, 2])
    values = [1.0, 2.0, 4.0, 3.0, 5.0, 0.0]
    apart = mean(values, clusters=[0, 1, 2, 3, 4, 5])
    assert apart == mean(values)
    assert mean(values, clusters=[0, 0, 1, 1, 2, 2]) != apart


def test_if_all_cases_are_hits_the_clusters_count():
    found = proportion([40] * 23, [40] * 23)
    assert found is not None
    alone = estimate(23, 23)
    assert found.high == 1 and found.low <= alone.low < 0.9


def test_the_variance_of_few_clusters_is_that_of_a_sample():
    """Korn and Graubard's variance between clusters has the factor n / (n - 1)."""
    hits, cases = np.array([9.0, 5.0, 4.0, 8.0]), np.full(4, 10.0)
    variance = hits.var(ddof=1) / 4 / 10**2
    effective = 0.65 * 0.35 / variance * (t.ppf(0.975, 39) / t.ppf(0.975, 3)) ** 2
    found = proportion(hits, cases)
    assert found is not None and found.low == pytest.approx(beta.ppf(0.025, 0.65 * effective, 0.35 * effective + 1))


def test_intervals_are_wider_for_many_tests():
    assert estimate(50, 100, 48).low < estimate(50, 100).low < estimate(50, 100).high < estimate(50, 100, 48).high


@pytest.mark.parametrize("clusters", [23, 120])
def test_intervals_of_clustered_proportions_have_95_percent_coverage(clusters):
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(400):
        cases = rng.integers(1, 40, size=clusters)
        hit_rate = rng.beta(4, 1, size=clusters)  # the probability of a hit differs between clusters
        found = proportion(rng.binomial(cases, hit_rate), cases)
        assert found is not None
        covered += found.low <= 4 / 5 <= found.high
    assert covered / 400 >= 0.93


def test_changes_of_proportions_are_covered_and_never_certain():
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(200):
        before = rng.random(60) < 0.9
        after = np.where(rng.random(60) < 0.2, rng.random(60) < 0.5, before)
        found = proportion_change(before, after)
        covered += found.low <= -0.08 <= found.high  # 0.2 · (0.5 - 0.9)
        assert -1 <= found.low < found.high <= 1 and found.value == pytest.approx(after.mean() - before.mean())
    assert covered >= 190
    same = proportion_change([True] * 40, [True] * 40)
    assert same.value == 0 and same.low == pytest.approx(-same.high) and 0.08 < same.high < 0.12


def test_draws_of_a_control_are_no_further_cases():
    before, after = [True] * 30 + [False] * 10, [True] * 20 + [False] * 20
    once = proportion_change(before, after)
    assert proportion_change([before] * 3, after) == once and once.count == 40
    mixed = proportion_change([before, after], after)  # half of the draws are like the result
    assert mixed.value == once.value / 2
    weights = np.repeat([3.0, 1.0], [10, 30])
    assert proportion_change(before, after, weights=weights).value == pytest.approx(-10 / 60)


def test_intervals_of_means_are_those_of_student():
    values = [3.1, 2.9, 4.2, 3.6, 2.2]
    found = mean(values)
    half = 2.776445 * np.std(values, ddof=1) / np.sqrt(5)
    assert (found.low, found.high) == pytest.approx((np.mean(values) - half, np.mean(values) + half), abs=1e-5)
    rng = np.random.default_rng(4)
    draws, weights = rng.normal(size=300), rng.integers(1, 20, size=300)
    weighted = mean(draws, weights=weights)
    assert weighted.value == pytest.approx(np.average(draws, weights=weights))
    samples = rng.integers(300, size=(2000, 300))
    low, high = np.quantile([np.average(draws[rows], weights=weights[rows]) for rows in samples], (0.025, 0.975))
    assert (weighted.low, weighted.high) == pytest.approx((low, high), abs=0.02)


def test_equal_values_have_no_interval():
    assert f"{mean([0.0, 0.0, 0.0]):+.3f}" == "+0.000 (no interval: the same in all 3 cases)"
    assert f"{Estimate(0.5, 0.4, 0.6, 30):.2f}" == "0.50 [0.40, 0.60] (n 30)"
