"""The paired sign test rarely finds what is not there, also if whole clusters go one way, and finds what is there."""

from itertools import product

import numpy as np
import pytest

from regard.statistics.paired_tests import paired_sign_test

FRAMES = 23


def test_one_question_equals_the_count_of_all_signs():
    signs, clusters = [1, 1, 1, -1, 1, 1, 0, 1], [0, 0, 1, 1, 2, 3, 4, 5]
    sums = np.array([2, 0, 1, 1, 0, 1])
    exact = np.mean([np.dot(draw, sums) >= sums.sum() for draw in product((-1, 1), repeat=len(sums))])
    (p,) = paired_sign_test([signs], clusters, seed=1)
    assert p == pytest.approx(exact, abs=0.01)


def test_a_cluster_counts_as_one_case():
    signs = [1] * 300  # three clusters all go one way, which happens by chance in one of eight
    (p,) = paired_sign_test([signs], np.repeat([0, 1, 2], 100), seed=1)
    assert p == pytest.approx(1 / 8, abs=0.02)
    (p,) = paired_sign_test([signs], range(300), seed=1)
    assert p < 0.001


def test_a_question_without_cases_is_not_significant():
    assert paired_sign_test([[0, 0, 0], [1, 1, 1]], [0, 1, 2], seed=1)[0] == 1


@pytest.mark.parametrize("unit", ["cases", "clusters"])
def test_sixty_questions_with_random_answers_are_rarely_significant(unit):
    rng, clusters = np.random.default_rng(7), np.arange(500) % FRAMES
    found = 0
    for trial in range(100):
        if unit == "cases":
            signs = rng.choice([-1, 1], size=(60, 500))
        else:
            signs = rng.choice([-1, 1], size=(60, FRAMES))[:, clusters]
        found += paired_sign_test(signs, clusters, seed=trial).min() <= 0.05
    assert found <= 10  # 5 are expected


def test_a_question_with_60_percent_right_answers_is_usually_significant():
    rng, clusters = np.random.default_rng(8), np.arange(500) % FRAMES
    found = 0
    for trial in range(100):
        signs = rng.choice([-1, 1], size=(60, 500))
        signs[0] = np.where(rng.random(500) < 0.6, 1, -1)
        found += paired_sign_test(signs, clusters, seed=trial)[0] <= 0.05
    assert found >= 82  # 90 are expected
