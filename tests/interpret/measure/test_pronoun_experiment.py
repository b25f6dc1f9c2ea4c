"""The pronoun experiment: it finds a head that attends to the antecedent and no other, and its verdict fits."""

from itertools import islice

import numpy as np
import pytest
import torch

from regard.data.synthetic.generator import balanced_minimal_pairs
from regard.interpret.address import locate_head
from regard.interpret.interventions import InterventionRecorder, ReplacedOutputs
from regard.interpret.measure import antecedent_heads
from regard.interpret.measure.antecedent_heads import AntecedentHead, directions, p_values, rank
from regard.interpret.measure.pronoun_baselines import frames_of
from regard.interpret.measure.pronoun_experiment import run_pronoun_experiment
from regard.interpret.measure.pronoun_interventions import (
    ABLATIONS,
    FORCED,
    PronounIntervention,
    PronounInterventions,
    control_heads,
)
from regard.interpret.measure.pronoun_task import contrast, noun_columns, query_rows
from regard.interpret.measure.pronoun_verdict import SMALLEST_EFFECT, decide
from regard.interpret.report.pronoun_report import PronounReport
from regard.interpret.teacher_forcing import attention_weights, head_outputs
from regard.progress import run_to_end
from regard.render.terminal import TerminalStyle
from regard.statistics.estimate import Estimate

PAIRS = list(islice(balanced_minimal_pairs(1, "test"), 60))
ANTECEDENT_HEAD = "encoder.2.self.2"


def translate_perfectly(texts):
    references = {sentence.source: sentence.target for both in PAIRS for sentence in both}
    return [references[text] for text in texts]


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr("regard.interpret.measure.pronoun_baselines.TRAINING_PAIRS", 50)
    monkeypatch.setattr("regard.interpret.measure.pronoun_experiment.UNTRAINED_MODELS", 2)


def test_balanced_pairs_have_equally_many_of_each_frame():
    frames = frames_of(PAIRS)
    assert len(set(frames)) == 23 and {frames.count(frame) for frame in frames} == {2, 3}


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

    monkeypatch.setattr(antecedent_heads, "attention_weights", planted_weights)


def test_a_head_that_attends_to_the_antecedent_is_found_and_measured(model_of, planted_antecedent_head, monkeypatch):
    model = model_of("pre")
    monkeypatch.setattr(type(model.network), "trained", False, raising=False)
    monkeypatch.setattr(model.network, "trained", True, raising=False)
    experiment = run_to_end(run_pronoun_experiment(model.network, model.tokenizer, PAIRS, translate_perfectly))
    # Two encoder layers of two heads with two queries, two cross-attention layers of two heads with one query.
    assert experiment.questions == 12 and experiment.frames == 23 and experiment.significant
    best = experiment.antecedent_heads[0]
    assert (best.query, best.head) == ("it", ANTECEDENT_HEAD) and best.p < 0.01
    assert 0.8 <= best.pair_accuracy.value <= 1 and best.antecedent_weight > 0.8 > 0.2 > best.distractor_weight
    assert best.right is not None and best.held_out is not None
    assert best.pair_accuracy.count == 30 and best.right.value == 1 and best.held_out.low > 0.5
    assert best.right.low < best.held_out.low  # the first is corrected for all questions
    assert experiment.untrained.models == 2 and experiment.untrained.best_pair_accuracy < 0.7
    assert experiment.translation_pair_accuracy.value == 1 and experiment.accuracy.count == 60
    assert experiment.best_encoder_head == (best.query, best.head)
    assert [one.name for one in experiment.interventions] == [FORCED, *ABLATIONS]
    assert all(ANTECEDENT_HEAD in one.heads for one in experiment.interventions)
    report = PronounReport("model", experiment)
    text, page = "\n".join(report.lines(TerminalStyle())), report.html()
    assert f"{ANTECEDENT_HEAD} from “it”: p 0.0" in text
    for name in (FORCED, *ABLATIONS):
        assert f"\n  {name}: " in text and f">{name}<" in page
    assert report.to_dict()["verdict"]["text"] == experiment.verdict.text


def test_without_a_significant_head_nothing_is_intervened_on(model_of):
    model = model_of("post")
    experiment = run_to_end(
        run_pronoun_experiment(model.network, model.tokenizer, PAIRS[:20], lambda texts: ["?"] * len(texts))
    )
    assert not experiment.significant and experiment.translation_pair_accuracy.value == 0
    assert len(experiment.antecedent_heads) == 1 and experiment.interventions == ()
    assert experiment.verdict.outcome in ("no knowledge", "not decided")
    text = "\n".join(PronounReport("model", experiment).lines(TerminalStyle()))
    assert "No head is significant. The best one:" in text and "Interventions on" not in text


