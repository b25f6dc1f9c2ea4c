"""The annotations agree with the text."""

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


def some_pairs(seed: int, count: int = 25) -> list[Pair]:
    return list(islice(pairs(seed), count))


def gender_and_number(noun: str) -> list[tuple[str, bool]]:
    """Return the possible genders and numbers of a French noun; "tapis" is singular or plural."""
    possible = []
    for known in nouns().values():
        possible += [(known.gender, False)] * (known.french == noun)
        possible += [(known.gender, True)] * (known.french_plural == noun)
    return possible


@few
@given(seeds)
def test_words_start_at_the_annotated_characters(seed):
    for pair in some_pairs(seed):
        for text, words in ((pair.source, pair.annotations.source), (pair.target, pair.annotations.target)):
            assert all(text[word.start : word.start + len(word.text)] == word.text for word in words)
            rest = list(text)
            for word in words:
                rest[word.start : word.start + len(word.text)] = " " * len(word.text)
            assert "".join(rest).strip() == ""


@few
@given(seeds)
def test_every_annotated_position_is_a_word_of_the_right_kind(seed):
    for pair in some_pairs(seed):
        annotations = pair.annotations
        kinds = [word.kind for word in annotations.source]
        thing = {"noun", "pronoun", "name"}
        for verb in annotations.verbs:
            assert kinds[verb.at] == "verb"
            for position in (verb.subject, verb.object, verb.instrument):
                assert position is None or kinds[position] in thing
        for adjective, noun in annotations.adjectives:
            assert kinds[adjective] == "adjective"
            assert kinds[noun] in thing
        for source, target in annotations.alignment:
            assert 0 <= source < len(annotations.source)
            assert 0 <= target < len(annotations.target)


@few
@given(seeds)
def test_alignment_covers_all_content_words_and_preserves_kinds(seed):
    content = {"noun", "name", "adjective", "numeral"}
    for pair in some_pairs(seed):
        annotations = pair.annotations
        sources, targets = (
            {source for source, _ in annotations.alignment},
            {target for _, target in annotations.alignment},
        )
        assert {position for position, word in enumerate(annotations.source) if word.kind in content} <= sources
        assert {position for position, word in enumerate(annotations.target) if word.kind in content} <= targets
        known = {form: noun for noun in nouns().values() for form in (noun.english, noun.english_plural)}
        for source, target in annotations.alignment:
            word = annotations.source[source]
            noun = known.get(word.text.lower())
            if (
                word.kind == "noun"
                and noun
                and annotations.target[target].kind == "noun"
                and annotations.kind != "profession"
            ):
                assert annotations.target[target].text.lower() in (noun.french, noun.french_plural)


@few
@given(seeds)
def test_adjectives_agree_with_their_nouns(seed):
    for pair in some_pairs(seed):
        annotations = pair.annotations
        aligned: dict[int, list[int]] = {}
        for source, target in annotations.alignment:
            aligned.setdefault(source, []).append(target)
        if annotations.kind == "both":
            continue
        for adjective, noun in annotations.adjectives:
            if annotations.coreference and noun == annotations.coreference.at:
                noun = annotations.coreference.antecedent
            found = adjectives().get(annotations.source[adjective].text)
            head = next(
                annotations.target[position]
                for position in aligned[noun]
                if annotations.target[position].kind in ("noun", "name", "pronoun")
            )
            if found is None or head.kind != "noun":
                continue
            word = next(
                annotations.target[position].text
                for position in aligned[adjective]
                if annotations.target[position].kind == "adjective"
            )
            allowed = {found.fr(*form) for form in gender_and_number(head.text)} | ({found.before_vowel} - {""})
            assert word in allowed, pair


@few
@given(seeds)
def test_the_pronoun_has_the_gender_and_number_of_its_antecedent(seed):
    for pair in some_pairs(seed):
        coreference = pair.annotations.coreference
        if coreference is None:
            continue
        annotations = pair.annotations
        heads = [
            annotations.target[target].text
            for source, target in annotations.alignment
            if source == coreference.antecedent
        ]
        forms = {form for head in heads for form in gender_and_number(head.lower())}
        assert (coreference.gender, coreference.number == "plural") in forms
        text = annotations.target[coreference.target].text
        if all(verb.object != coreference.at for verb in annotations.verbs):
            assert text == {"m": "il", "f": "elle"}[coreference.gender] + "s" * (coreference.number == "plural")
        else:
            assert text in ("le", "la", "l'", "les")


@few
@given(seeds)
def test_a_cue_decides_between_antecedent_and_distractor(seed):
    for pair in some_pairs(seed):
        coreference = pair.annotations.coreference
        if coreference is None or coreference.cue is None:
            continue
        assert coreference.distractor is not None and coreference.distractor != coreference.antecedent
        main = next(
            verb
            for verb in pair.annotations.verbs
            if {verb.subject, verb.object} == {coreference.antecedent, coreference.distractor}
        )
        assert (main.subject if coreference.slot == "subject" else main.object) == coreference.antecedent
        assert (coreference.cue, coreference.at) in pair.annotations.adjectives
        assert coreference.cue > coreference.at > max(coreference.antecedent, coreference.distractor)


def test_annotations_can_be_written_as_json(sample):
    for pair in sample[:200]:
        parsed = json.loads(json.dumps(asdict(pair.annotations)))
        assert parsed["kind"] == pair.annotations.kind
        assert [word[0] for word in parsed["source"]] == [word.text for word in pair.annotations.source]


def test_every_annotation_occurs(sample):
    samples = [pair.annotations for pair in sample]
    assert {annotations.tense for annotations in samples} >= {"present", "past", "future"}
    assert {verb.target_tense for annotations in samples for verb in annotations.verbs} == {
        "présent",
        "imparfait",
        "passé composé",
        "futur",
        "infinitif",
    }
    assert {annotations.sentiment for annotations in samples} == {"positive", "negative", None}
    assert any(verb.instrument is not None for annotations in samples for verb in annotations.verbs)
    assert any(verb.negated for annotations in samples for verb in annotations.verbs)
    assert any(annotations.coreference and annotations.coreference.same_gender for annotations in samples)


def test_fixed_words_after_a_verb_have_the_right_kind(sample):
    """A reader found "faim" as a preposition."""
    kinds: dict[str, set[str]] = {}
    for pair in sample:
        for word in pair.annotations.target:
            kinds.setdefault(word.text, set()).add(word.kind)
    assert kinds["faim"] == {"noun"}
    assert kinds["par"] == kinds["sur"] == {"preposition"}
    assert kinds["posée"] == {"verb"}
    assert kinds["semaine"] == {"noun"}
    assert kinds["dernière"] == {"adjective"}
    assert kinds["cher"] <= {"adjective", "adverb"}
