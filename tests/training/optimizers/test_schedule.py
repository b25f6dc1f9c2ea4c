"""The learning rate of each step, by both schedules."""

from itertools import pairwise

import pytest

from regard.settings.sections import assemble
from regard.settings.sizes import size_overrides
from regard.settings.train import TrainSettings
from regard.training.optimizers.schedule import learning_rate


def rates(settings: TrainSettings, width: int = 512) -> list[float]:
    return [learning_rate(step, settings, width) for step in range(1, settings.steps + 1)]


# The schedule of the paper (section 5.3)


@pytest.mark.parametrize("step", [1, 2, 100, 3_999, 4_000, 4_001, 50_000, 100_000])
def test_the_paper_schedule_follows_the_formula(step: int) -> None:
    expected = 512**-0.5 * min(step**-0.5, step * 4_000**-1.5)
    assert learning_rate(step, TrainSettings(), 512) == pytest.approx(expected, rel=1e-12)


def test_the_paper_schedule_rises_during_warmup_then_falls() -> None:
    curve = rates(TrainSettings(steps=400, warmup_steps=100))
    assert curve.index(max(curve)) == 100 - 1
    assert curve[:100] == sorted(curve[:100])
    assert curve[99:] == sorted(curve[99:], reverse=True)
    assert curve[49] == pytest.approx(curve[99] / 2)  # linear warmup
    # Inverse square root decay: half the rate at four times the steps.
    assert curve[399] == pytest.approx(curve[99] / 2)


def test_the_peak_learning_rate_of_base() -> None:
    assert learning_rate(4_000, assemble(size_overrides("base")).train, 512) == pytest.approx(6.99e-4, rel=1e-3)


def test_a_wider_model_has_a_lower_learning_rate() -> None:
    assert learning_rate(9, TrainSettings(), 2048) == pytest.approx(learning_rate(9, TrainSettings(), 512) / 2)


def test_the_learning_rate_setting_is_a_factor_of_the_paper_schedule() -> None:
    assert learning_rate(9, TrainSettings(learning_rate=3.0), 512) == pytest.approx(
        3 * learning_rate(9, TrainSettings(), 512)
    )


def test_the_paper_schedule_without_warmup_only_falls() -> None:
    curve = rates(TrainSettings(steps=50, warmup_steps=0))
    assert curve == sorted(curve, reverse=True)
    assert curve[0] == pytest.approx(512**-0.5)


# The linear schedule


def linear(steps: int, warmup: int) -> list[float]:
    return rates(TrainSettings(schedule="linear", learning_rate=2.0, steps=steps, warmup_steps=warmup))


def test_the_linear_schedule_rises_and_falls_linearly() -> None:
    curve = linear(steps=100, warmup=20)
    assert curve[:20] == pytest.approx([2.0 * step / 20 for step in range(1, 21)])
    assert curve[19] == 2.0
    drops = [before - after for before, after in pairwise(curve[19:])]
    assert drops == pytest.approx([2.0 / 81] * 80)
    assert curve[-1] == pytest.approx(2.0 / 81)  # one more step would reach zero


def test_the_linear_schedule_does_not_depend_on_the_width() -> None:
    settings = TrainSettings(schedule="linear", steps=50, warmup_steps=5)
    assert rates(settings, 64) == rates(settings, 1024)


def test_the_warmup_takes_at_most_a_quarter_of_a_short_run() -> None:
    curve = linear(steps=100, warmup=4_000)
    assert curve.index(max(curve)) == 25 - 1
    assert curve[24] == 2.0


@pytest.mark.parametrize("steps", range(1, 12))
@pytest.mark.parametrize("warmup", [0, 1, 400])
@pytest.mark.parametrize("schedule", ["linear", "paper"])
def test_the_learning_rate_is_always_positive(steps: int, warmup: int, schedule: str) -> None:
    settings = TrainSettings(schedule=schedule, learning_rate=2.0, steps=steps, warmup_steps=warmup)  # type: ignore[arg-type]
    assert all(0 < rate <= 2.0 for rate in rates(settings))
