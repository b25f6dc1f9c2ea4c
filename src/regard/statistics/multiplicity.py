"""Thresholds that account for many tests at once."""

from math import exp, lgamma, log, log1p
from statistics import NormalDist

SIGNIFICANCE_LEVEL = 0.05  # how often some interval of a set may miss


def z_score(tests: int) -> float:
    """How many standard deviations an interval reaches to each side."""
    return NormalDist().inv_cdf(1 - SIGNIFICANCE_LEVEL / tests / 2)


def significance_threshold(cases: int, chance: float, tests: int) -> int:
    """The least number of hits that not even the luckiest of so many tests reaches by chance, 19 times of 20."""
    tail, hits = 0.0, cases + 1
    while hits > 0:
        tail += exp(_log_binomial(cases, hits - 1, chance))
        if tail > SIGNIFICANCE_LEVEL / tests:
            break
        hits -= 1
    return hits


def _log_binomial(cases: int, hits: int, chance: float) -> float:
    ways = lgamma(cases + 1) - lgamma(hits + 1) - lgamma(cases - hits + 1)
    return ways + hits * log(chance) + (cases - hits) * log1p(-chance)
