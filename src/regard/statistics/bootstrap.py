"""The bootstrap: how much a statistic varies over resamples of the sentences it was computed on."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt


def bootstrap_standard_error(
    statistic: Callable[[npt.NDArray[np.int64]], float], count: int, *, resamples: int, seed: int
) -> float:
    """Return the standard error of `statistic`, a function of indices into `count` cases, sampled with replacement."""
    samples = np.random.default_rng(seed).integers(count, size=(resamples, count))
    return float(np.std([statistic(indices) for indices in samples]))
