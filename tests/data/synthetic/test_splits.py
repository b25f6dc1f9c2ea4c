"""Splits do not touch; what must be translated unseen is never generated, though the grammar could."""

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
from regard.data.synthetic.grammar.realization import write
from regard.data.synthetic.grammar.verb_groups import How
from regard.data.synthetic.splits import LONGEST, pair_is_unseen, plain, unseen_pairs, unseen_words, word_is_unseen
from regard.data.synthetic.templates.actions import LOCK_WITH_A_KEY, with_a_key
from regard.data.synthetic.templates.coreference import Scene, frames, say
from regard.data.synthetic.templates.preferences import gerund
from regard.errors import UserError

seeds = st.integers(0, 2**32)
few = settings(max_examples=10)


@few
@given(seeds)
def test_the_same_seed_gives_the_same_pairs_and_another_gives_others(seed):
    found = list(islice(pairs(seed), 30))
    assert found == list(islice(pairs(seed), 30))
    assert [pair.truth for pair in found] == [pair.truth for pair in islice(pairs(seed), 30)]
    assert found != list(islice(pairs(seed + 1), 30))
    assert list(islice(minimal_pairs(seed, "train"), 5)) == list(islice(minimal_pairs(seed, "train"), 5))


def test_the_language_stays_as_it_is():
    """A model that was trained on it is only tested fairly by the same splits."""
    text = "".join(f"{pair.source}\t{pair.target}\n" for pair in islice(pairs(1), 1_000))
    assert crc32(text.encode()) == 3463139204


def test_an_unknown_split_is_refused():
    for stream in (pairs, minimal_pairs):
        with pytest.raises(
            UserError, match=r"no split 'dev'; choose one of train, valid, test, noun-pairs, noun-words"
        ):
            stream(1, "dev")


def test_a_sentence_has_one_translation(sample):
    found: dict[str, str] = {}
    for pair in sample:
        assert found.setdefault(pair.source, pair.target) == pair.target


def test_no_sentence_is_in_two_splits(sample):
    # Whatever the seed: a split is a matter of what a sentence says.
    sides: tuple[dict[str, str], dict[str, str]] = ({}, {})
    for pair in sample:
        split = split_of(pair)
        if split is not None:
            assert sides[0].setdefault(plain(pair.source), split) == split
            assert sides[1].setdefault(plain(pair.target), split) == split


def test_the_two_sentences_of_a_flip_are_seldom_in_two_splits(scenes):
    for first, second in scenes:
        both = {split_of(first), split_of(second)}
        assert len(both & {"train", "valid", "test"}) <= 1, first


@few
@given(seeds, st.sampled_from(["train", "valid", "test"]))
def test_training_and_its_tests_have_nothing_that_is_held_out(seed, split):
    for pair in islice(pairs(seed, split), 20 if split == "train" else 3):
        assert split_of(pair) == split
        assert not unseen_pairs(pair.draft) and not unseen_words(pair.draft)
        assert max(len(pair.truth.source), len(pair.truth.target)) <= LONGEST


def lemma(pair: Pair, at: int | None) -> str:
    assert at is not None
    text = pair.truth.source[at].text.lower()
    return next(noun.english for noun in nouns().values() if text in (noun.english, noun.english_plural))


def test_unseen_nouns_and_words_are_unseen():
    for pair in islice(pairs(1, "noun-pairs"), 20):
        it = pair.truth.it
        assert it and pair_is_unseen(lemma(pair, it.antecedent), lemma(pair, it.other))
    for pair in islice(pairs(1, "noun-words"), 20):
        it = pair.truth.it
        assert it and it.decider and word_is_unseen(lemma(pair, it.antecedent), pair.truth.source[it.decider].text)
    for pair in islice(pairs(1, "longer"), 10):
        assert min(len(pair.truth.source), len(pair.truth.target)) > LONGEST


def test_flips_belong_to_their_split():
    for split in SPLITS:
        for first, second in islice(minimal_pairs(1, split), 3):
            assert split_of(first) == split_of(second) == split


def test_most_pairs_are_to_learn_from(sample):
    shares = [split_of(pair) for pair in sample]
    assert shares.count("train") > 0.7 * len(shares)
    assert all(shares.count(split) > 0.005 * len(shares) for split in SPLITS)


