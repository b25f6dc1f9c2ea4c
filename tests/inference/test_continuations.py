"""Continuations of a translation at a word: kept words, search from there on, and probabilities."""

import math
from dataclasses import replace

import pytest

import regard
from regard.errors import UserError
from regard.inference.backends.torch import TorchBackend
from regard.inference.continuations import Continuation, find_continuations

TEXT = "The animal didn't cross the street."


@pytest.fixture(scope="module")
def model() -> regard.Model:
    return regard.load("en-fr", backend="torch")


def continuations(model: regard.Model, target: str, at: int, count: int = 4, text: str = TEXT) -> list[Continuation]:
    translator = model._translator
    assert isinstance(translator.backend, TorchBackend)
    return find_continuations(
        translator.backend,
        translator.reader,
        translator.writer,
        model.tokenizer,
        text,
        target,
        at=at,
        count=count,
        decode=replace(model.decode, alignment=True),
        temperature=translator.calibration_temperature,
    )


@pytest.mark.parametrize("at", [0, 1, 3])
def test_the_words_before_stay_and_the_next_ones_differ(model: regard.Model, at: int):
    target = model.translate(TEXT).text
    found = continuations(model, target, at)
    assert len(found) == 4 == len({each.word for each in found})
    for each in found:
        assert each.translation.text.split()[: at + 1] == [*target.split()[:at], each.word]
    assert [each.probability for each in found] == sorted((each.probability for each in found), reverse=True)
    assert all(0 < each.probability < 1 for each in found)


def test_the_translation_itself_is_among_them(model: regard.Model):
    target = model.translate(TEXT).text
    found = {each.word: each for each in continuations(model, target, 1)}
    assert found[target.split()[1]].translation.text == target


def test_probabilities_are_those_of_the_words(model: regard.Model):
    """The probability of a first word is the product over its tokens, as scoring the whole text computes it."""
    target = model.translate(TEXT).text
    for each in continuations(model, target, 0):
        [scored] = model.score([(TEXT, each.translation.text)])
        words = scored.word_probabilities
        assert words[0] is not None and math.isclose(words[0], each.probability, rel_tol=1e-4)


def test_a_continuation_has_the_words_and_links_of_its_translation(model: regard.Model):
    decode = replace(model.decode, alignment=True, log_probabilities=True)
    translation = model.translate(TEXT, decode)
    same = {each.word: each.translation for each in continuations(model, translation.text, 1)}[
        translation.text.split()[1]
    ]
    assert same.alignment == translation.alignment and same.alignment
    assert same.word_probabilities == pytest.approx(translation.word_probabilities, rel=1e-4)


def test_a_continuation_is_what_the_search_finds_after_its_first_words(model: regard.Model):
    target = model.translate(TEXT).text
    for each in continuations(model, target, 2, count=2):
        prefix = " ".join(each.translation.text.split()[:3])
        assert model.translate(TEXT, replace(model.decode, prefix=prefix)).text.startswith(prefix)


def test_refusals(model: regard.Model):
    with pytest.raises(UserError, match="the translation has 2 words, so there is no word 3"):
        continuations(model, "a b", 3)
    with pytest.raises(UserError, match="a single line"):
        continuations(model, "a b", 0, text="two\nlines")
