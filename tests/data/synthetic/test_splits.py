"""Splits do not overlap, and the well-known sentences are in none of them although the grammar can form them."""

from itertools import islice
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data import synthetic
from regard.data.synthetic import FAMOUS, SPLITS, Pair, is_famous, split_of
from regard.data.synthetic.generator import minimal_pairs, pairs
from regard.data.synthetic.grammar.clauses import BE, clause
from regard.data.synthetic.grammar.lexicon import adjectives, nouns, verb
from regard.data.synthetic.grammar.phrases import Draft, Leaf, Phrase, noun_phrase, pronoun
from regard.data.synthetic.grammar.realization import realise
from regard.data.synthetic.grammar.verb_groups import VerbForm
from regard.data.synthetic.splits import (
    MAX_TRAINING_WORDS,
    is_unseen_noun_adjective,
    is_unseen_noun_pair,
    normalise,
    unseen_noun_adjectives,
    unseen_noun_pairs,
)
from regard.data.synthetic.templates.actions import LOCK_WITH_A_KEY, with_a_key
from regard.data.synthetic.templates.coreference import Scene, frames, scene_pair
from regard.data.synthetic.templates.preferences import gerund
from regard.errors import UserError

seeds = st.integers(0, 2**32)
few = settings(max_examples=10)


@few
@given(seeds)
def test_pairs_depend_on_the_seed_only(seed):
    sampled = list(islice(pairs(seed), 30))
    assert sampled == list(islice(pairs(seed), 30))
    assert [pair.annotations for pair in sampled] == [pair.annotations for pair in islice(pairs(seed), 30)]
    assert sampled != list(islice(pairs(seed + 1), 30))
    assert list(islice(minimal_pairs(seed, "train"), 5)) == list(islice(minimal_pairs(seed, "train"), 5))


def test_the_language_does_not_change():
    """The splits of a trained model are valid only as long as the language stays the same."""
    text = "".join(f"{pair.source}\t{pair.target}\n" for pair in islice(pairs(1), 1_000))
    assert crc32(text.encode()) == 3463139204


def test_an_unknown_split_is_refused():
    for stream in (pairs, minimal_pairs):
        with pytest.raises(
            UserError, match=r"no split 'dev'; choose one of train, valid, test, noun-pairs, noun-words"
        ):
            stream(1, "dev")


def test_a_sentence_has_one_translation(sample):
    translations: dict[str, str] = {}
    for pair in sample:
        assert translations.setdefault(pair.source, pair.target) == pair.target


def test_no_sentence_is_in_two_splits(sample):
    # The split depends on the content of a sentence, not on the seed.
    sides: tuple[dict[str, str], dict[str, str]] = ({}, {})
    for pair in sample:
        split = split_of(pair)
        if split is not None:
            assert sides[0].setdefault(normalise(pair.source), split) == split
            assert sides[1].setdefault(normalise(pair.target), split) == split


def test_no_minimal_pair_is_divided_between_train_valid_and_test(minimal_pair_sample):
    for first, second in minimal_pair_sample:
        splits = {split_of(first), split_of(second)}
        assert len(splits & {"train", "valid", "test"}) <= 1, first


@few
@given(seeds, st.sampled_from(["train", "valid", "test"]))
def test_train_valid_and_test_have_no_held_out_combination(seed, split):
    for pair in islice(pairs(seed, split), 20 if split == "train" else 3):
        assert split_of(pair) == split
        assert not unseen_noun_pairs(pair.draft) and not unseen_noun_adjectives(pair.draft)
        assert max(len(pair.annotations.source), len(pair.annotations.target)) <= MAX_TRAINING_WORDS


def lemma(pair: Pair, at: int | None) -> str:
    assert at is not None
    text = pair.annotations.source[at].text.lower()
    return next(noun.english for noun in nouns().values() if text in (noun.english, noun.english_plural))


def test_held_out_splits_have_held_out_combinations():
    for pair in islice(pairs(1, "noun-pairs"), 20):
        coreference = pair.annotations.coreference
        assert coreference and is_unseen_noun_pair(
            lemma(pair, coreference.antecedent), lemma(pair, coreference.distractor)
        )
    for pair in islice(pairs(1, "noun-words"), 20):
        coreference = pair.annotations.coreference
        assert (
            coreference
            and coreference.cue
            and is_unseen_noun_adjective(
                lemma(pair, coreference.antecedent), pair.annotations.source[coreference.cue].text
            )
        )
    for pair in islice(pairs(1, "longer"), 10):
        assert min(len(pair.annotations.source), len(pair.annotations.target)) > MAX_TRAINING_WORDS


