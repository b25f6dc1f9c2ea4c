"""Probes read properties that the vectors encode, and only those."""

from dataclasses import replace

import numpy as np
import pytest

from regard.interpret.annotated_pairs import synthetic_sample
from regard.interpret.measure import probes
from regard.interpret.measure.probe_tasks import TASKS, read_row, writing_row
from regard.interpret.measure.probes import ProbeResult, balanced_weights, measure_probes, probe
from regard.interpret.report.probe_report import ProbeReport
from regard.interpret.teacher_forcing import layer_vectors
from regard.models.build import build_untrained
from regard.progress import run_to_end
from regard.render.terminal import TerminalStyle
from regard.statistics.estimate import Estimate


def test_a_probe_reads_linear_properties_and_is_at_chance_on_others():
    generator = np.random.default_rng(1)
    features = generator.normal(size=(600, 8))
    test = np.arange(600) % 3 == 2
    linear = (features @ generator.normal(size=(8, 3))).argmax(axis=1)
    assert probe(features, linear, ~test, test, 3).mean() > 0.85
    assert 0.35 < probe(features, generator.integers(2, size=600), ~test, test, 2).mean() < 0.65
    assert 0.35 < probe(features, (features[:, 0] * features[:, 1] > 0).astype(int), ~test, test, 2).mean() < 0.65
    assert probe(features * 1e4 + 7, linear, ~test, test, 3).mean() > 0.85  # scale and shift do not matter


def test_rare_labels_count_as_much_as_frequent_ones():
    labels = np.array([0] * 90 + [1] * 10)
    weights = balanced_weights(labels)
    assert weights.sum() == pytest.approx(100) and weights[:90].sum() == pytest.approx(weights[90:].sum())
    always_zero = (labels == 0).astype(float)
    assert np.average(always_zero, weights=weights) == pytest.approx(0.5)
    # A probe on noise does not gain by always giving the frequent label.
    features, test = np.random.default_rng(3).normal(size=(100, 4)), np.arange(100) % 2 == 1
    correct = probe(features, labels, ~test, test, 2)
    assert 0.1 < np.average(correct, weights=balanced_weights(labels[test])) < 0.85


@pytest.mark.parametrize(("name", "new"), [("word class", True), ("sentiment", False)])
def test_cases_of_a_type_or_of_a_sentence_are_not_divided(model_of, monkeypatch, name, new):
    """No type, or no sentence, is both in training and in testing."""
    model = model_of("pre")
    calls = []

    def record(features, labels, train, test, count):
        calls.append((train, test))
        return np.zeros(int(test.sum()))

    monkeypatch.setattr(probes, "probe", record)
    monkeypatch.setattr(probes, "TASKS", {name: TASKS[name]})
    sample = synthetic_sample(model.tokenizer, 90)
    run_to_end(measure_probes(model.network, sample))
    all_cases = [(number, case) for number, pair in enumerate(sample.pairs) for case in TASKS[name].cases(pair)]
    cases = [(number, case.type) for number, case in probes._with_labels_on_both_sides(all_cases, TASKS[name])]
    units = np.array([type_ if new else str(number) for number, type_ in cases])
    train, test = calls[0]
    assert not {*units[train]} & {*units[test]} and (train ^ test).all()
    control = [(train, test) for train, test in calls if not (train ^ test).all()]
    assert bool(control) == new
    types = np.array([type_ for _, type_ in cases])
    for train, test in control:  # what the control asks for was seen in training
        assert {*types[test]} <= {*types[train]}


def test_the_cases_of_each_task_have_the_labels_of_the_annotations(model_of):
    model = model_of("pre")
    pairs = synthetic_sample(model.tokenizer, 150).pairs
    cases = {name: [(pair, case) for pair in pairs for case in task.cases(pair)] for name, task in TASKS.items()}
    assert all(cases[name] for name, task in TASKS.items() if task.annotated)
    assert {case.label for _, case in cases["number"]} == {"singular", "plural"}
    assert {case.label for _, case in cases["gender of antecedent"]} == {"m", "f"}
    assert {pair.source_words[case.words[0]].text for pair, case in cases["gender of antecedent"]} <= {"it", "they"}
    for pair, case in cases["subject of verb"]:
        assert pair.annotations is not None
        verb = next(verb for verb in pair.annotations.verbs if verb.at == case.words[0])
        assert (case.label == "subject") == (verb.subject == case.words[1])
    pronouns = cases["gender of the pronoun to write"]
    assert {(case.label, pair.target_words[case.words[0]].text.lower().rstrip("s")) for pair, case in pronouns} == {
        ("m", "il"),
        ("f", "elle"),
    }
    assert len(pronouns) <= len(cases["gender of antecedent"]) + 3
    assert {case.label for _, case in cases["number of the noun read"]} == {"singular", "plural"}