def test_directions_are_right_reversed_or_unchanged():
    right, reversed_, same, tie = ([[0.6, 0.2], [0.5, 0.1]], [[0.2, 0.6], [0.1, 0.5]], [[0.6, 0.2], [0.1, 0.5]],
                                   [[0.3, 0.3], [0.5, 0.1]])  # fmt: skip
    assert directions(np.array([right, reversed_, same, tie])).tolist() == [1, -1, 0, 0]


def simulated(rng, changed: int, right: float, frames: list[str], *, by_frame: bool = False) -> np.ndarray:
    """Return the weights of a head that reacts to the cue in some pairs, in the right direction with a probability."""
    names = sorted(set(frames))
    frame_signs = dict(zip(names, rng.random(len(names)) < right, strict=True))
    signs = [frame_signs[frame] for frame in frames] if by_frame else rng.random(len(frames)) < right
    weights = np.where(np.asarray(signs)[:, None, None], [[0.6, 0.2]] * 2, [[0.2, 0.6]] * 2)
    unchanged = rng.permutation(len(frames))[changed:]
    weights[unchanged] = [[0.6, 0.2], [0.2, 0.6]]
    return weights


@pytest.mark.parametrize("by_frame", [False, True])
def test_heads_that_react_at_random_are_rarely_named(by_frame):
    rng, frames = np.random.default_rng(1), [str(number % 23) for number in range(1000)]
    named = 0
    for _ in range(40):
        heads = {("it", str(n)): simulated(rng, 500, 0.5, frames, by_frame=by_frame) for n in range(60)}
        named += min(p_values(heads, frames).values()) <= 0.05
    assert named <= 5  # 2 are expected


def test_a_head_that_is_right_in_60_percent_of_500_changed_pairs_is_usually_named():
    rng, frames = np.random.default_rng(2), [str(number % 23) for number in range(1000)]
    named = 0
    for _ in range(40):
        heads = {("it", str(n)): simulated(rng, 500, 0.6 if n == 7 else 0.5, frames) for n in range(60)}
        p = p_values(heads, frames)
        named += p["it", "7"] <= 0.05 and rank(p)[0] == ("it", "7")
    assert named >= 32  # 36 are expected


def test_forced_attention_goes_from_the_query_to_the_chosen_noun(model_of):
    model = model_of("pre")
    tokenizer = model.tokenizer
    contrasts = [(contrast(first, tokenizer), contrast(second, tokenizer)) for first, second in PAIRS[:3]]
    interventions = PronounInterventions(model.network, contrasts, ["a", "b", "c"])
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


@pytest.mark.parametrize("head", ["encoder.1.self.2", "decoder.2.cross.1"])
def test_outputs_are_replaced_by_their_mean_or_by_those_of_another_sentence(model_of, head):
    model = model_of("pre")
    contrasts = [(contrast(first, model.tokenizer), contrast(second, model.tokenizer)) for first, second in PAIRS[:3]]
    interventions = PronounInterventions(model.network, contrasts, ["a", "b", "c"])
    task = interventions.task
    clean = head_outputs(model.network, task.pairs, [head])[head]
    interventions._outputs = {head: clean}
    mean = np.concatenate(clean).mean(axis=0)
    for batch in task.batches:
        np.testing.assert_allclose(interventions._mean_outputs(head, batch), mean, atol=1e-6)
        resampled = interventions._outputs_of_others(head, batch).numpy()
        for row, index in enumerate(batch.indices):
            donors = [n for n, array in enumerate(clean) if np.allclose(resampled[row, : len(array)], array)]
            assert donors or not any(len(array) <= len(resampled[row]) for array in clean)
            assert index not in donors
    # The model uses the replacement: its own outputs change nothing, other outputs change the result.
    before = task.preference()
    own = [
        interventions._tensor(np.stack([_padded(clean[i], batch, clean) for i in batch.indices]))
        for batch in task.batches
    ]
    own_of = {batch.indices: outputs for batch, outputs in zip(task.batches, own, strict=True)}
    same = task.preference(lambda batch: ReplacedOutputs({head: own_of[batch.indices]}))
    np.testing.assert_allclose(same, before, atol=1e-4)
    assert not np.allclose(task.preference(interventions._ablation("mean ablation", (head,))), before, atol=1e-3)
    assert not np.allclose(task.preference(interventions._ablation("resample ablation", (head,))), before, atol=1e-3)


