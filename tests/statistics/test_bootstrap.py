"""The bootstrap standard error is reproducible and agrees with theory."""

import numpy as np
import pytest

from regard.statistics.bootstrap import bootstrap_standard_error


def test_the_standard_error_of_a_mean_agrees_with_theory():
    values = np.random.default_rng(1).normal(size=400)
    error = bootstrap_standard_error(lambda rows: float(values[rows].mean()), 400, resamples=2000, seed=2)
    assert error == pytest.approx(values.std() / 20, rel=0.05)


def test_the_same_seed_gives_the_same_samples():
    samples: list[list[int]] = []

    def statistic(rows: np.ndarray) -> float:
        samples.append(rows.tolist())
        return float(rows.sum())

    first = bootstrap_standard_error(statistic, 7, resamples=5, seed=3)
    assert first == bootstrap_standard_error(statistic, 7, resamples=5, seed=3)
    assert samples[:5] == samples[5:] == np.random.default_rng(3).integers(7, size=(5, 7)).tolist()
