"""Estimates of proportions and means, with confidence intervals.

If the best of many attention heads is chosen, a Bonferroni correction widens the intervals. With 48 heads, each
interval has a confidence of 99.9 %, so that all 48 contain their true value with a probability of at least 95 %.
"""

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
import numpy.typing as npt

from regard.statistics.multiplicity import z_score


@dataclass(frozen=True)
class Estimate:
    """A measured value with its confidence interval, and the number of cases that were measured."""

    value: float
    low: float
    high: float
    count: int

    def __format__(self, form: str) -> str:
        """Format as `0.93 [0.91, 0.95]`, each number with the given format specification."""
        return f"{self.value:{form}} [{self.low:{form}}, {self.high:{form}}]"


def proportion(hits: npt.ArrayLike, cases: npt.ArrayLike, *, tests: int = 1) -> Estimate | None:
    """Estimate the proportion of hits among cases, or return None if there are no cases.

    `hits` and `cases` have one count for each sentence. The result has a Wilson interval with a design effect: cases in
    the same sentence are correlated, so the effective number of cases may be as low as the number of sentences.
    """
    hit_counts, case_counts = np.asarray(hits, dtype=float), np.asarray(cases, dtype=float)
    count = float(case_counts.sum())
    if not count:
        return None
    value = float(hit_counts.sum()) / count
    variance = float(((hit_counts - value * case_counts) ** 2).sum()) / count**2
    sentences = float((case_counts > 0).sum())
    effective = min(count, max(sentences, value * (1 - value) / variance if variance else 0.0))
    z2 = z_score(tests) ** 2
    middle = (value + z2 / (2 * effective)) / (1 + z2 / effective)
    half_width = sqrt(z2 * (value * (1 - value) / effective + z2 / (4 * effective**2))) / (1 + z2 / effective)
    return Estimate(value, max(0.0, middle - half_width), min(1.0, middle + half_width), round(count))


def mean(values: npt.ArrayLike, *, weights: npt.ArrayLike | None = None, tests: int = 1) -> Estimate:
    """Estimate the mean of one value per sentence, optionally weighted, for example by the number of tokens.

    The interval assumes a normal distribution of the mean, which needs about 30 sentences or more.
    """
    per_sentence = np.asarray(values, dtype=float)
    weight = np.ones_like(per_sentence) if weights is None else np.asarray(weights, dtype=float)
    value = float((per_sentence * weight).sum() / weight.sum())
    count = len(per_sentence)
    correction = count / (count - 1) if count > 1 else inf
    standard_error = sqrt(float(((weight * (per_sentence - value)) ** 2).sum()) * correction) / float(weight.sum())
    half_width = z_score(tests) * standard_error
    return Estimate(value, value - half_width, value + half_width, count)
