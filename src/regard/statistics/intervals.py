"""Estimates of proportions, of differences of proportions, and of means, with confidence intervals.

Cases of the same cluster, such as the words of a sentence or the sentences of a frame, resemble each other. They count
as fewer cases, and the number of clusters gives the degrees of freedom.

If the best of many attention heads is chosen, a Bonferroni correction widens the intervals. With 48 heads, each
interval has a confidence of 99.9 %, so that all 48 contain their true value with a probability of at least 95 %.
"""

from math import inf, sqrt

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, stdtrit

from regard.statistics.estimate import Estimate
from regard.statistics.multiplicity import SIGNIFICANCE_LEVEL

Array = npt.NDArray[np.float64]


def proportion(
    hits: npt.ArrayLike, cases: npt.ArrayLike, *, clusters: npt.ArrayLike | None = None, tests: int = 1
) -> Estimate | None:
    """Estimate the proportion of hits among cases, or return None if there are no cases.

    `hits` and `cases` have one count for each cluster or, with `clusters`, one for each item of a cluster. The interval
    is that of Clopper and Pearson (1934) for the effective number of cases, as proposed by Korn and Graubard (1998):
    the number of independent cases whose proportion would vary as much. The smallest possible number is used if the
    variation between clusters cannot be estimated, because all cases are hits or none is. With one case in each
    cluster, the interval is the exact one.
    """
    hit_counts, case_counts = _sums(hits, clusters), _sums(cases, clusters)
    count = float(case_counts.sum())
    if not count:
        return None
    value = float(hit_counts.sum()) / count
    number = int((case_counts > 0).sum())
    variance = float(((hit_counts - value * case_counts) ** 2).sum()) / count**2
    if 1 < number < count:
        variance *= number / (number - 1)
    smallest = count**2 / float((case_counts**2).sum())
    effective = min(count, max(smallest, value * (1 - value) / variance if variance else 0.0))
    if 1 < number < count:
        effective *= (_quantile(tests, count - 1) / _quantile(tests, number - 1)) ** 2
    low, high = _clopper_pearson(value * effective, effective, tests)
    return Estimate(value, min(low, value), max(high, value), round(count))


def _clopper_pearson(hits: float, cases: float, tests: int) -> tuple[float, float]:
    tail = SIGNIFICANCE_LEVEL / tests / 2
    low = float(betaincinv(hits, cases - hits + 1, tail)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, cases - hits, 1 - tail)) if hits < cases else 1.0
    return low, high


def proportion_change(
    before: npt.ArrayLike,
    after: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    clusters: npt.ArrayLike | None = None,
    tests: int = 1,
) -> Estimate:
    """Estimate how much a proportion changes, from whether each case is a hit before and after.

    Either may have several rows, such as draws of a control; then what counts is how often a case changes. Cases may
    have weights. The change is the proportion of new hits minus that of lost hits. Its interval is the difference of
    the intervals of these two, each with half of the permitted error. It is wider than needed, but never empty, and it
    stays within -1 and 1.
    """
    was, is_ = np.asarray(before, dtype=bool), np.asarray(after, dtype=bool)
    count = was.shape[-1]
    weight = np.ones(count) if weights is None else np.asarray(weights, dtype=float)
    gained, lost = (
        proportion(np.atleast_2d(changed).mean(axis=0) * weight, weight, clusters=clusters, tests=2 * tests)
        for changed in (~was & is_, was & ~is_)
    )
    assert gained is not None and lost is not None
    return Estimate(gained.value - lost.value, gained.low - lost.high, gained.high - lost.low, count)


def mean(
    values: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    clusters: npt.ArrayLike | None = None,
    tests: int = 1,
) -> Estimate:
    """Estimate the mean of one value per sentence, optionally weighted, for example by the number of tokens.

    The interval assumes a normal distribution of the means of the clusters (by default, of the sentences), and uses
    Student's t with one degree of freedom less than there are clusters.
    """
    per_sentence = np.asarray(values, dtype=float)
    weight = np.ones_like(per_sentence) if weights is None else np.asarray(weights, dtype=float)
    value = float((per_sentence * weight).sum() / weight.sum())
    deviations = _sums(weight * (per_sentence - value), clusters)
    number = len(deviations)
    if not deviations.any():
        return Estimate(value, value, value, len(per_sentence))
    if number < 2:
        return Estimate(value, -inf, inf, len(per_sentence))
    standard_error = sqrt(float((deviations**2).sum()) * number / (number - 1)) / float(weight.sum())
    half_width = _quantile(tests, number - 1) * standard_error
    return Estimate(value, value - half_width, value + half_width, len(per_sentence))


def _quantile(tests: int, degrees_of_freedom: float) -> float:
    """Return the half-width of an interval in standard errors, corrected for the number of tests."""
    return float(stdtrit(degrees_of_freedom, 1 - SIGNIFICANCE_LEVEL / tests / 2))


def _sums(values: npt.ArrayLike, clusters: npt.ArrayLike | None) -> Array:
    """Return the sum of the values of each cluster."""
    array = np.asarray(values, dtype=np.float64)
    if clusters is None:
        return array
    _, index = np.unique(np.asarray(clusters), return_inverse=True)
    return np.bincount(index, weights=array).astype(np.float64)
