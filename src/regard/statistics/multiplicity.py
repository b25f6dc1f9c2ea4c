"""Bonferroni-corrected thresholds for several statistical tests at once."""

from math import exp, lgamma, log, log1p
from statistics import NormalDist

SIGNIFICANCE_LEVEL = 0.05  # maximum probability that any of several intervals misses the true value


def z_score(tests: int) -> float:
    """Return the half-width of a confidence interval in standard errors, corrected for the number of tests."""
    return NormalDist().inv_cdf(1 - SIGNIFICANCE_LEVEL / tests / 2)


def significance_threshold(cases: int, probability: float, tests: int) -> int:
    """Return the smallest number of hits among `cases` that is significant.

    By chance, each case is a hit with `probability`. If each of several tests counts hits in this way, the probability
    that any count reaches the threshold by chance is at most 5 %. `tests` is the number of tests.
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
