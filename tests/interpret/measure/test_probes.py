"""Probes find what is there and nothing that is not."""

from dataclasses import replace

import numpy as np
import pytest

from regard.data.texts import finished
from regard.evaluation.intervals import Figure
from regard.inside.layerplot import Layers
from regard.inside.passes import vectors_of
from regard.inside.probes import Probed, measure_layers, probe
from regard.inside.properties import TASKS, read_row, writing_row
from regard.inside.sample import language_sample
from regard.inside.terminal import Paper


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
    items = language_sample(model.pieces, 150).items
    cases = {task: [(item, case) for item in items for case in asked.ask(item)] for task, asked in TASKS.items()}
    assert all(cases.values())
    assert {case.label for _, case in cases["number"]} == {"singular", "plural"}
    assert {case.label for _, case in cases["gender of antecedent"]} == {"m", "f"}
    assert {item.source_words[case.words[0]].text for item, case in cases["gender of antecedent"]} <= {"it", "they"}
    for item, case in cases["subject of verb"]:
        assert item.truth is not None
        verb = next(verb for verb in item.truth.verbs if verb.at == case.words[0])
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
    for item in language_sample(model.pieces, 9).items:
        for at, word in enumerate(item.target_words):
            if word.begin < word.end:
                (wrote,), (read,) = writing_row(item, at), read_row(item, at)
                assert item.written_ids[wrote] == item.read_ids[word.begin + 1]
                assert item.read_ids[read] == item.written_ids[word.end - 1]


def test_layers_of_an_untaught_model(model_of):
    model = model_of("pre")
    sample = language_sample(model.pieces, 90)
    found = finished(measure_layers(model.torch, sample))
    tasks = {one.task: one for one in found}
    assert {"position", "word class", "tense"} <= tasks.keys()
    for one in found:
        assert len(one.layers) == len(one.control) == len(one.untrained) == 3
        assert one.stack == ("decoder" if one.task.endswith((" read", " to write")) else "encoder")
        assert all(0 <= figure.low <= figure.value <= figure.high <= 1 for figure in one.layers)
    assert tasks["word class"].layers[0].value > tasks["word class"].commonest + 0.2  # the word itself tells
    assert tasks["class of the word read"].layers[0].value > tasks["class of the word read"].commonest + 0.2
    shown = Layers("model", 90, sample.name, found)
    lines = list(shown.lines(Paper()))
    assert "discourse and world knowledge" in lines[-1]
    assert shown.svg().count("<polyline") == 3 * len(found)
    assert "default-src 'none'" in shown.html() and "word class, layer 2" in shown.html()
    assert len(shown.json()["tasks"]) == len(found)


def test_layer_zero_is_embedding_and_position(model):
    items = language_sample(model.pieces, 3).items
    settings = model.torch.settings
    for stack, layers in (("encoder", settings.encoder_layers), ("decoder", settings.decoder_layers)):
        for item, vectors in zip(items, vectors_of(model.torch, items, stack), strict=True):
            trace = model.look(item.source, target=item.target).trace
            ids = item.source_ids if stack == "encoder" else item.read_ids
            assert vectors.shape == (layers + 1, len(ids), 16)
            np.testing.assert_allclose(vectors[0], trace[f"{stack}.sum"], atol=1e-5)
            np.testing.assert_allclose(vectors[1], trace[f"{stack}.1"], atol=1e-4)


def probed(*values: float) -> Probed:
    return Probed("x", "encoder", tuple(Figure(value, value, value, 9) for value in values), values, values, 0.5, 2)


def test_the_expected_layer():
    assert probed(0.5, 0.9, 0.9).expected_layer == pytest.approx(1)
    assert probed(0.5, 0.5, 0.9).expected_layer == pytest.approx(2)
    assert probed(0.5, 0.7, 0.6, 0.9).expected_layer == pytest.approx((0.2 * 1 + 0.2 * 3) / 0.4)
    assert probed(0.9, 0.91, 0.6).expected_layer is None  # too little is gained to say where
    unsure = replace(probed(0.5, 0.9), layers=(Figure(0.5, 0.4, 0.6, 9), Figure(0.9, 0.45, 1, 9)))
    assert unsure.expected_layer is None
