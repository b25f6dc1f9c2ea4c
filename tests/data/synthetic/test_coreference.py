"""The antecedent of "it" follows from the whole sentence only: no cue, noun or position reveals it, and
no linear bag of words does where the nouns can swap roles."""

from collections import Counter, defaultdict
from itertools import islice, product

import numpy as np
import pytest

from regard.data.synthetic import Pair, split_of
from regard.data.synthetic.generator import ambiguous_pronoun_pairs
from regard.data.synthetic.grammar.lexicon import nouns_of_class
from regard.data.synthetic.templates.coreference import CONJUNCTIONS, frames
from regard.interpret.measure.pronoun_baselines import BagOfWords, words_of


def word_at(pair: Pair, position: int | None) -> str:
    assert position is not None
    return pair.annotations.source[position].text.lower()


def test_the_sentences_of_a_minimal_pair_differ_in_the_cue_and_the_antecedent(minimal_pair_sample):
    for first, second in minimal_pair_sample[:500]:
        a, b = first.annotations, second.annotations
        assert a.coreference and b.coreference
        words = enumerate(zip(a.source, b.source, strict=True))
        positions = [position for position, (word_a, word_b) in words if word_a.text != word_b.text]
        assert positions == [a.coreference.cue] == [b.coreference.cue]
        assert (a.coreference.antecedent, a.coreference.distractor) == (
            b.coreference.distractor,
            b.coreference.antecedent,
        )
        assert {a.coreference.gender, b.coreference.gender} == {"m", "f"}
        assert {a.coreference.slot, b.coreference.slot} == {"subject", "object"}
        assert first.target != second.target


def test_ambiguous_pronoun_pairs_have_a_distractor_and_belong_to_their_split():
    sampled = list(islice(ambiguous_pronoun_pairs(1, "valid"), 200))
    references = [
        pair.annotations.coreference
        for pair in sampled
        if pair.annotations.coreference and pair.annotations.coreference.distractor is not None
    ]
    assert len(references) == 200 and {(pair.annotations.kind, split_of(pair)) for pair in sampled} == {("it", "valid")}
    assert 0.1 < sum(coreference.same_gender for coreference in references) / len(references) < 0.3


def test_half_of_the_minimal_pairs_have_nouns_that_occur_in_both_roles(minimal_pair_sample):
    swapped = [
        first.annotations
        for first, _ in minimal_pair_sample
        if first.annotations.coreference and first.annotations.coreference.both_roles
    ]
    assert 0.47 < len(swapped) / len(minimal_pair_sample) < 0.53


def test_no_cue_prefers_a_slot(minimal_pair_sample):
    slots: Counter[tuple[str, str]] = Counter()
    for minimal_pair in minimal_pair_sample:
        for pair in minimal_pair:
            assert pair.annotations.coreference and pair.annotations.coreference.slot
            slots[word_at(pair, pair.annotations.coreference.cue), pair.annotations.coreference.slot] += 1
    words = {word for word, _ in slots}
    assert len(words) >= 40
    for word in words:
        subject, total = slots[word, "subject"], slots[word, "subject"] + slots[word, "object"]
        # With few sentences a fair proportion may be far from one half: allow three standard deviations more.
        assert abs(subject / total - 0.5) < 0.1 + 1.5 / total**0.5, (word, subject, total)
        if total > 200:
            assert abs(subject / total - 0.5) < 0.1, (word, subject, total)


def test_each_cue_picks_each_slot_with_probability_one_half():
    probabilities: dict[tuple[str, bool], float] = defaultdict(float)
    for frame in (*frames(True), *frames(False)):
        for (subject, wordings), conjunction, negated in product(
            frame.wordings.items(), CONJUNCTIONS, {False, frame.negatable}
        ):
            for wording in wordings:
                cues = frame.cues[(negated == wording.inverts) == (conjunction != "even though")]
                for side, words in cues.items():
                    for word in words:
                        probability = 0.7 if conjunction == "because" else 0.15
                        probabilities[word.english, side == subject] += probability / len(wordings) / len(words)
    for name in {name for name, _ in probabilities}:
        assert probabilities[name, True] == pytest.approx(probabilities[name, False]), name


