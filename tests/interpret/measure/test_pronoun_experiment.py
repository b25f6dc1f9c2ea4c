"""The "it" laboratory: a head that follows "it" is found, one that does not is not, and the verdict is no better."""

from itertools import islice

import numpy as np
import pytest
import torch

from regard.data.language import flips
from regard.data.texts import finished
from regard.evaluation.intervals import Figure
from regard.inside import laboratory
from regard.inside.baselines import Guess
from regard.inside.edits import Edit
from regard.inside.findings import laboratory_lines
from regard.inside.laboratory import Intervention, Laboratory, _Meddling, measure_it, nouns_of, rows_of
from regard.inside.passes import weights_of
from regard.inside.pronouns import contrast
from regard.inside.terminal import Paper
from regard.inside.trace import Recorder


class Under(Recorder):
    """Records what the model used under an edit."""

    def __init__(self, edit: Edit) -> None:
        super().__init__()
        self._edit = edit

    def weights(self, name, weights_BHLM):
        return super().weights(name, self._edit.weights(name, weights_BHLM))


PAIRS = list(islice(flips(1, "test"), 60))
HEAD = ("encoder.2.self", 1)


def ideal(texts):
    """A translator that is always right."""
    known = {pair.source: pair.target for both in PAIRS for pair in both}
    return [known[text] for text in texts]


@pytest.fixture(autouse=True)
def _fitted_on_few(monkeypatch):
    monkeypatch.setattr("regard.inside.baselines.FITTED_ON", 50)


@pytest.fixture
def follower(monkeypatch):
    """Lets one head of the trained model look at the right noun from "it" in four of five pairs."""

    def watched(model, items):
        for at, weights in weights_of(model, items):
            if model.trained and items[at].truth is not None and at % 10 not in (4, 5):
                weights = {name: array.copy() for name, array in weights.items()}
                it = items[at].source_words[items[at].truth.it.at]
                weights[HEAD[0]][HEAD[1], it.begin : it.end] = 0
                right = nouns_of(items[at])[0]
                weights[HEAD[0]][HEAD[1], it.begin : it.end, right.start : right.stop] = 1 / len(right)
            yield at, weights

    monkeypatch.setattr(laboratory, "weights_of", watched)


def test_a_head_that_follows_is_found_and_measured(model_of, follower, monkeypatch):
    model = model_of("pre")
    monkeypatch.setattr(type(model.torch), "trained", False, raising=False)
    monkeypatch.setattr(model.torch, "trained", True, raising=False)
    found = finished(measure_it(model.torch, model.pieces, PAIRS, ideal))
    # Two encoder layers of two heads at two places, two cross layers of two heads at one.
    assert found.tests == 12 and found.threshold == (15, 30) and found.beyond
    best = found.movers[0]
    assert (best.place, best.head) == ("it", "encoder.2.self.2")
    assert 0.8 <= best.moves.value <= 1 and best.antecedent > 0.8 > 0.2 > best.other
    assert best.moves.count == 30 and best.moves.low > 0.25 > found.untrained
    assert found.follows.value == 1 and found.right.count == 60
    assert found.looks == (best.place, best.head)
    assert found.interventions[0].heads[0] == "encoder.2.self.2"
    lines = list(laboratory_lines(found, Paper()))
    assert any("encoder.2.self.2 from “it”: moves in 0." in line for line in lines)


def test_where_nothing_is_learnt_nothing_is_found(model_of):
    model = model_of("post")
    found = finished(measure_it(model.torch, model.pieces, PAIRS[:20], lambda texts: ["?"] * len(texts)))
    assert not found.beyond and found.follows.value == 0 and len(found.movers) == 1
    assert found.threshold[1] == 10
    if found.right.low <= 0.5:
        assert found.verdict.startswith("This model does not know what “it” stands for")
    assert "None is beyond that threshold. The best is:" in list(laboratory_lines(found, Paper()))


def test_what_is_forced_is_the_row_and_the_noun_it_should_be(model_of):
    model = model_of("pre")
    both = [(contrast(one, model.pieces), contrast(other, model.pieces)) for one, other in PAIRS[:3]]
    meddling = _Meddling(model.torch, both)
    tests = [("it", "encoder.1.self.1"), ("decider", "encoder.2.self.1"), ("pronoun", "decoder.1.cross.2")]
    for batch in meddling._pronouns._batches:
        force = meddling._forced(batch, tests, 1)
        lens = Under(force)
        with torch.inference_mode():
            model.torch(batch.source_BS, batch.read_BT, lens)
        for row, at in enumerate(batch.indices):
            item = meddling._pronouns.items[at]
            places = rows_of(meddling._pronouns.contrasts[at // 2], item)
            other = nouns_of(item)[1]
            for place, head in tests:
                attention, _, number = head.rpartition(".")
                its = lens.seen[f"{attention}.weight"][row, int(number) - 1, places[place].start : places[place].stop]
                assert len(places[place]) > 0
                np.testing.assert_allclose(its[:, other.start : other.stop].sum(dim=-1), 1, atol=1e-6)


def figure(value: float, reach: float = 0.02) -> Figure:
    return Figure(value, value - reach, value + reach, 100)


def finding(right: float, *, beyond: bool, forced: float) -> Laboratory:
    names = ("removed", "as many others removed", "forced to the other noun", "forced to the right noun")
    meddled = tuple(Intervention(name, ("encoder.1.self.1",), figure(forced), figure(forced - right)) for name in names)
    guesses = (Guess("this model", figure(right), figure(right)),)
    return Laboratory(100, 48, (23, 50), (), beyond, 0.1, figure(right), guesses, meddled, None, ())


def test_the_verdict_says_no_more_than_was_found():
    assert "does not know" in finding(0.51, beyond=True, forced=0.2).verdict
    assert "no head moves more often than chance" in finding(0.9, beyond=False, forced=0.9).verdict
    assert "depends on where it looks" in finding(0.9, beyond=True, forced=0.4).verdict
    assert "fall from 90% to 40%" in finding(0.9, beyond=True, forced=0.4).verdict
    assert "Attending is not using" in finding(0.9, beyond=True, forced=0.89).verdict
    assert "Attending is not using" in finding(0.9, beyond=True, forced=0.95).verdict
