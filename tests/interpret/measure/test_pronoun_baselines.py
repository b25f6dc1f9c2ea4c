"""The pronoun baselines: each is right exactly as often as its rule implies."""

from itertools import islice

import numpy as np
import pytest

from regard.data.synthetic.generator import minimal_pairs
from regard.interpret.measure.pronoun_baselines import (
    BagOfWords,
    MajorityGender,
    baselines,
    coreference_of,
    cue_of,
    nouns_of,
    pronoun_accuracy,
    words_of,
)

MINIMAL_PAIRS = list(islice(minimal_pairs(1, "test"), 200))
SENTENCES = [sentence for both in MINIMAL_PAIRS for sentence in both]


def test_accuracy_counts_sentences_and_pairs():
    result = pronoun_accuracy("some", np.array([True, True, True, False, False, False]), MINIMAL_PAIRS[:3])
    assert (result.accuracy.value, result.accuracy.count) == (0.5, 6)
    assert result.pair_accuracy.value == pytest.approx(1 / 3)


def test_a_baseline_that_cannot_see_the_cue_is_right_in_one_sentence_of_each_pair(monkeypatch):
    monkeypatch.setattr("regard.interpret.measure.pronoun_baselines.TRAINING_PAIRS", 300)
    results = {result.name: result for result in baselines(MINIMAL_PAIRS)}
    for name in ("always the first noun", "always the nearest noun", "the two nouns alone"):
        assert (results[name].accuracy.value, results[name].pair_accuracy.value) == (0.5, 0)
        assert results[name].by_construction
    for result in results.values():
        assert 0.4 < result.accuracy.value < 0.75 and result.pair_accuracy.value < 0.6, result
    assert list(results) == [
        "always the first noun",
        "always the nearest noun",
        "the two nouns alone",
        "the cue alone",
        "the words without their order, linear",
    ]


def test_the_majority_gender_of_a_cue_is_the_one_it_had_more_often():
    majority = MajorityGender(cue_of, SENTENCES)
    for sentence, feminine in zip(SENTENCES[:50], majority(SENTENCES[:50]), strict=True):
        genders = [coreference_of(other).gender for other in SENTENCES if cue_of(other) == cue_of(sentence)]
        assert feminine == (genders.count("f") > genders.count("m"))
    assert not MajorityGender(cue_of, [])(SENTENCES).any()


def test_the_two_nouns_are_in_the_order_of_the_sentence():
    for first, second in MINIMAL_PAIRS:
        assert nouns_of(first) == nouns_of(second)
        assert first.source.lower().index(nouns_of(first)[0]) < first.source.lower().rindex(nouns_of(first)[1])


def test_a_bag_of_words_learns_from_words_but_not_from_their_order():
    bags = [{"a", "b"}, {"b", "c"}, {"a", "c"}, {"c"}]
    fitted = BagOfWords(bags, [True, False, True, False])
    assert fitted([{"a"}, {"a", "b", "c"}, {"c"}, {"b", "c", "new"}]).tolist() == [True, True, False, False]
    first, second = SENTENCES[0], SENTENCES[1]
    assert words_of(first) ^ words_of(second) == {cue_of(first), cue_of(second)}
