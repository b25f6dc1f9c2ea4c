"""The "it" laboratory: a head that follows "it" is found, one that does not is not, and the verdict is no better."""

from itertools import islice

import numpy as np
import pytest
import torch

from regard.data.synthetic.generator import minimal_pairs
from regard.interpret.interventions import HeadIntervention
from regard.interpret.measure import pronoun_experiment
from regard.interpret.measure.pronoun_baselines import PronounAccuracy
from regard.interpret.measure.pronoun_experiment import (
    Intervention,
    PronounExperiment,
    _Interventions,
    nouns_of,
    rows_of,
    run_pronoun_experiment,
)
from regard.interpret.measure.pronoun_task import contrast
from regard.interpret.report.pronoun_report import experiment_lines
from regard.interpret.teacher_forcing import attention_weights
from regard.interpret.trace import Recorder
from regard.progress import run_to_end
from regard.render.terminal import TerminalStyle
from regard.statistics.intervals import Estimate


class Under(Recorder):
    """Records what the model used under an edit."""

    def __init__(self, edit: HeadIntervention) -> None:
        super().__init__()
        self._edit = edit

    def weights(self, name, weights_BHLM):
        return super().weights(name, self._edit.weights(name, weights_BHLM))


PAIRS = list(islice(minimal_pairs(1, "test"), 60))
HEAD = ("encoder.2.self", 1)


def ideal(texts):
    """A translator that is always right."""
    known = {pair.source: pair.target for both in PAIRS for pair in both}
    return [known[text] for text in texts]


@pytest.fixture(autouse=True)
def _fitted_on_few(monkeypatch):
    monkeypatch.setattr("regard.interpret.measure.pronoun_baselines.FITTED_ON", 50)


@pytest.fixture
def follower(monkeypatch):
    """Lets one head of the trained model look at the right noun from "it" in four of five pairs."""

    def watched(model, items):
        for at, weights in attention_weights(model, items):
            if model.trained and items[at].annotations is not None and at % 10 not in (4, 5):
                weights = {name: array.copy() for name, array in weights.items()}
                it = items[at].source_words[items[at].annotations.it.at]
                weights[HEAD[0]][HEAD[1], it.begin : it.end] = 0
                right = nouns_of(items[at])[0]
                weights[HEAD[0]][HEAD[1], it.begin : it.end, right.start : right.stop] = 1 / len(right)
            yield at, weights

    monkeypatch.setattr(pronoun_experiment, "attention_weights", watched)


def test_a_head_that_follows_is_found_and_measured(model_of, follower, monkeypatch):
    model = model_of("pre")
    monkeypatch.setattr(type(model.network), "trained", False, raising=False)
    monkeypatch.setattr(model.network, "trained", True, raising=False)
    found = run_to_end(run_pronoun_experiment(model.network, model.tokenizer, PAIRS, ideal))
    # Two encoder layers of two heads at two places, two cross layers of two heads at one.
    assert found.tests == 12 and found.threshold == (15, 30) and found.beyond
    best = found.antecedent_heads[0]
    assert (best.place, best.head) == ("it", "encoder.2.self.2")
    assert 0.8 <= best.moves.value <= 1 and best.antecedent > 0.8 > 0.2 > best.distractor
    assert best.moves.count == 30 and best.moves.low > 0.25 > found.untrained
    assert found.follows.value == 1 and found.right.count == 60
    assert found.looks == (best.place, best.head)
    assert found.interventions[0].heads[0] == "encoder.2.self.2"
    lines = list(experiment_lines(found, TerminalStyle()))
    assert any("encoder.2.self.2 from “it”: moves in 0." in line for line in lines)


def test_where_nothing_is_learnt_nothing_is_found(model_of):
    model = model_of("post")
    found = run_to_end(
        run_pronoun_experiment(model.network, model.tokenizer, PAIRS[:20], lambda texts: ["?"] * len(texts))
    )
    assert not found.beyond and found.follows.value == 0 and len(found.antecedent_heads) == 1
    assert found.threshold[1] == 10
    if found.right.low <= 0.5:
        assert found.verdict.startswith("This model does not know what “it” stands for")
    assert "None is beyond that threshold. The best is:" in list(experiment_lines(found, TerminalStyle()))


def test_what_is_forced_is_the_row_and_the_noun_it_should_be(model_of):
    model = model_of("pre")
    both = [(contrast(one, model.tokenizer), contrast(other, model.tokenizer)) for one, other in PAIRS[:3]]
    meddling = _Interventions(model.network, both)
    tests = [("it", "encoder.1.self.1"), ("decider", "encoder.2.self.1"), ("pronoun", "decoder.1.cross.2")]
    for batch in meddling._pronouns._batches:
        force = meddling._forced(batch, tests, 1)
        lens = Under(force)
        with torch.inference_mode():
            model.network(batch.source_BS, batch.read_BT, lens)
        for row, at in enumerate(batch.indices):
            item = meddling._pronouns.items[at]
            places = rows_of(meddling._pronouns.contrasts[at // 2], item)
            other = nouns_of(item)[1]
            for place, head in tests:
                attention, _, number = head.rpartition(".")
                its = lens.seen[f"{attention}.weight"][row, int(number) - 1, places[place].start : places[place].stop]
                assert len(places[place]) > 0
                np.testing.assert_allclose(its[:, other.start : other.stop].sum(dim=-1), 1, atol=1e-6)


def figure(value: float, reach: float = 0.02) -> Estimate:
    return Estimate(value, value - reach, value + reach, 100)


def finding(right: float, *, beyond: bool, forced: float) -> PronounExperiment:
    names = ("removed", "as many others removed", "forced to the other noun", "forced to the right noun")
    meddled = tuple(Intervention(name, ("encoder.1.self.1",), figure(forced), figure(forced - right)) for name in names)
    guesses = (PronounAccuracy("this model", figure(right), figure(right)),)
    return PronounExperiment(100, 48, (23, 50), (), beyond, 0.1, figure(right), guesses, meddled, None, ())


def test_the_verdict_says_no_more_than_was_found():
    assert "does not know" in finding(0.51, beyond=True, forced=0.2).verdict
    assert "no head moves more often than chance" in finding(0.9, beyond=False, forced=0.9).verdict
    assert "depends on where it looks" in finding(0.9, beyond=True, forced=0.4).verdict
    assert "fall from 90% to 40%" in finding(0.9, beyond=True, forced=0.4).verdict
    assert "Attending is not using" in finding(0.9, beyond=True, forced=0.89).verdict
    assert "Attending is not using" in finding(0.9, beyond=True, forced=0.95).verdict
