"""The word lists: one French word for each English one, and enough of them."""

from collections import Counter

from regard.data.synthetic.grammar.lexicon import actions, nouns, of_class
from regard.data.synthetic.templates.coreference import frames
from regard.data.synthetic.word_lists import rows


def test_every_english_word_has_one_translation():
    for name in ("nouns.tsv", "adjectives.tsv"):
        assert [word for word, count in Counter(row["english"] for row in rows(name)).items() if count > 1] == []
    verbs = Counter(action.verb.english + " ".join(action.verb.english_tail) for action in actions())
    assert [verb for verb, count in verbs.items() if count > 1] == []


def test_what_readers_missed_is_the_word_they_asked_for():
    """Each was found as the word in the comment."""
    found = {name: (noun.french, noun.gender) for name, noun in nouns().items()}
    assert found["pine"] == ("pin", "m")  # sapin
    assert found["fence"] == ("clôture", "f")  # grillage
    assert found["log"] == ("rondin", "m")  # tronc
    assert found["cart"] == ("charrette", "f")  # chariot
    assert found["sign"] == ("panneau", "m")  # of a billboard
    assert found["picture"] == ("photo", "f")  # image
    assert found["quilt"] == ("édredon", "m")  # couette
    assert found["duvet"] == ("couette", "f")
    assert found["mat"] == ("tapis", "m")
    assert "carpet" not in found  # moquette, of what lies about; tapis is a mat


def test_english_plurals_after_a_hiss():
    """Found: "foxs"."""
    for name, noun in nouns().items():
        assert not noun.english_plural.endswith(("xs", "ss", "zs", "chs", "shs")), name
    assert nouns()["fox"].english_plural == "foxes"


def test_plurals_do_not_look_like_other_nouns():
    forms = Counter(form for noun in nouns().values() for form in {noun.english, noun.english_plural})
    assert [form for form, count in forms.items() if count > 1] == []


def test_what_is_uncountable_takes_du_or_de_la_as_it_stands():
    # "de l'" would be needed before a vowel: "de la" becomes that, "du" does not.
    assert [noun.french for noun in of_class("mass", "m") if noun.french[0] in "aeiouéh"] == []


def test_every_class_that_is_asked_for_has_both_genders():
    for frame in (*frames(True), *frames(False)):
        for name in frame.classes:
            assert len(of_class(name, "m")) >= 3, name
            assert len(of_class(name, "f")) >= 3, name
    for action in actions():
        for name in (*action.subjects, *action.objects, *action.tool.split()):
            assert of_class(name), name


def test_there_are_enough_words_for_it():
    every = (*frames(True), *frames(False))
    subjects = {
        noun
        for frame in every
        for side, name in zip("xy", frame.classes, strict=True)
        if side in frame.ways
        for noun in of_class(name)
    }
    objects = {noun for frame in every for noun in (*of_class(frame.classes[0]), *of_class(frame.classes[1]))}
    words = {
        word.english for frame in every for side in frame.reasons.values() for words in side.values() for word in words
    }
    assert len(every) >= 8
    assert len(subjects) >= 60
    assert len(objects) >= 60
    assert len(words) >= 40


def test_every_frame_is_told_from_both_sides_and_no_word_fits_both():
    for frame in (*frames(True), *frames(False)):
        assert all(frame.ways[side] for side in ("x", "y")), frame.name
        for reasons in frame.reasons.values():
            assert not {word.english for word in reasons["x"]} & {word.english for word in reasons["y"]}, frame.name
