"""A paired sign test by randomization: for several questions at once, on cases that come in clusters.

Each case is right (+1), wrong (-1) or neither (0). If right and wrong are equally likely, the sign of a whole cluster
can be changed without changing the distribution of the data, even if all cases of a cluster go the same way. The test
compares the largest statistic of all questions with its values under random changes of sign, which are the same for all
questions. This controls the probability that any question is significant by chance (Westfall and Young, 1993), without
an assumption about the distribution and with few clusters.
"""

import numpy as np
import numpy.typing as npt

_DRAWS = 10_000


def paired_sign_test(signs_QN: npt.ArrayLike, clusters_N: npt.ArrayLike, *, seed: int) -> npt.NDArray[np.float64]:
    """Return the p-value of each question, corrected for the number of questions.

    `signs_QN` has a row for each question and a column for each case. The alternative is that right is more likely
    than wrong.
    """
    signs = np.asarray(signs_QN, dtype=float)
    names, index = np.unique(np.asarray(clusters_N), return_inverse=True)
    sums_QC = np.stack([np.bincount(index, weights=row, minlength=len(names)) for row in signs])
    # The statistic of the sign test: right minus wrong, divided by its standard deviation if cases were independent.
    deviations = np.sqrt(np.abs(signs).sum(axis=1, keepdims=True))
    scaled_QC = np.divide(sums_QC, deviations, out=np.zeros_like(sums_QC), where=deviations > 0)
    draws_DC = np.random.default_rng(seed).choice([-1.0, 1.0], size=(_DRAWS, len(names)))
    largest_D = np.sort((draws_DC @ scaled_QC.T).max(axis=1))
    observed_Q = scaled_QC.sum(axis=1)
    # Rounding must not make a draw with an equal statistic look smaller.
    reached = _DRAWS - np.searchsorted(largest_D, observed_Q - 1e-9)
    return np.asarray((1 + reached) / (1 + _DRAWS))
