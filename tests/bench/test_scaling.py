"""The measurements of scaling use distinct pairs, and compare the last point with a linear fit."""

import pytest
from bench.common import corpora
from bench.common.linear_fit import excess, extrapolate
from bench.common.plots import Axis


def test_generated_pairs_are_distinct(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "SENTENCES", 30)
    pairs = list(corpora.distinct_pairs(900))
    assert len({source for source, _ in pairs}) == 900
    with pytest.raises(ValueError, match="there are 900 distinct pairs, fewer than the requested 901"):
        next(corpora.distinct_pairs(901))


def test_the_excess_over_a_linear_fit_is_zero_for_a_line_and_positive_above_it() -> None:
    points = [(x, 0.5 + 0.25 * x) for x in (1.0, 10.0, 100.0, 1000.0)]
    line = extrapolate(points)
    assert [line.intercept, line.slope] == pytest.approx([0.5, 0.25])
    assert excess(points) == pytest.approx(0)
    assert excess([*points[:-1], (1000.0, 2 * line.at(1000.0))]) == pytest.approx(1)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("values", [[0.003], [1.0], [32.0, 4096.0], [0.2, 7.5], [10_000.0, 10_000_000.0]])
def test_an_axis_has_room_for_every_value(values: list[float], log: bool) -> None:
    axis = Axis("tokens", log)
    ticks = axis.ticks(values)
    assert 2 <= len(ticks) <= 6
    assert all(-1e-9 <= axis.fraction(value, ticks) <= 1 + 1e-9 for value in values)
