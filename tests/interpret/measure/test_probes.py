"""Probes read properties that the vectors encode, and only those."""

from dataclasses import replace

import numpy as np
import pytest

from regard.interpret.annotated_pairs import synthetic_sample
from regard.interpret.measure.probe_tasks import TASKS, read_row, writing_row
from regard.interpret.measure.probes import ProbeResult, measure_probes, probe
from regard.interpret.report.probe_report import ProbeReport
from regard.interpret.teacher_forcing import layer_vectors
from regard.progress import run_to_end
from regard.render.terminal import TerminalStyle
from regard.statistics.estimate import Estimate


def test_a_probe_reads_linear_properties_and_is_at_chance_on_others():
    generator = np.random.default_rng(1)
    features = generator.normal(size=(600, 8))
    test = np.arange(600) % 3 == 2
    linear = (features @ generator.normal(size=(8, 3))).argmax(axis=1)
    assert probe(features, linear, test, 3).mean() > 0.85
    assert 0.35 < probe(features, generator.integers(2, size=600), test, 2).mean() < 0.65
    assert 0.35 < probe(features, (features[:, 0] * features[:, 1] > 0).astype(int), test, 2).mean() < 0.65
    assert probe(features * 1e4 + 7, linear, test, 3).mean() > 0.85  # scale and shift do not matter


def test_the_cases_of_each_task_have_the_labels_of_the_annotations(model_of):
    model = model_of("pre")
    pairs = synthetic_sample(model.tokenizer, 150).pairs
    cases = {name: [(pair, case) for pair in pairs for case in task.cases(pair)] for name, task in TASKS.items()}
    assert all(cases.values())
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
    measurement = run_to_end(measure_probes(model.network, synthetic_sample(model.tokenizer, 90)))
    results = {result.task: result for result in measurement.probes}
    assert {"position", "word class", "tense"} <= results.keys()
    for result in measurement.probes:
        assert len(result.layers) == len(result.control) == len(result.untrained) == 3
        assert result.stack == ("decoder" if result.task.endswith((" read", " to write")) else "encoder")
        assert all(0 <= accuracy.low <= accuracy.value <= accuracy.high <= 1 for accuracy in result.layers)
    for task in ("word class", "class of the word read"):  # the embedding of a word shows its class
        assert results[task].layers[0].value > results[task].majority + 0.2
    report = ProbeReport("model", measurement)
    assert "discourse and world knowledge" in list(report.lines(TerminalStyle()))[-1]
    assert report.svg().count("<polyline") == 3 * len(measurement.probes)
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


def result_with(*values: float) -> ProbeResult:
    estimates = tuple(Estimate(value, value, value, 9) for value in values)
    return ProbeResult("x", "encoder", estimates, values, values, 0.5, 2)


def test_the_expected_layer_is_where_the_accuracy_rises():
    assert result_with(0.5, 0.9, 0.9).expected_layer == pytest.approx(1)
    assert result_with(0.5, 0.5, 0.9).expected_layer == pytest.approx(2)
    assert result_with(0.5, 0.7, 0.6, 0.9).expected_layer == pytest.approx((0.2 * 1 + 0.2 * 3) / 0.4)
    assert result_with(0.9, 0.91, 0.6).expected_layer is None  # the gain is too small
    uncertain = replace(result_with(0.5, 0.9), layers=(Estimate(0.5, 0.4, 0.6, 9), Estimate(0.9, 0.45, 1, 9)))
    assert uncertain.expected_layer is None
