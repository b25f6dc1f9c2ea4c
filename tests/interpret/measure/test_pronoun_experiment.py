"""The pronoun experiment: it finds a head that attends to the antecedent and no other, and its verdict fits."""

from itertools import islice

import numpy as np
import pytest
import torch

from regard.data.synthetic.generator import minimal_pairs
from regard.interpret.address import locate_head
from regard.interpret.interventions import InterventionRecorder
from regard.interpret.measure import pronoun_experiment
from regard.interpret.measure.pronoun_baselines import PronounAccuracy
from regard.interpret.measure.pronoun_experiment import (
    ABLATED,
    CONTROL,
    FORCED_TO_ANTECEDENT,
    FORCED_TO_DISTRACTOR,
    Intervention,
    PronounExperiment,
    _Interventions,
    noun_columns,
    query_rows,
    run_pronoun_experiment,
)
from regard.interpret.measure.pronoun_task import contrast
from regard.interpret.report.pronoun_report import PronounReport
from regard.interpret.teacher_forcing import attention_weights
from regard.progress import run_to_end
from regard.render.terminal import TerminalStyle
from regard.statistics.estimate import Estimate

PAIRS = list(islice(minimal_pairs(1, "test"), 60))
ANTECEDENT_HEAD = "encoder.2.self.2"


def translate_perfectly(texts):
    references = {sentence.source: sentence.target for both in PAIRS for sentence in both}
    return [references[text] for text in texts]


def report_lines(experiment: PronounExperiment) -> list[str]:
    return list(PronounReport("model", experiment).lines(TerminalStyle()))


@pytest.fixture(autouse=True)
def _small_training_set(monkeypatch):
    monkeypatch.setattr("regard.interpret.measure.pronoun_baselines.TRAINING_PAIRS", 50)


@pytest.fixture
def planted_antecedent_head(monkeypatch):
    """Make one head of the trained model attend from "it" to the antecedent in four of five pairs."""
    attention, head = locate_head(ANTECEDENT_HEAD)

    def planted_weights(model, pairs):
        for index, weights in attention_weights(model, pairs):
            if model.trained and pairs[index].annotations is not None and index % 10 not in (4, 5):
                weights = {name: array.copy() for name, array in weights.items()}
                it = pairs[index].source_words[pairs[index].annotations.coreference.at]
                weights[attention][head, it.begin : it.end] = 0
                antecedent = noun_columns(pairs[index])[0]
                weights[attention][head, it.begin : it.end, antecedent.start : antecedent.stop] = 1 / len(antecedent)
            yield index, weights

    monkeypatch.setattr(pronoun_experiment, "attention_weights", planted_weights)


def test_a_head_that_attends_to_the_antecedent_is_found_and_measured(model_of, planted_antecedent_head, monkeypatch):
    model = model_of("pre")
    monkeypatch.setattr(type(model.network), "trained", False, raising=False)
    monkeypatch.setattr(model.network, "trained", True, raising=False)
    experiment = run_to_end(run_pronoun_experiment(model.network, model.tokenizer, PAIRS, translate_perfectly))
    # Two encoder layers of two heads with two queries, two cross-attention layers of two heads with one query.
    assert experiment.tests == 12 and experiment.threshold == (15, 30) and experiment.significant
    best = experiment.antecedent_heads[0]
    assert (best.query, best.head) == ("it", ANTECEDENT_HEAD)
    assert 0.8 <= best.pair_accuracy.value <= 1 and best.antecedent_weight > 0.8 > 0.2 > best.distractor_weight
    assert best.pair_accuracy.count == 30 and best.pair_accuracy.low > 0.25 > experiment.untrained
    assert experiment.translation_pair_accuracy.value == 1 and experiment.accuracy.count == 60
    assert experiment.best_encoder_head == (best.query, best.head)
    assert experiment.interventions[0].heads[0] == ANTECEDENT_HEAD
    text = f"{ANTECEDENT_HEAD} from “it”: prefers the antecedent in both sentences of 0."
    assert any(text in line for line in report_lines(experiment))


