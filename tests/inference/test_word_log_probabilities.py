"""The log-probability of each word of a translation."""

import math
from collections.abc import Iterator

import pytest

import regard
from regard.inference.joiner import join_parts
from regard.inference.result import Translation

DECODE = regard.DecodeSettings(log_probabilities=True, n_best=2)


@pytest.fixture(scope="module")
def model() -> Iterator[regard.Model]:
    with regard.load("en-fr") as model:
        yield model


def test_the_words_and_eos_make_up_the_translation(model: regard.Model) -> None:
    best = model.translate("The animal didn't cross the street because it was too tired.", DECODE)
    for each in (best, *best.alternatives):
        values = each.word_log_probabilities
        assert len(values) == len(each.text.split())
        assert all(value is not None and value < 0 for value in values)
        total = math.fsum([*(value or 0 for value in values), each.log_probabilities[-1]])
        assert total == pytest.approx(each.log_probability)


def test_several_lines(model: regard.Model) -> None:
    first, second = model.translate(["I am tired.", "Where is the cat?"], DECODE)
    both = model.translate("I am tired.\n\n - Where is the cat?", DECODE)
    assert both.word_log_probabilities == (*first.word_log_probabilities, None, *second.word_log_probabilities)


def test_copied_words_have_none(model: regard.Model) -> None:
    found = model.translate("Go to (https://example.com) now.", DECODE)
    values = dict(zip(found.text.split(), found.word_log_probabilities, strict=True))
    assert [word for word, value in values.items() if value is None] == ["(https://example.com)"]


def test_a_word_of_two_parts_has_none() -> None:
    parts = [("ab cd", False), ("ef gh", False)]
    translated = {
        part: [Translation(part[0], part[0], None, None, (), word_log_probabilities=(-1.0, -2.0))] for part in parts
    }
    for space, values in (
        ("", (-1.0, None, -2.0)),
        (" ", (-1.0, -2.0, -1.0, -2.0)),
        (" - ", (-1.0, -2.0, None, -1.0, -2.0)),
    ):
        joined = join_parts("", [(parts[0], space), (parts[1], "")], translated, has_scores=False)
        assert joined.word_log_probabilities == values


def test_they_are_returned_on_request_only(model: regard.Model) -> None:
    assert model.translate("I am tired.").word_log_probabilities == ()
