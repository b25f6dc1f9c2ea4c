"""IBM model 1 learns translations from sentence pairs."""

import pytest

from regard.evaluation.ibm_model_1 import NULL, IbmModel1

PAIRS = [("the house", "la maison"), ("the book", "le livre"), ("a book", "un livre"), ("the house", "la maison")]
MODEL = IbmModel1([(source.split(), target.split()) for source, target in PAIRS])


def test_words_that_occur_together_are_aligned():
    assert MODEL.align(["a", "house"], ["un", "maison"]) == ((0, 0), (1, 1))
    assert MODEL.align(["book", "the"], ["livre"]) == ((0, 0),)


def test_an_unknown_word_has_no_link():
    assert MODEL.align(["the", "house"], ["zebra"]) == ()


def test_probabilities_sum_to_one_and_favour_the_translation():
    for word in ("the", "book", NULL):
        assert sum(MODEL._probabilities[word].values()) == pytest.approx(1)
    assert MODEL._probabilities["book"]["livre"] > 0.7