def test_decoder_rows_have_read_a_word_or_are_about_to_write_it(model_of):
    model = model_of("pre")
    for pair in synthetic_sample(model.tokenizer, 9).pairs:
        for index, word in enumerate(pair.target_words):
            if word.begin < word.end:
                (writing,), (read,) = writing_row(pair, index), read_row(pair, index)
                assert pair.target_ids[writing] == pair.decoder_input_ids[word.begin + 1]
                assert pair.decoder_input_ids[read] == pair.target_ids[word.end - 1]


def test_an_untrained_model_is_probed_and_reported(model_of):
    model = model_of("pre")
    untrained = build_untrained(model.network, seed=7)
    measurement = run_to_end(measure_probes(untrained, synthetic_sample(model.tokenizer, 90)))
    results = {result.task: result for result in measurement.probes}
    assert {"position", "word class", "tense"} <= results.keys()
    for result in measurement.probes:
        assert len(result.layers) == len(result.lift) == len(result.untrained) == 3
        assert len(result.control) in (0, 3)
        assert result.stack == ("decoder" if result.task.endswith((" read", " to write")) else "encoder")
        assert all(0 <= accuracy.low <= accuracy.value <= accuracy.high <= 1 for accuracy in result.layers)
    # An untrained model is rarely more accurate than another one: intervals are for one task, so a few tasks may be.
    lifted = [result.task for result in measurement.probes if any(lift.low > 0 for lift in result.lift)]
    assert len(lifted) <= 2, lifted
    # A positional encoding shows the position of any token, also of one that was not seen before.
    assert len(results["position"].control) == 3 and results["sentiment"].control == ()
    assert results["position"].layers[0].low > 1 / results["position"].labels
    report = ProbeReport("model", measurement)
    assert "discourse and world knowledge" in list(report.lines(TerminalStyle()))[-1]
    lines = sum(2 + bool(result.control) for result in measurement.probes)  # a control may be missing
    assert report.svg().count("<polyline") == lines
    assert "default-src 'none'" in report.html() and "word class, layer 2" in report.html()
    assert len(report.to_dict()["tasks"]) == len(measurement.probes)


def test_layer_zero_is_embedding_plus_position(model):
    pairs = synthetic_sample(model.tokenizer, 3).pairs
    for stack in model.network.anatomy().stacks:
        for pair, vectors in zip(pairs, layer_vectors(model.network, pairs, stack), strict=True):
            trace = model.look(pair.source, target=pair.target).trace
            ids = pair.source_ids if stack.name == "encoder" else pair.decoder_input_ids
            layers = getattr(model.network.settings, f"{stack.name}_layers")
            assert vectors.shape == (layers + 1, len(ids), 16)
            np.testing.assert_allclose(vectors[0], trace[f"{stack.name}.sum"], atol=1e-5)
            np.testing.assert_allclose(vectors[1], trace[f"{stack.name}.1"], atol=1e-4)


def result_with(*lifts: float) -> ProbeResult:
    estimates = tuple(Estimate(lift, lift - 0.01, lift + 0.01, 9) for lift in lifts)
    return ProbeResult("x", "encoder", 2, True, estimates, lifts, estimates, lifts)


def test_the_expected_layer_is_where_the_lift_rises():
    assert result_with(0.5, 0.9, 0.9).expected_layer == pytest.approx(1)
    assert result_with(0.5, 0.5, 0.9).expected_layer == pytest.approx(2)
    assert result_with(0.5, 0.7, 0.6, 0.9).expected_layer == pytest.approx((0.2 * 1 + 0.2 * 3) / 0.4)
    assert result_with(0.9, 0.91, 0.6).expected_layer is None  # the gain is too small
    uncertain = replace(result_with(0.5, 0.9), lift=(Estimate(0.5, 0.4, 0.6, 9), Estimate(0.9, 0.55, 1, 9)))
    assert uncertain.expected_layer is None
