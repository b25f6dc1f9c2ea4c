"""The probability of each word of a translation."""

import math
from collections.abc import Iterator
from dataclasses import replace

import pytest

import regard
from regard.inference.joiner import join_parts
from regard.inference.result import Translation
from regard.inference.token_probability import calibrated_probability
from regard.inference.translator_loader import make_translator
from regard.model_folder import bundled
from regard.model_folder.loader import open_folder

DECODE = regard.DecodeSettings(log_probabilities=True, n_best=2)


@pytest.fixture(scope="module")
def model() -> Iterator[regard.Model]:
    with regard.load("en-fr") as model:
        yield model


def test_the_words_and_eos_make_up_the_translation(model: regard.Model) -> None:
    best = model.translate("The animal didn't cross the street because it was too tired.", DECODE)
    for each in (best, *best.alternatives):
        values = [value for value in each.word_probabilities if value is not None]
        assert len(values) == len(each.text.split())
        product = math.prod([*values, math.exp(each.log_probabilities[-1])])
        assert product == pytest.approx(math.exp(each.log_probability or 0), rel=1e-6)


def test_they_are_calibrated() -> None:
    """A word with the tokens of "fatigué" and "." has the product of their calibrated probabilities."""
    folder = open_folder(bundled.for_languages(("en", "fr")))
    with make_translator([replace(folder, calibration_temperature=2.0)]) as translator:
        found = translator.translate("I am tired.", DECODE)
    assert found.tokens == ("▁Je", "▁suis", "▁fatigué", ".")
    logs = found.log_probabilities
    words = [logs[:1], logs[1:2], logs[2:4]]
    assert found.word_probabilities == tuple(calibrated_probability(each, 2.0) for each in words)
    assert found.word_probabilities[0] != pytest.approx(math.exp(logs[0]))


def test_several_lines(model: regard.Model) -> None:
    first, second = model.translate(["I am tired.", "Where is the cat?"], DECODE)
    both = model.translate("I am tired.\n\n - Where is the cat?", DECODE)
    assert both.word_probabilities == (*first.word_probabilities, None, *second.word_probabilities)


def test_copied_words_have_none(model: regard.Model) -> None:
    found = model.translate("Go to (https://example.com) now.", DECODE)
    values = dict(zip(found.text.split(), found.word_probabilities, strict=True))
    assert [word for word, value in values.items() if value is None] == ["(https://example.com)"]


def test_a_word_of_two_parts_has_none() -> None:
    parts = [("ab cd", False), ("ef gh", False)]
    translated = {
        part: [Translation(part[0], part[0], None, None, (), word_probabilities=(0.5, 0.25))] for part in parts
    }
    for space, values in (
        ("", (0.5, None, 0.25)),
        (" ", (0.5, 0.25, 0.5, 0.25)),
        (" - ", (0.5, 0.25, None, 0.5, 0.25)),
    ):
        joined = join_parts("", [(parts[0], space), (parts[1], "")], translated, has_scores=False)
        assert joined.word_probabilities == values


def test_they_are_returned_on_request_only(model: regard.Model) -> None:
    assert model.translate("I am tired.").word_probabilities == ()
