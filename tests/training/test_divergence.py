"""A diverging run is detected from its losses alone, and a temporary rise of the loss is tolerated."""

import math
import random
from dataclasses import asdict
from pathlib import Path

import pytest

from regard.settings.train import TrainSettings
from regard.training.divergence import SKIPPED_IN_A_ROW, WORSE_IN_A_ROW, DivergenceMonitor, divergence_message


def after(losses: list[float]) -> DivergenceMonitor:
    monitor = DivergenceMonitor()
    for loss in losses:
        monitor = monitor.after(loss)
    return monitor


def noisy(count: int, start: float, end: float, spread: float = 0.3, seed: int = 1) -> list[float]:
    """Return noisy losses that move from one level to another."""
    generator = random.Random(seed)
    return [start + (end - start) * step / count + generator.gauss(0, spread) for step in range(count)]


def test_a_falling_loss_is_no_problem() -> None:
    assert after(noisy(2_000, 9, 2)).problem() is None


@pytest.mark.parametrize("spread", [0.01, 0.3, 1.0])
def test_losses_that_stay_far_above_their_lowest_level_are_detected(spread: float) -> None:
    monitor = after(noisy(500, 9, 3, spread))
    steps = 0
    while monitor.problem() is None:
        monitor = monitor.after(random.Random(steps).gauss(9, spread))
        steps += 1
        assert steps < 2 * WORSE_IN_A_ROW
    assert monitor.problem() == (
        f"the loss is {monitor.level:.2f}, its lowest value was {monitor.lowest:.2f}, and it has stayed far above that "
        "for 100 steps"
    )


def test_a_temporary_rise_is_tolerated() -> None:
    losses = noisy(500, 9, 3) + [12.0] * 50 + noisy(300, 3, 2.5)
    monitor = DivergenceMonitor()
    for loss in losses:
        monitor = monitor.after(loss)
        assert monitor.problem() is None


def test_a_rise_within_the_spread_is_tolerated() -> None:
    assert after(noisy(500, 9, 3, spread=1.0) + noisy(1_000, 4.5, 4.5, spread=1.0)).problem() is None


def test_a_small_rise_from_near_zero_is_tolerated() -> None:
    assert after([0.1] * 100 + noisy(1_000, 0.9, 0.9, spread=0.01)).problem() is None


def test_skipped_steps_are_tolerated_unless_they_follow_each_other() -> None:
    monitor = DivergenceMonitor()
    for _ in range(5 * SKIPPED_IN_A_ROW):
        for _ in range(SKIPPED_IN_A_ROW - 1):
            monitor = monitor.after_skipped()
        assert monitor.problem() is None
        monitor = monitor.after(3.0)
    for _ in range(SKIPPED_IN_A_ROW):
        assert monitor.problem() is None
        monitor = monitor.after_skipped()
    assert monitor.problem() == "the gradients of the last 10 steps were not finite"
    assert monitor.skipped == 5 * SKIPPED_IN_A_ROW * (SKIPPED_IN_A_ROW - 1) + SKIPPED_IN_A_ROW


def test_a_skipped_step_does_not_change_the_level() -> None:
    """Otherwise one value that is not finite would disable the detection."""
    monitor = after(noisy(100, 9, 3))
    skipped = monitor.after_skipped()
    assert asdict(skipped) == {**asdict(monitor), "skipped": 1, "skipped_in_a_row": 1}
    assert math.isfinite(skipped.after(3.0).level)


def test_the_message_gives_advice_that_fits_the_settings() -> None:
    assert divergence_message("it went up", 1_234, TrainSettings(learning_rate=0.3, warmup_steps=4_000), None) == (
        "the run diverged at step 1,234: it went up; start again in another --out with a lower train.learning_rate "
        "(it is 0.3; try 0.1), or --set train.max_grad_norm=1, or a longer warm-up (train.warmup_steps is 4,000)"
    )
    assert divergence_message("it went up", 9, TrainSettings(max_grad_norm=1.0), Path("best")).endswith(
        "a lower train.learning_rate (it is 1; try 0.3), or a longer warm-up (train.warmup_steps is 4,000); "
        "the parameters with the best validation loss are kept in best"
    )