def _padded(array: np.ndarray, batch, clean) -> np.ndarray:
    length = max(len(clean[index]) for index in batch.indices)
    return np.concatenate([array, np.repeat(array[-1:], length - len(array), axis=0)])


def test_control_heads_are_other_heads_of_the_same_sublayer(model_of):
    draws = control_heads(("encoder.1.self.1",), model_of("pre").network)
    assert draws == (("encoder.1.self.2",),)  # the only one, so all draws are the same
    draws = control_heads(("encoder.1.self.1", "encoder.1.self.2"), model_of("pre").network)
    assert [{*draw} for draw in draws] == [{"encoder.2.self.1", "encoder.2.self.2"}]  # in any order, it is one draw


def test_there_are_no_control_heads_unless_they_are_as_many(model_of):
    heads = ("encoder.1.self.1", "encoder.1.self.2", "encoder.2.self.1")
    assert control_heads(heads, model_of("pre").network) == ()


def estimate(value: float, reach: float = 0.02) -> Estimate:
    return Estimate(value, value - reach, value + reach, 100)


HEAD = AntecedentHead(
    "it", "encoder.1.self.1", 0.001, estimate(0.9), estimate(0.9), estimate(0.8), estimate(0.1), 0.8, 0.1
)


def interventions_with(forced: float, sham: float, ablated: float, control: float) -> list[PronounIntervention]:
    heads = ("encoder.1.self.1",)

    def one(name: str, value: float, of_control: float) -> PronounIntervention:
        difference = estimate(value - of_control)
        return PronounIntervention(name, heads, estimate(value), "control", (heads,), estimate(of_control), difference)

    return [one(FORCED, forced, sham), *(one(name, ablated, control) for name in ABLATIONS)]


def outcome(accuracy: float, heads: list[AntecedentHead], *values: float) -> str:
    return decide(estimate(accuracy), None, heads, interventions_with(*values) if values else ()).outcome


def test_the_verdict_claims_no_more_than_the_results_show():
    assert outcome(0.51, [HEAD], 0.2, 0.9, 0.2, 0.9) == "no knowledge"
    assert decide(estimate(0.55, 0.06), None, [HEAD], ()).outcome == "not decided"
    assert outcome(0.9, []) == "not decided"  # that no head is found does not show that there is none
    assert outcome(0.9, [HEAD], 0.4, 0.85, 0.5, 0.9) == "depends"
    # Everything breaks the pronoun, so that the distractor does no more than the antecedent.
    assert outcome(0.9, [HEAD], 0.4, 0.4, 0.4, 0.4) == "does not depend"
    assert outcome(0.9, [HEAD], 0.84, 0.9, 0.9, 0.9) == "not decided"  # from -0.08 to -0.04
    assert outcome(0.9, [HEAD], 0.89, 0.9, 0.9, 0.9) == "does not depend"
    assert outcome(0.9, [HEAD], 0.95, 0.9, 0.9, 0.9) == "does not depend"
    assert SMALLEST_EFFECT == 0.05


def test_the_verdict_says_whether_removing_does_more_than_removing_others():
    more = decide(estimate(0.9), None, [HEAD], interventions_with(0.4, 0.85, 0.5, 0.9)).text
    assert "Removing does more than removing as many other heads: zero ablation, mean ablation, resample" in more
    no_more = decide(estimate(0.9), None, [HEAD], interventions_with(0.4, 0.85, 0.5, 0.5)).text
    assert "other heads may do the same work" in no_more


def test_the_verdict_says_if_the_words_alone_may_explain_the_accuracy():
    interventions = interventions_with(0.4, 0.85, 0.5, 0.9)
    plain = decide(estimate(0.9), estimate(0.8), [HEAD], interventions)
    assert plain == decide(estimate(0.9), None, [HEAD], interventions)
    shortcut = decide(estimate(0.9), estimate(0.51), [HEAD], interventions)
    assert shortcut.outcome == plain.outcome
    assert shortcut.text.endswith("it may know only which words go together.")
    assert decide(estimate(0.5), estimate(0.5), [HEAD], interventions).outcome == "no knowledge"
