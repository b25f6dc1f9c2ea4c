"""A measured value with its confidence interval and the number of cases."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """A measured value with its confidence interval, and the number of cases that were measured."""

    value: float
    low: float
    high: float
    count: int

    def __format__(self, form: str) -> str:
        """Format as `0.93 [0.91, 0.95] (n 60)`, each number of the interval with the given format specification.

        A mean of equal values has no interval.
        """
        if self.low == self.high:
            return f"{self.value:{form}} (no interval: the same in all {self.count} cases)"
        return f"{self.value:{form}} [{self.low:{form}}, {self.high:{form}}] (n {self.count})"
