"""What the measurements of growth rest on: pairs that do not repeat, and lines that are straight where cost is."""

import pytest
from bench.growth import corpus
from bench.growth.plot import Axis
from bench.growth.straight import excess, foretold


def test_generated_pairs_never_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "SENTENCES", 30)
    found = list(corpus.pairs(900))
    assert len({source for source, _ in found}) == 900
    with pytest.raises(ValueError, match="there are 900 pairs, and 901 were asked for"):
        next(corpus.pairs(901))


def test_a_straight_line_is_foretold_and_a_square_runs_away() -> None:
    straight = [(x, 0.5 + 0.25 * x) for x in (1.0, 10.0, 100.0, 1000.0)]
    line = foretold(straight)
    assert [line.start, line.slope] == pytest.approx([0.5, 0.25])
    assert excess(straight) == pytest.approx(0)
    assert excess([*straight[:-1], (1000.0, 2 * line.at(1000.0))]) == pytest.approx(1)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("values", [[0.003], [1.0], [32.0, 4096.0], [0.2, 7.5], [10_000.0, 10_000_000.0]])
def test_an_axis_has_room_for_every_value(values: list[float], log: bool) -> None:
    axis = Axis("pieces", log)
    ticks = axis.ticks(values)
    assert 2 <= len(ticks) <= 6
    assert all(-1e-9 <= axis.place(value, ticks) <= 1 + 1e-9 for value in values)
