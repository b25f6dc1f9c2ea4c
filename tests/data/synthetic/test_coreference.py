""" "it" can only be solved by reading the sentence: no word, no noun, no place and no bag of words gives it away."""

from collections import Counter, defaultdict
from itertools import islice, product

import numpy as np
import pytest

from regard.data.synthetic import Pair, split_of
from regard.data.synthetic.generator import ambiguous_pronoun_pairs
from regard.data.synthetic.grammar.lexicon import of_class
from regard.data.synthetic.templates.coreference import LINKS, frames
from regard.interpret.measure.pronoun_baselines import BagOfWords, words_of


def of(pair: Pair, place: int | None) -> str:
    assert place is not None
    return pair.truth.source[place].text.lower()


def test_two_sentences_of_a_flip_differ_in_one_word_and_in_the_noun_it_is(scenes):
    for first, second in scenes[:500]:
        one, other = first.truth, second.truth
        assert one.it and other.it
        places = [place for place, (a, b) in enumerate(zip(one.source, other.source, strict=True)) if a.text != b.text]
        assert places == [one.it.decider] == [other.it.decider]
        assert (one.it.antecedent, one.it.other) == (other.it.other, other.it.antecedent)
        assert {one.it.gender, other.it.gender} == {"m", "f"}
        assert {one.it.slot, other.it.slot} == {"subject", "object"}
        assert first.target != second.target


def test_sentences_about_it_are_those_of_the_language():
    found = list(islice(ambiguous_pronoun_pairs(1, "valid"), 200))
    its = [pair.truth.it for pair in found if pair.truth.it and pair.truth.it.other is not None]
    assert len(its) == 200 and {(pair.truth.kind, split_of(pair)) for pair in found} == {("it", "valid")}
    assert 0.1 < sum(it.same_gender for it in its) / len(its) < 0.3


def test_half_of_the_flips_have_nouns_that_occur_in_both_roles(scenes):
    swapped = [first.truth for first, _ in scenes if first.truth.it and first.truth.it.both_roles]
    assert 0.47 < len(swapped) / len(scenes) < 0.53


def test_no_word_picks_the_same_slot_more_often_than_the_other(scenes):
    slots: Counter[tuple[str, str]] = Counter()
    for flip in scenes:
        for pair in flip:
            assert pair.truth.it and pair.truth.it.slot
            slots[of(pair, pair.truth.it.decider), pair.truth.it.slot] += 1
    words = {word for word, _ in slots}
    assert len(words) >= 40
    for word in words:
        subject, total = slots[word, "subject"], slots[word, "subject"] + slots[word, "object"]
        # Of few sentences a fair share may still be far from half: allow three deviations beside the 60 %.
        assert abs(subject / total - 0.5) < 0.1 + 1.5 / total**0.5, (word, subject, total)
        if total > 200:
            assert abs(subject / total - 0.5) < 0.1, (word, subject, total)


def test_of_all_that_can_be_drawn_each_word_picks_each_slot_half_the_time():
    shares: dict[tuple[str, bool], float] = defaultdict(float)
    for frame in (*frames(True), *frames(False)):
        for (subject, ways), link, denied in product(frame.ways.items(), LINKS, {False, frame.deniable}):
            for way in ways:
                reasons = frame.reasons[(denied == way.inverts) == (link != "even though")]
                for side, words in reasons.items():
                    for word in words:
                        often = 0.7 if link == "because" else 0.15
                        shares[word.english, side == subject] += often / len(ways) / len(words)
    for name in {name for name, _ in shares}:
        assert shares[name, True] == pytest.approx(shares[name, False]), name


def test_much_is_drawn(scenes):
    """At least 60 nouns as the subject, 60 as the object, 40 words that decide, 8 frames."""
    drawn: dict[str, set[str]] = {"subject": set(), "object": set(), "decider": set(), "frame": set()}
    for first, second in scenes:
        for pair in (first, second):
            it = pair.truth.it
            assert it and it.slot and it.frame
            drawn[it.slot].add(of(pair, it.antecedent))
            drawn["decider"].add(of(pair, it.decider))
            drawn["frame"].add(it.frame)
    least = {"subject": 60, "object": 60, "decider": 40, "frame": 8}
    assert all(len(drawn[name]) >= count for name, count in least.items())


def test_genders_come_in_every_order(sample):
    orders: Counter[tuple[str | None, str, bool]] = Counter()
    for pair in sample:
        it = pair.truth.it
        if it and it.other is not None:
            orders[it.slot, it.gender, it.same_gender] += 1
    assert len(orders) == 8
    total = sum(orders.values())
    assert all(count > total * (0.03 if same else 0.15) for (_, _, same), count in orders.items())


def test_nouns_stand_between_the_two_and_it(sample):
    between = 0
    for pair in sample:
        it = pair.truth.it
        if it and it.other is not None:
            nouns = {place for place, word in enumerate(pair.truth.source[: it.at]) if word.kind in ("noun", "name")}
            between += bool(nouns - {it.antecedent, it.other})
    assert between > 100


def right(bags, labels):
    """How often a bag of words gives the label, on a quarter it was not fitted on."""
    cut = len(bags) * 3 // 4
    return float((BagOfWords(bags[:cut], labels[:cut])(bags[cut:]) == labels[cut:]).mean())


@pytest.fixture(scope="module")
def swapped(scenes):
    """The flips whose nouns occur in both roles."""
    return [pair for flip in scenes for pair in flip if pair.truth.it and pair.truth.it.both_roles]


def test_a_bag_of_words_stays_at_chance(swapped):
    bags = [words_of(pair) for pair in swapped]
    its = [pair.truth.it for pair in swapped]
    for labels in ([it.gender == "f" for it in its], [it.slot == "subject" for it in its]):
        # A fair coin stays within three deviations, which are 0.042 for a quarter of these sentences.
        assert 0.45 < right(bags, np.array(labels)) < 0.55
    # The classifier does learn what a bag of words tells.
    assert right(bags, np.array([it.number == "plural" for it in its])) > 0.99


def test_a_pair_of_nouns_alone_stays_at_chance(swapped):
    first: Counter[tuple[str, bool]] = Counter()
    for pair in swapped:
        it = pair.truth.it
        assert it and it.other is not None
        subject = it.antecedent if it.slot == "subject" else it.other
        names = tuple(sorted((of(pair, it.antecedent), of(pair, it.other))))
        first[" ".join(names), of(pair, subject) == names[0]] += 1
    orders = {name for name, _ in first}
    assert 0.45 < sum(first[name, True] for name in orders) / sum(first.values()) < 0.55


def test_they_are_not_the_people_beside(sample):
    """Found: "the animals near the teachers stopped because they were tired"."""
    people = {noun.english_plural for noun in of_class("person")}
    for pair in sample:
        if pair.truth.kind == "it" and pair.truth.it.number == "plural":
            assert not people & {word.text for word in pair.truth.source}, pair
