"""Whether cost runs away: the straight line that the smaller points foretell, and where the largest is beside it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Point = tuple[float, float]
FEWEST = 3  # points, of which the last is foretold


@dataclass(frozen=True)
class Straight:
    """y = start + slope * x."""

    start: float
    slope: float

    def at(self, x: float) -> float:
        return self.start + self.slope * x


def foretold(points: Sequence[Point]) -> Straight:
    """The line through all points but the last, with the least squares of relative distance: all count the same."""
    x, y = np.array(points[:-1], dtype=float).T
    equations = np.stack([np.ones_like(x), x], axis=1) / y[:, None]
    start, slope = np.linalg.lstsq(equations, np.ones_like(x), rcond=None)[0]
    return Straight(float(start), float(slope))


def excess(points: Sequence[Point]) -> float:
    """By what share the last point is above the line through the others; far above nothing, cost runs away."""
    x, y = points[-1]
    return y / foretold(points).at(x) - 1
