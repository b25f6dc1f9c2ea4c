"""The learning rate of every step."""

from itertools import pairwise

import pytest

from regard.settings.sections import assemble
from regard.settings.sizes import size_overrides
from regard.settings.train import TrainSettings
from regard.training.optimizers.schedule import learning_rate


def rates(settings: TrainSettings, width: int = 512) -> list[float]:
    return [learning_rate(step, settings, width) for step in range(1, settings.steps + 1)]


# The paper's (section 5.3)


@pytest.mark.parametrize("step", [1, 2, 100, 3_999, 4_000, 4_001, 50_000, 100_000])
def test_the_papers_formula(step: int) -> None:
    wanted = 512**-0.5 * min(step**-0.5, step * 4_000**-1.5)
    assert learning_rate(step, TrainSettings(), 512) == pytest.approx(wanted, rel=1e-12)


def test_the_paper_rises_to_its_peak_at_the_end_of_warmup_then_falls() -> None:
    found = rates(TrainSettings(steps=400, warmup_steps=100))
    assert found.index(max(found)) == 100 - 1
    assert found[:100] == sorted(found[:100])
    assert found[99:] == sorted(found[99:], reverse=True)
    assert found[49] == pytest.approx(found[99] / 2)  # a straight line up
    assert found[399] == pytest.approx(found[99] / 2)  # the inverse square root down: four times the steps, half


def test_the_peak_of_base() -> None:
    assert learning_rate(4_000, assemble(size_overrides("base")).train, 512) == pytest.approx(6.99e-4, rel=1e-3)


def test_a_wider_model_learns_slower() -> None:
    assert learning_rate(9, TrainSettings(), 2048) == pytest.approx(learning_rate(9, TrainSettings(), 512) / 2)


def test_the_factor_is_a_factor() -> None:
    assert learning_rate(9, TrainSettings(learning_rate=3.0), 512) == pytest.approx(
        3 * learning_rate(9, TrainSettings(), 512)
    )


def test_the_paper_without_warmup_only_falls() -> None:
    found = rates(TrainSettings(steps=50, warmup_steps=0))
    assert found == sorted(found, reverse=True)
    assert found[0] == pytest.approx(512**-0.5)


# The straight one


def linear(steps: int, warmup: int) -> list[float]:
    return rates(TrainSettings(schedule="linear", learning_rate=2.0, steps=steps, warmup_steps=warmup))


def test_the_linear_one_goes_straight_up_and_straight_down() -> None:
    found = linear(steps=100, warmup=20)
    assert found[:20] == pytest.approx([2.0 * step / 20 for step in range(1, 21)])
    assert found[19] == 2.0
    drops = [before - after for before, after in pairwise(found[19:])]
    assert drops == pytest.approx([2.0 / 81] * 80)
    assert found[-1] == pytest.approx(2.0 / 81)  # one more step would be at zero


def test_the_linear_one_does_not_depend_on_the_width() -> None:
    settings = TrainSettings(schedule="linear", steps=50, warmup_steps=5)
    assert rates(settings, 64) == rates(settings, 1024)


def test_a_short_run_rises_for_a_quarter_at_most() -> None:
    found = linear(steps=100, warmup=4_000)
    assert found.index(max(found)) == 25 - 1
    assert found[24] == 2.0


@pytest.mark.parametrize("steps", range(1, 12))
@pytest.mark.parametrize("warmup", [0, 1, 400])
@pytest.mark.parametrize("schedule", ["linear", "paper"])
def test_every_step_of_every_run_learns(steps: int, warmup: int, schedule: str) -> None:
    settings = TrainSettings(schedule=schedule, learning_rate=2.0, steps=steps, warmup_steps=warmup)  # type: ignore[arg-type]
    assert all(0 < rate <= 2.0 for rate in rates(settings))
