"""How sure a figure is: intervals of shares and of means, and what chance alone would reach.

Where the best of many is looked for, each interval is wider by Bonferroni's rule: with 48 heads, each is an interval of
99.9 %, so that all 48 together hold in 19 of 20 samples.
"""

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
import numpy.typing as npt

from regard.statistics.multiplicity import z_score


@dataclass(frozen=True)
class Estimate:
    """A measured value, between which bounds it lies, and how many cases it is of."""

    value: float
    low: float
    high: float
    count: int

    def __format__(self, form: str) -> str:
        """`0.93 [0.91, 0.95]`, each number by the form given."""
        return f"{self.value:{form}} [{self.low:{form}}, {self.high:{form}}]"


def proportion(hits: npt.ArrayLike, cases: npt.ArrayLike, *, tests: int = 1) -> Estimate | None:
    """The share of cases that hit, counted for each sentence; None where there is no case.

    Wilson's interval, with fewer cases where those of a sentence go together: what varies is the sentence.
    """
    hit, of = np.asarray(hits, dtype=float), np.asarray(cases, dtype=float)
    count = float(of.sum())
    if not count:
        return None
    value = float(hit.sum()) / count
    spread = float(((hit - value * of) ** 2).sum()) / count**2
    sentences = float((of > 0).sum())
    effective = min(count, max(sentences, value * (1 - value) / spread if spread else 0.0))
    z2 = z_score(tests) ** 2
    middle = (value + z2 / (2 * effective)) / (1 + z2 / effective)
    reach = sqrt(z2 * (value * (1 - value) / effective + z2 / (4 * effective**2))) / (1 + z2 / effective)
    return Estimate(value, max(0.0, middle - reach), min(1.0, middle + reach), round(count))


def mean(values: npt.ArrayLike, *, weights: npt.ArrayLike | None = None, tests: int = 1) -> Estimate:
    """The mean, each sentence counted by its weight, such as how many pieces it has; for some thirty or more."""
    each = np.asarray(values, dtype=float)
    weight = np.ones_like(each) if weights is None else np.asarray(weights, dtype=float)
    value = float((each * weight).sum() / weight.sum())
    more = len(each) / (len(each) - 1) if len(each) > 1 else inf
    error = sqrt(float(((weight * (each - value)) ** 2).sum()) * more) / float(weight.sum())
    reach = z_score(tests) * error
    return Estimate(value, value - reach, value + reach, len(each))
