"""Who does not read the sentence: each is right exactly as often as its rule says."""

from itertools import islice

import numpy as np
import pytest

from regard.data.synthetic.generator import minimal_pairs
from regard.interpret.measure.pronoun_baselines import (
    BagOfWords,
    Usual,
    baselines,
    cue_of,
    it_of,
    nouns_of,
    pronoun_accuracy,
    words_of,
)

FLIPS = list(islice(minimal_pairs(1, "test"), 200))
PAIRS = [pair for both in FLIPS for pair in both]


def test_right_in_a_sentence_and_in_both():
    found = pronoun_accuracy("some", np.array([True, True, True, False, False, False]))
    assert (found.right.value, found.right.count) == (0.5, 3)
    assert found.both.value == pytest.approx(1 / 3)


def test_what_is_the_same_in_both_sentences_is_right_in_one(monkeypatch):
    monkeypatch.setattr("regard.interpret.measure.pronoun_baselines.FITTED_ON", 300)
    found = {one.name: one for one in baselines(FLIPS)}
    for name in ("always the first noun", "always the nearest noun", "the two nouns alone"):
        assert (found[name].right.value, found[name].both.value) == (0.5, 0)
    for one in found.values():
        assert 0.4 < one.right.value < 0.75 and one.both.value < 0.6, one
    assert list(found) == [
        "always the first noun",
        "always the nearest noun",
        "the deciding word alone",
        "the two nouns alone",
        "the words without their order",
    ]


def test_the_usual_gender_of_a_word_is_what_it_had_more_often():
    usual = Usual(cue_of, PAIRS)
    for pair, feminine in zip(PAIRS[:50], usual(PAIRS[:50]), strict=True):
        alike = [it_of(one).gender for one in PAIRS if cue_of(one) == cue_of(pair)]
        assert feminine == (alike.count("f") > alike.count("m"))
    assert not Usual(cue_of, [])(PAIRS).any()


def test_the_two_nouns_come_in_their_order():
    for first, second in FLIPS:
        assert nouns_of(first) == nouns_of(second)
        assert first.source.lower().index(nouns_of(first)[0]) < first.source.lower().rindex(nouns_of(first)[1])


def test_a_bag_of_words_learns_what_words_tell_and_no_order():
    bags = [{"a", "b"}, {"b", "c"}, {"a", "c"}, {"c"}]
    fitted = BagOfWords(bags, [True, False, True, False])
    assert fitted([{"a"}, {"a", "b", "c"}, {"c"}, {"b", "c", "new"}]).tolist() == [True, True, False, False]
    one, other = (PAIRS[0], PAIRS[1])
    assert words_of(one) ^ words_of(other) == {cue_of(one), cue_of(other)}
