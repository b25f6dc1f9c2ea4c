"""The word lists have one French word for each English word, and enough words."""

from collections import Counter

from regard.data.synthetic.grammar.lexicon import actions, nouns, nouns_of_class
from regard.data.synthetic.templates.coreference import frames
from regard.data.synthetic.word_lists import rows


def test_every_english_word_has_one_translation():
    for name in ("nouns.tsv", "adjectives.tsv"):
        assert [word for word, count in Counter(row["english"] for row in rows(name)).items() if count > 1] == []
    verbs = Counter(action.verb.english + " ".join(action.verb.english_tail) for action in actions())
    assert [verb for verb, count in verbs.items() if count > 1] == []


def test_wrong_translations_found_by_readers_are_fixed():
    """The comments have the former translations."""
    found = {name: (noun.french, noun.gender) for name, noun in nouns().items()}
    assert found["pine"] == ("pin", "m")  # sapin
    assert found["fence"] == ("clôture", "f")  # grillage
    assert found["log"] == ("rondin", "m")  # tronc
    assert found["cart"] == ("charrette", "f")  # chariot
    assert found["sign"] == ("panneau", "m")  # a billboard
    assert found["picture"] == ("photo", "f")  # image
    assert found["quilt"] == ("édredon", "m")  # couette
    assert found["duvet"] == ("couette", "f")
    assert found["mat"] == ("tapis", "m")
    assert "carpet" not in found  # a fitted carpet is moquette; tapis is a mat


def test_english_plurals_of_nouns_that_end_in_a_sibilant():
    """A reader found "foxs"."""
    for name, noun in nouns().items():
        assert not noun.english_plural.endswith(("xs", "ss", "zs", "chs", "shs")), name
    assert nouns()["fox"].english_plural == "foxes"


def test_no_plural_equals_another_noun():
    forms = Counter(form for noun in nouns().values() for form in {noun.english, noun.english_plural})
    assert [form for form, count in forms.items() if count > 1] == []


def test_no_masculine_mass_noun_begins_with_a_vowel():
    # Before a vowel both genders need "de l'". Elision turns "de la" into it, but not "du".
    assert [noun.french for noun in nouns_of_class("mass", "m") if noun.french[0] in "aeiouéh"] == []


def test_every_class_of_a_frame_has_nouns_of_both_genders():
    for frame in (*frames(True), *frames(False)):
        for name in frame.classes:
            assert len(nouns_of_class(name, "m")) >= 3, name
            assert len(nouns_of_class(name, "f")) >= 3, name
    for action in actions():
        for name in (*action.subjects, *action.objects, *action.tool.split()):
            assert nouns_of_class(name), name


def test_frames_have_enough_nouns_and_cues():
    every = (*frames(True), *frames(False))
    subjects = {
        noun
        for frame in every
        for side, name in zip("xy", frame.classes, strict=True)
        if side in frame.wordings
        for noun in nouns_of_class(name)
    }
    objects = {
        noun for frame in every for noun in (*nouns_of_class(frame.classes[0]), *nouns_of_class(frame.classes[1]))
    }
    words = {
        word.english for frame in every for side in frame.cues.values() for words in side.values() for word in words
    }
    assert len(every) >= 8
    assert len(subjects) >= 60
    assert len(objects) >= 60
    assert len(words) >= 40


def test_every_frame_has_wordings_with_both_subjects_and_no_cue_fits_both_nouns():
    for frame in (*frames(True), *frames(False)):
        assert all(frame.wordings[side] for side in ("x", "y")), frame.name
        for cues in frame.cues.values():
            assert not {word.english for word in cues["x"]} & {word.english for word in cues["y"]}, frame.name
