"""Fit a line to all points but the last, and compare the last point with it: does cost grow linearly?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Point = tuple[float, float]
MIN_POINTS = 3


@dataclass(frozen=True)
class Line:
    """y = intercept + slope * x."""

    intercept: float
    slope: float

    def at(self, x: float) -> float:
        return self.intercept + self.slope * x


def extrapolate(points: Sequence[Point]) -> Line:
    """Fit a line to all points but the last by least squares of the relative error."""
    x, y = np.array(points[:-1], dtype=float).T
    equations = np.stack([np.ones_like(x), x], axis=1) / y[:, None]
    intercept, slope = np.linalg.lstsq(equations, np.ones_like(x), rcond=None)[0]
    return Line(float(intercept), float(slope))


def excess(points: Sequence[Point]) -> float:
    """Return how far the last point is above the line through the others, as a fraction of the line's value."""
    x, y = points[-1]
    return y / extrapolate(points).at(x) - 1
