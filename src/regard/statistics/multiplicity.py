"""Bonferroni-corrected thresholds, for many tests at once."""

from math import exp, lgamma, log, log1p
from statistics import NormalDist

SIGNIFICANCE_LEVEL = 0.05  # probability that any interval of a set misses


def z_score(tests: int) -> float:
    """Return the half-width of a two-sided interval in standard errors, corrected for the number of tests."""
    return NormalDist().inv_cdf(1 - SIGNIFICANCE_LEVEL / tests / 2)


def significance_threshold(cases: int, probability: float, tests: int) -> int:
    """Return the smallest number of hits that is significant, if each case hits by chance with `probability`.

    With probability 0.95, none of `tests` such binomial counts reaches it by chance.
    """
    tail, hits = 0.0, cases + 1
    while hits > 0:
        tail += exp(_log_binomial(cases, hits - 1, probability))
        if tail > SIGNIFICANCE_LEVEL / tests:
            break
        hits -= 1
    return hits


def _log_binomial(cases: int, hits: int, probability: float) -> float:
    log_combinations = lgamma(cases + 1) - lgamma(hits + 1) - lgamma(cases - hits + 1)
    return log_combinations + hits * log(probability) + (cases - hits) * log1p(-probability)