def test_minimal_pairs_are_diverse(minimal_pair_sample):
    """There are at least 60 nouns as the subject, 60 as the object, 40 cues and 8 frames."""
    values: dict[str, set[str]] = {"subject": set(), "object": set(), "cue": set(), "frame": set()}
    for first, second in minimal_pair_sample:
        for pair in (first, second):
            coreference = pair.annotations.coreference
            assert coreference and coreference.slot and coreference.frame
            values[coreference.slot].add(word_at(pair, coreference.antecedent))
            values["cue"].add(word_at(pair, coreference.cue))
            values["frame"].add(coreference.frame)
    minimum = {"subject": 60, "object": 60, "cue": 40, "frame": 8}
    assert all(len(values[name]) >= count for name, count in minimum.items())


def test_every_order_of_genders_occurs(sample):
    orders: Counter[tuple[str | None, str, bool]] = Counter()
    for pair in sample:
        coreference = pair.annotations.coreference
        if coreference and coreference.distractor is not None:
            orders[coreference.slot, coreference.gender, coreference.same_gender] += 1
    assert len(orders) == 8
    total = sum(orders.values())
    assert all(count > total * (0.03 if same else 0.15) for (_, _, same), count in orders.items())


def test_other_nouns_occur_before_the_pronoun(sample):
    between = 0
    for pair in sample:
        coreference = pair.annotations.coreference
        if coreference and coreference.distractor is not None:
            nouns = {
                position
                for position, word in enumerate(pair.annotations.source[: coreference.at])
                if word.kind in ("noun", "name")
            }
            between += bool(nouns - {coreference.antecedent, coreference.distractor})
    assert between > 100


def bag_of_words_accuracy(bags, labels):
    """Return the accuracy of a bag-of-words classifier on the quarter of the data that it was not fitted on."""
    cut = len(bags) * 3 // 4
    return float((BagOfWords(bags[:cut], labels[:cut])(bags[cut:]) == labels[cut:]).mean())


@pytest.fixture(scope="module")
def swapped(minimal_pair_sample):
    """Return the sentences of minimal pairs whose nouns occur in both roles."""
    return [
        pair
        for minimal_pair in minimal_pair_sample
        for pair in minimal_pair
        if pair.annotations.coreference and pair.annotations.coreference.both_roles
    ]


def test_a_bag_of_words_classifier_stays_at_chance_level(swapped):
    bags = [words_of(pair) for pair in swapped]
    references = [pair.annotations.coreference for pair in swapped]
    for labels in (
        [coreference.gender == "f" for coreference in references],
        [coreference.slot == "subject" for coreference in references],
    ):
        # Three standard deviations of a fair coin are 0.042 for a quarter of these sentences.
        assert 0.45 < bag_of_words_accuracy(bags, np.array(labels)) < 0.55
    # The classifier does learn a property that a bag of words reveals.
    assert bag_of_words_accuracy(bags, np.array([coreference.number == "plural" for coreference in references])) > 0.99


def test_the_pair_of_nouns_does_not_reveal_the_subject(swapped):
    first: Counter[tuple[str, bool]] = Counter()
    for pair in swapped:
        coreference = pair.annotations.coreference
        assert coreference and coreference.distractor is not None
        subject = coreference.antecedent if coreference.slot == "subject" else coreference.distractor
        names = tuple(sorted((word_at(pair, coreference.antecedent), word_at(pair, coreference.distractor))))
        first[" ".join(names), word_at(pair, subject) == names[0]] += 1
    orders = {name for name, _ in first}
    assert 0.45 < sum(first[name, True] for name in orders) / sum(first.values()) < 0.55


def test_no_plural_person_occurs_with_a_plural_pronoun(sample):
    """A reader found "the animals near the teachers stopped because they were tired"."""
    people = {noun.english_plural for noun in nouns_of_class("person")}
    for pair in sample:
        if pair.annotations.kind == "it" and pair.annotations.coreference.number == "plural":
            assert not people & {word.text for word in pair.annotations.source}, pair
