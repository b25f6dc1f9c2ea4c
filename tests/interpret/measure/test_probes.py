"""Probes find what is there and nothing that is not."""

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
from regard.statistics.intervals import Estimate


def test_a_probe_reads_what_is_linear_and_guesses_what_is_not_there():
    chance = np.random.default_rng(1)
    features = chance.normal(size=(600, 8))
    test = np.arange(600) % 3 == 2
    linear = (features @ chance.normal(size=(8, 3))).argmax(axis=1)
    assert probe(features, linear, test, 3).mean() > 0.85
    assert 0.35 < probe(features, chance.integers(2, size=600), test, 2).mean() < 0.65
    assert 0.35 < probe(features, (features[:, 0] * features[:, 1] > 0).astype(int), test, 2).mean() < 0.65
    assert probe(features * 1e4 + 7, linear, test, 3).mean() > 0.85  # units do not matter


def test_cases_of_the_language(model_of):
    model = model_of("pre")
    items = synthetic_sample(model.tokenizer, 150).pairs
    cases = {task: [(item, case) for item in items for case in asked.ask(item)] for task, asked in TASKS.items()}
    assert all(cases.values())
    assert {case.label for _, case in cases["number"]} == {"singular", "plural"}
    assert {case.label for _, case in cases["gender of antecedent"]} == {"m", "f"}
    assert {item.source_words[case.words[0]].text for item, case in cases["gender of antecedent"]} <= {"it", "they"}
    for item, case in cases["subject of verb"]:
        assert item.annotations is not None
        verb = next(verb for verb in item.annotations.verbs if verb.at == case.words[0])
        assert (case.label == "subject") == (verb.subject == case.words[1])
    pronouns = cases["gender of the pronoun to write"]
    assert {(case.label, item.target_words[case.words[0]].text.lower().rstrip("s")) for item, case in pronouns} == {
        ("m", "il"),
        ("f", "elle"),
    }
    assert len(pronouns) <= len(cases["gender of antecedent"]) + 3
    assert {case.label for _, case in cases["number of the noun read"]} == {"singular", "plural"}


def test_rows_of_the_decoder_have_read_a_word_or_are_about_to_write_it(model_of):
    model = model_of("pre")
    for item in synthetic_sample(model.tokenizer, 9).pairs:
        for at, word in enumerate(item.target_words):
            if word.begin < word.end:
                (wrote,), (read,) = writing_row(item, at), read_row(item, at)
                assert item.written_ids[wrote] == item.read_ids[word.begin + 1]
                assert item.read_ids[read] == item.written_ids[word.end - 1]


def test_layers_of_an_untaught_model(model_of):
    model = model_of("pre")
    sample = synthetic_sample(model.tokenizer, 90)
    found = run_to_end(measure_probes(model.network, sample))
    tasks = {one.task: one for one in found}
    assert {"position", "word class", "tense"} <= tasks.keys()
    for one in found:
        assert len(one.layers) == len(one.control) == len(one.untrained) == 3
        assert one.stack == ("decoder" if one.task.endswith((" read", " to write")) else "encoder")
        assert all(0 <= figure.low <= figure.value <= figure.high <= 1 for figure in one.layers)
    assert tasks["word class"].layers[0].value > tasks["word class"].commonest + 0.2  # the word itself tells
    assert tasks["class of the word read"].layers[0].value > tasks["class of the word read"].commonest + 0.2
    shown = ProbeReport("model", 90, sample.name, found)
    lines = list(shown.lines(TerminalStyle()))
    assert "discourse and world knowledge" in lines[-1]
    assert shown.svg().count("<polyline") == 3 * len(found)
    assert "default-src 'none'" in shown.html() and "word class, layer 2" in shown.html()
    assert len(shown.json()["tasks"]) == len(found)


def test_layer_zero_is_embedding_and_position(model):
    items = synthetic_sample(model.tokenizer, 3).pairs
    settings = model.network.settings
    for stack, layers in (("encoder", settings.encoder_layers), ("decoder", settings.decoder_layers)):
        for item, vectors in zip(items, layer_vectors(model.network, items, stack), strict=True):
            trace = model.look(item.source, target=item.target).trace
            ids = item.source_ids if stack == "encoder" else item.read_ids
            assert vectors.shape == (layers + 1, len(ids), 16)
            np.testing.assert_allclose(vectors[0], trace[f"{stack}.sum"], atol=1e-5)
            np.testing.assert_allclose(vectors[1], trace[f"{stack}.1"], atol=1e-4)


def probed(*values: float) -> ProbeResult:
    return ProbeResult(
        "x", "encoder", tuple(Estimate(value, value, value, 9) for value in values), values, values, 0.5, 2
    )


def test_the_expected_layer():
    assert probed(0.5, 0.9, 0.9).expected_layer == pytest.approx(1)
    assert probed(0.5, 0.5, 0.9).expected_layer == pytest.approx(2)
    assert probed(0.5, 0.7, 0.6, 0.9).expected_layer == pytest.approx((0.2 * 1 + 0.2 * 3) / 0.4)
    assert probed(0.9, 0.91, 0.6).expected_layer is None  # too little is gained to say where
    unsure = replace(probed(0.5, 0.9), layers=(Estimate(0.5, 0.4, 0.6, 9), Estimate(0.9, 0.45, 1, 9)))
    assert unsure.expected_layer is None