def test_no_head_of_an_untrained_model_is_significant(model_of):
    model = model_of("post")
    experiment = run_to_end(
        run_pronoun_experiment(model.network, model.tokenizer, PAIRS[:20], lambda texts: ["?"] * len(texts))
    )
    assert not experiment.significant and experiment.translation_pair_accuracy.value == 0
    assert len(experiment.antecedent_heads) == 1
    assert experiment.threshold[1] == 10
    if experiment.accuracy.low <= 0.5:
        assert experiment.verdict.startswith("This model does not know what “it” refers to")
    assert "No head is significant. The best one:" in report_lines(experiment)


def test_forced_attention_goes_from_the_query_to_the_chosen_noun(model_of):
    model = model_of("pre")
    tokenizer = model.tokenizer
    contrasts = [(contrast(first, tokenizer), contrast(second, tokenizer)) for first, second in PAIRS[:3]]
    interventions = _Interventions(model.network, contrasts)
    query_heads = [("it", "encoder.1.self.1"), ("cue", "encoder.2.self.1"), ("pronoun", "decoder.1.cross.2")]
    task = interventions.task
    for batch in task.batches:
        lens = InterventionRecorder(interventions.forced_attention(batch, query_heads, 1), "test")
        with torch.inference_mode():
            model.network(batch.source, batch.input_BT, lens)
        for row, index in enumerate(batch.indices):
            pair = task.pairs[index]
            rows = query_rows(task.contrasts[index // 2], pair)
            distractor = noun_columns(pair)[1]
            for query, address in query_heads:
                attention, head = locate_head(address)
                weights = lens.tensors[f"{attention}.weight"][row, head, rows[query].start : rows[query].stop]
                assert len(rows[query]) > 0
                np.testing.assert_allclose(weights[:, distractor.start : distractor.stop].sum(dim=-1), 1, atol=1e-6)


def estimate(value: float, reach: float = 0.02) -> Estimate:
    return Estimate(value, value - reach, value + reach, 100)


def experiment_with(accuracy: float, *, significant: bool, forced: float) -> PronounExperiment:
    interventions = tuple(
        Intervention(name, ("encoder.1.self.1",), estimate(forced), estimate(forced - accuracy))
        for name in (ABLATED, CONTROL, FORCED_TO_DISTRACTOR, FORCED_TO_ANTECEDENT)
    )
    baselines = (PronounAccuracy("this model", estimate(accuracy), estimate(accuracy)),)
    return PronounExperiment(
        100, 48, (23, 50), (), significant, 0.1, estimate(accuracy), baselines, interventions, None, ()
    )


@pytest.mark.parametrize("significant", [True, False])
def test_interventions_are_shown_if_a_head_is_significant(significant: bool):
    report = PronounReport("model", experiment_with(0.9, significant=significant, forced=0.4))
    shown = "\n".join(report.lines(TerminalStyle(80, colours=False)))
    assert ("Interventions on encoder.1.self.1" in shown) == significant
    assert ("<h2>Interventions</h2>" in report.html()) == significant


def test_the_verdict_claims_no_more_than_the_results_show():
    chance = experiment_with(0.51, significant=True, forced=0.2).verdict
    assert "does not know" in chance and chance.endswith("There is nothing for attention to explain.")
    verdict = experiment_with(0.9, significant=False, forced=0.9).verdict
    assert "no head prefers the antecedent more often than chance" in verdict
    assert "depends on its attention" in experiment_with(0.9, significant=True, forced=0.4).verdict
    assert "falls from 90% to 40%" in experiment_with(0.9, significant=True, forced=0.4).verdict
    assert "does not depend on its attention" in experiment_with(0.9, significant=True, forced=0.89).verdict
    assert "does not depend on its attention" in experiment_with(0.9, significant=True, forced=0.95).verdict