def test_what_is_famous_is_never_generated(sample):
    famous = {plain(side) for pair in FAMOUS for side in pair}
    for pair in sample:
        if {plain(pair.source), plain(pair.target)} & famous:
            assert split_of(pair) is None


def test_what_is_famous_is_known_wherever_it_comes_from():
    for source, target in FAMOUS:
        assert is_famous(source) and is_famous(target)
    assert is_famous("the animal did not cross the street because it was too tired !")
    assert is_famous("L’animal n’a pas traversé la rue parce qu’il était trop fatigué.")
    assert is_famous("I  am a student")
    assert not is_famous("I am a dentist.")


def test_plain_sentences_hide_no_difference_that_matters():
    assert plain("The animal didn't cross the street.") == plain("the animal did not cross the street")


def said_by_grammar() -> list[Pair]:
    """The famous sentences, put together by the grammar from its words."""
    return [*famous_scenes(), *famous_clauses()]


def famous_scenes() -> list[Pair]:
    by_name = {frame.name: frame for both in (True, False) for frame in frames(both)}
    denied = How("past", "not", short=True)

    def scene(name: str, x: str, y: str, of_x: str, of_y: str, how: How, degree: str = "too") -> Scene:
        frame = by_name[name]
        words = adjectives()
        # Each of them is among what the grammar chooses from.
        holds = not how.denial
        assert words[of_x] in frame.reasons[holds]["x"] and words[of_y] in frame.reasons[holds]["y"]
        assert frame.classes[0] in nouns()[x].classes and frame.classes[1] in nouns()[y].classes
        chosen = {"x": words[of_x], "y": words[of_y]}
        return Scene(frame, frame.ways["x"][0], nouns()[x], nouns()[y], chosen, how, degree=degree)  # type: ignore[arg-type]

    animal = scene("cross", "animal", "street", "tired", "wide", denied)
    trophy = scene("fit", "trophy", "suitcase", "big", "small", denied)
    cat = scene("sit", "cat", "mat", "tired", "soft", How("past"), "")
    return [say(animal, "x"), say(animal, "y"), say(cat, "x"), say(trophy, "x"), say(trophy, "y")]


def famous_clauses() -> list[Pair]:
    draft = Draft("action")
    tool, key = with_a_key(draft)
    door = noun_phrase(draft, nouns()["door"])
    lock = clause(draft, pronoun(draft, "she"), LOCK_WITH_A_KEY, How("past"), door, tool, instrument=key)
    found = [write(draft, lock)]
    for singular in (True, False):
        draft = Draft("liking")
        apples = noun_phrase(draft, nouns()["apple"], "bare", plural=True, adjective=adjectives()["fresh"])
        assert apples.head
        apples.head.text = "apple" if singular else "apples"
        who = pronoun(draft, "I")
        eating = gerund(draft, who, verb("eat", "manger"), apples)
        love = clause(draft, who, verb("love", "adorer", state=True), How(), rest=[eating])
        found.append(write(draft, love.add(draft.fixed("in the morning", "le matin", "adverb"))))
    for first, second in (("cat", "mat"), ("mat", "cat")):
        draft = Draft("dream")
        sit = verb("sit on", "s'asseoir sur")
        found.append(
            write(
                draft,
                clause(
                    draft, noun_phrase(draft, nouns()[first]), sit, How("past"), noun_phrase(draft, nouns()[second])
                ),
            )
        )
    draft = Draft("profession")
    student = Phrase([Leaf("a", "determiner"), Leaf("student", "noun")], [Leaf("étudiant", "noun")])
    draft.link(student.en, student.fr)
    found.append(write(draft, clause(draft, pronoun(draft, "I"), BE, How(), rest=[student])))
    return found


def test_the_grammar_says_what_is_famous_and_leaves_it_out():
    assert [(pair.source, pair.target) for pair in said_by_grammar()] == list(FAMOUS)
    assert [split_of(pair) for pair in said_by_grammar()] == [None] * len(FAMOUS)


def test_the_public_names():
    assert set(synthetic.__all__) <= set(dir(synthetic))