def test_both_sentences_of_a_minimal_pair_belong_to_its_split():
    for split in SPLITS:
        for first, second in islice(minimal_pairs(1, split), 3):
            assert split_of(first) == split_of(second) == split


def test_most_pairs_belong_to_train(sample):
    splits = [split_of(pair) for pair in sample]
    assert splits.count("train") > 0.7 * len(splits)
    assert all(splits.count(split) > 0.005 * len(splits) for split in SPLITS)


def test_well_known_sentences_belong_to_no_split(sample):
    famous = {normalise(side) for pair in FAMOUS for side in pair}
    for pair in sample:
        if {normalise(pair.source), normalise(pair.target)} & famous:
            assert split_of(pair) is None


def test_well_known_sentences_are_recognised_in_other_spellings():
    for source, target in FAMOUS:
        assert is_famous(source) and is_famous(target)
    assert is_famous("the animal did not cross the street because it was too tired !")
    assert is_famous("L’animal n’a pas traversé la rue parce qu’il était trop fatigué.")
    assert is_famous("I  am a student")
    assert not is_famous("I am a dentist.")


def test_normalisation_expands_contractions():
    assert normalise("The animal didn't cross the street.") == normalise("the animal did not cross the street")


def famous_pairs() -> list[Pair]:
    """Return the well-known sentences, built by the grammar."""
    return [*famous_scenes(), *famous_clauses()]


def famous_scenes() -> list[Pair]:
    by_name = {frame.name: frame for both_roles in (True, False) for frame in frames(both_roles)}
    negated = VerbForm("past", "not", contracted=True)

    def scene(name: str, x: str, y: str, of_x: str, of_y: str, form: VerbForm, degree: str = "too") -> Scene:
        frame = by_name[name]
        words = adjectives()
        # The grammar can sample each of these words.
        holds = not form.negation
        assert words[of_x] in frame.cues[holds]["x"] and words[of_y] in frame.cues[holds]["y"]
        assert frame.classes[0] in nouns()[x].classes and frame.classes[1] in nouns()[y].classes
        chosen = {"x": words[of_x], "y": words[of_y]}
        return Scene(frame, frame.wordings["x"][0], nouns()[x], nouns()[y], chosen, form, degree=degree)  # type: ignore[arg-type]

    animal = scene("cross", "animal", "street", "tired", "wide", negated)
    trophy = scene("fit", "trophy", "suitcase", "big", "small", negated)
    cat = scene("sit", "cat", "mat", "tired", "soft", VerbForm("past"), "")
    return [
        scene_pair(animal, "x"),
        scene_pair(animal, "y"),
        scene_pair(cat, "x"),
        scene_pair(trophy, "x"),
        scene_pair(trophy, "y"),
    ]


def famous_clauses() -> list[Pair]:
    draft = Draft("action")
    tool, key = with_a_key(draft)
    door = noun_phrase(draft, nouns()["door"])
    lock = clause(draft, pronoun(draft, "she"), LOCK_WITH_A_KEY, VerbForm("past"), door, tool, instrument=key)
    sentences = [realise(draft, lock)]
    for singular in (True, False):
        draft = Draft("liking")
        apples = noun_phrase(draft, nouns()["apple"], "bare", plural=True, adjective=adjectives()["fresh"])
        assert apples.head
        apples.head.text = "apple" if singular else "apples"
        subject = pronoun(draft, "I")
        eating = gerund(draft, subject, verb("eat", "manger"), apples)
        love = clause(draft, subject, verb("love", "adorer", state=True), VerbForm(), rest=[eating])
        sentences.append(realise(draft, love.add(draft.fixed_phrase("in the morning", "le matin", "adverb"))))
    for first, second in (("cat", "mat"), ("mat", "cat")):
        draft = Draft("dream")
        sit = verb("sit on", "s'asseoir sur")
        sentences.append(
            realise(
                draft,
                clause(
                    draft,
                    noun_phrase(draft, nouns()[first]),
                    sit,
                    VerbForm("past"),
                    noun_phrase(draft, nouns()[second]),
                ),
            )
        )
    draft = Draft("profession")
    student = Phrase([Leaf("a", "determiner"), Leaf("student", "noun")], [Leaf("étudiant", "noun")])
    draft.link(student.en, student.fr)
    sentences.append(realise(draft, clause(draft, pronoun(draft, "I"), BE, VerbForm(), rest=[student])))
    return sentences


def test_the_grammar_can_form_the_well_known_sentences_but_excludes_them():
    assert [(pair.source, pair.target) for pair in famous_pairs()] == list(FAMOUS)
    assert [split_of(pair) for pair in famous_pairs()] == [None] * len(FAMOUS)


def test_public_names_exist():
    assert set(synthetic.__all__) <= set(dir(synthetic))
