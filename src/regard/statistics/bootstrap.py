"""The bootstrap, which estimates how much a statistic varies between random samples of sentences."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt


def bootstrap_standard_error(
    statistic: Callable[[npt.NDArray[np.int64]], float], count: int, *, resamples: int, seed: int
) -> float:
    """Return the standard error of a statistic, estimated from resamples of `count` cases.

    `statistic` is called with the indices of the cases in a resample, which are drawn with replacement.
    """
    samples = np.random.default_rng(seed).integers(count, size=(resamples, count))
    return float(np.std([statistic(indices) for indices in samples]))
