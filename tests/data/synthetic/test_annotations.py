"""The truth says what the text says."""

import json
from dataclasses import asdict
from itertools import islice

from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.synthetic import Pair
from regard.data.synthetic.generator import pairs
from regard.data.synthetic.grammar.lexicon import adjectives, nouns

seeds = st.integers(0, 2**32)
few = settings(max_examples=25)


def some(seed: int, count: int = 25) -> list[Pair]:
    return list(islice(pairs(seed), count))


def gender_and_number(noun: str) -> list[tuple[str, bool]]:
    """What a French noun can be; tapis is one or many."""
    found = []
    for one in nouns().values():
        found += [(one.gender, False)] * (one.french == noun) + [(one.gender, True)] * (one.french_plural == noun)
    return found


@few
@given(seeds)
def test_words_stand_where_they_are_said_to(seed):
    for pair in some(seed):
        for text, words in ((pair.source, pair.truth.source), (pair.target, pair.truth.target)):
            assert all(text[word.start : word.start + len(word.text)] == word.text for word in words)
            rest = list(text)
            for word in words:
                rest[word.start : word.start + len(word.text)] = " " * len(word.text)
            assert "".join(rest).strip() == ""


@few
@given(seeds)
def test_every_place_is_a_word_of_the_right_kind(seed):
    for pair in some(seed):
        truth = pair.truth
        kinds = [word.kind for word in truth.source]
        thing = {"noun", "pronoun", "name"}
        for verb in truth.verbs:
            assert kinds[verb.at] == "verb"
            for place in (verb.subject, verb.object, verb.instrument):
                assert place is None or kinds[place] in thing
        for adjective, noun in truth.adjectives:
            assert kinds[adjective] == "adjective"
            assert kinds[noun] in thing
        for source, target in truth.alignment:
            assert 0 <= source < len(truth.source)
            assert 0 <= target < len(truth.target)


@few
@given(seeds)
def test_alignment_leaves_no_content_out_and_keeps_kinds(seed):
    content = {"noun", "name", "adjective", "numeral"}
    for pair in some(seed):
        truth = pair.truth
        ours, theirs = {source for source, _ in truth.alignment}, {target for _, target in truth.alignment}
        assert {place for place, word in enumerate(truth.source) if word.kind in content} <= ours
        assert {place for place, word in enumerate(truth.target) if word.kind in content} <= theirs
        known = {form: noun for noun in nouns().values() for form in (noun.english, noun.english_plural)}
        for source, target in truth.alignment:
            word = truth.source[source]
            noun = known.get(word.text.lower())
            if word.kind == "noun" and noun and truth.target[target].kind == "noun" and truth.kind != "profession":
                assert truth.target[target].text.lower() in (noun.french, noun.french_plural)


@few
@given(seeds)
def test_adjectives_agree_with_their_nouns(seed):
    for pair in some(seed):
        truth = pair.truth
        aligned: dict[int, list[int]] = {}
        for source, target in truth.alignment:
            aligned.setdefault(source, []).append(target)
        if truth.kind == "both":
            continue
        for adjective, noun in truth.adjectives:
            if truth.it and noun == truth.it.at:
                noun = truth.it.antecedent
            found = adjectives().get(truth.source[adjective].text)
            head = next(
                truth.target[place]
                for place in aligned[noun]
                if truth.target[place].kind in ("noun", "name", "pronoun")
            )
            if found is None or head.kind != "noun":
                continue
            word = next(
                truth.target[place].text for place in aligned[adjective] if truth.target[place].kind == "adjective"
            )
            allowed = {found.fr(*form) for form in gender_and_number(head.text)} | ({found.before_vowel} - {""})
            assert word in allowed, pair


@few
@given(seeds)
def test_the_pronoun_has_the_gender_and_number_of_its_noun(seed):
    for pair in some(seed):
        it = pair.truth.it
        if it is None:
            continue
        truth = pair.truth
        heads = [truth.target[target].text for source, target in truth.alignment if source == it.antecedent]
        forms = {form for head in heads for form in gender_and_number(head.lower())}
        assert (it.gender, it.number == "plural") in forms
        said = truth.target[it.target].text
        if all(verb.object != it.at for verb in truth.verbs):
            assert said == {"m": "il", "f": "elle"}[it.gender] + "s" * (it.number == "plural")
        else:
            assert said in ("le", "la", "l'", "les")


@few
@given(seeds)
def test_a_decider_decides_between_two_nouns(seed):
    for pair in some(seed):
        it = pair.truth.it
        if it is None or it.decider is None:
            continue
        assert it.other is not None and it.other != it.antecedent
        main = next(verb for verb in pair.truth.verbs if {verb.subject, verb.object} == {it.antecedent, it.other})
        assert (main.subject if it.slot == "subject" else main.object) == it.antecedent
        assert (it.decider, it.at) in pair.truth.adjectives
        assert it.decider > it.at > max(it.antecedent, it.other)


def test_the_truth_becomes_json(sample):
    for pair in sample[:200]:
        known = json.loads(json.dumps(asdict(pair.truth)))
        assert known["kind"] == pair.truth.kind
        assert [word[0] for word in known["source"]] == [word.text for word in pair.truth.source]


def test_every_part_of_the_truth_occurs(sample):
    truths = [pair.truth for pair in sample]
    assert {truth.tense for truth in truths} >= {"present", "past", "future"}
    assert {verb.target_tense for truth in truths for verb in truth.verbs} == {
        "présent",
        "imparfait",
        "passé composé",
        "futur",
        "infinitif",
    }
    assert {truth.sentiment for truth in truths} == {"positive", "negative", None}
    assert any(verb.instrument is not None for truth in truths for verb in truth.verbs)
    assert any(verb.negated for truth in truths for verb in truth.verbs)
    assert any(truth.it and truth.it.same_gender for truth in truths)


def test_words_that_stand_fast_after_a_verb_have_their_kind(sample):
    """Found: "faim" as a preposition."""
    kinds: dict[str, set[str]] = {}
    for pair in sample:
        for word in pair.truth.target:
            kinds.setdefault(word.text, set()).add(word.kind)
    assert kinds["faim"] == {"noun"}
    assert kinds["par"] == kinds["sur"] == {"preposition"}
    assert kinds["posée"] == {"verb"}
    assert kinds["semaine"] == {"noun"}
    assert kinds["dernière"] == {"adjective"}
    assert kinds["cher"] <= {"adjective", "adverb"}
