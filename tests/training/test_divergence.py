"""A run that diverges is noticed, one that merely stumbles is not, and nothing but its losses decides."""

import math
import random
from dataclasses import asdict
from pathlib import Path

import pytest

from regard.settings.train import TrainSettings
from regard.training.divergence import SKIPPED_IN_A_ROW, WORSE_IN_A_ROW, DivergenceMonitor, advice


def after(losses: list[float], health: DivergenceMonitor | None = None) -> DivergenceMonitor:
    health = health or DivergenceMonitor()
    for loss in losses:
        health = health.after(loss)
    return health


def noisy(count: int, start: float, end: float, spread: float = 0.3, seed: int = 1) -> list[float]:
    """Losses on their way from one level to another."""
    numbers = random.Random(seed)
    return [start + (end - start) * number / count + numbers.gauss(0, spread) for number in range(count)]


def test_a_run_that_learns_is_well() -> None:
    assert after(noisy(2_000, 9, 2)).trouble() is None


@pytest.mark.parametrize("spread", [0.01, 0.3, 1.0])
def test_losses_that_stay_far_above_their_lowest_are_trouble_in_time(spread: float) -> None:
    health = after(noisy(500, 9, 3, spread))
    steps = 0
    while health.trouble() is None:
        health = health.after(random.Random(steps).gauss(9, spread))
        steps += 1
        assert steps < 2 * WORSE_IN_A_ROW
    assert health.trouble() == (
        f"the loss is {health.level:.2f}, was {health.lowest:.2f} at its lowest, and has stayed far above that for 100 "
        "steps"
    )


def test_a_stumble_is_forgiven() -> None:
    losses = noisy(500, 9, 3) + [12.0] * 50 + noisy(300, 3, 2.5)
    health = DivergenceMonitor()
    for loss in losses:
        health = health.after(loss)
        assert health.trouble() is None


def test_a_rise_within_the_spread_is_no_trouble() -> None:
    assert after(noisy(500, 9, 3, spread=1.0) + noisy(1_000, 4.5, 4.5, spread=1.0)).trouble() is None


def test_a_fine_tune_may_rise_a_little_from_near_zero() -> None:
    assert after([0.1] * 100 + noisy(1_000, 0.9, 0.9, spread=0.01)).trouble() is None


def test_skipped_steps_are_forgiven_unless_they_follow_each_other() -> None:
    health = DivergenceMonitor()
    for _ in range(5 * SKIPPED_IN_A_ROW):
        for _ in range(SKIPPED_IN_A_ROW - 1):
            health = health.after_skipped()
        assert health.trouble() is None
        health = health.after(3.0)
    for _ in range(SKIPPED_IN_A_ROW):
        assert health.trouble() is None
        health = health.after_skipped()
    assert health.trouble() == "the gradients of the last 10 steps were not finite numbers"
    assert health.skipped == 5 * SKIPPED_IN_A_ROW * (SKIPPED_IN_A_ROW - 1) + SKIPPED_IN_A_ROW


def test_a_skipped_step_leaves_the_level_alone() -> None:
    """Or one number that is not finite would blind the rule for long."""
    health = after(noisy(100, 9, 3))
    skipped = health.after_skipped()
    assert asdict(skipped) == {**asdict(health), "skipped": 1, "skipped_in_a_row": 1}
    assert math.isfinite(skipped.after(3.0).level)


def test_the_advice_fits_the_settings() -> None:
    assert advice("it went up", 1_234, TrainSettings(learning_rate=0.3, warmup_steps=4_000), None) == (
        "the run diverges at step 1,234: it went up; start again in another --out, with a lower train.learning_rate "
        "(it is 0.3; try 0.1), or --set train.max_grad_norm=1, or a longer train.warmup_steps (it is 4,000 steps)"
    )
    assert advice("it went up", 9, TrainSettings(max_grad_norm=1.0), Path("best")).endswith(
        "a lower train.learning_rate (it is 1; try 0.3), or a longer train.warmup_steps (it is 4,000 steps); "
        "the weights of the best validation loss stay in best"
    )
