"""Language identification: profiles do not depend on the order of texts, and what is in no language is unknown."""

import math
import random
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.language_id import (
    MAX_CHARACTERS,
    MAX_PROFILE_NGRAMS,
    LanguageIdentifier,
    LanguageProfile,
)
from regard.model_folder.language_profiles import read_bundled_profiles

BUNDLED = LanguageIdentifier(read_bundled_profiles())
ENGLISH = ["The children play in the garden.", "Where is the station?", "I don't know what you mean."]
FRENCH = ["Les enfants jouent dans le jardin.", "Où est la gare ?", "Je ne sais pas ce que vous voulez dire."]
OTHER = [
    "Die Kinder spielen im Garten und singen dabei.",
    "Los niños juegan todos los días en el parque.",
    "Дети играют в саду.",
    "孩子们在花园里玩。",
    "बच्चे बगीचे में खेल रहे हैं।",
]
NO_LANGUAGE = ["", " ", "\n", "12345", "3.14 %", "https://exemple.fr/le-chien-noir", "jean.dupont@exemple.fr", "😀 🎉",
               "src/le_petit_chien.py", "{le_nom_de_la_personne}", "%s", "!?…", "\ud800"]  # fmt: skip


def test_the_order_of_the_texts_makes_no_difference() -> None:
    texts = ENGLISH + FRENCH
    shuffled = random.Random(1).sample(texts, len(texts))
    first, second = LanguageProfile.of(texts), LanguageProfile.of(shuffled)
    assert list(first.counts.items()) == list(second.counts.items())


def test_a_profile_does_not_depend_on_the_hash_seed() -> None:
    program = f"from regard.language_id import *; print(list(LanguageProfile.of({ENGLISH + FRENCH!r}).counts.items()))"
    printed = {
        subprocess.run([sys.executable, "-c", program], env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
                       capture_output=True, text=True, check=True).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert printed == {f"{list(LanguageProfile.of(ENGLISH + FRENCH).counts.items())}\n"}


def test_a_profile_counts_ngrams_of_words() -> None:
    assert LanguageProfile.of(["Aa a"]).counts == {
        "a": 3, " ": 2, " a": 2, "a ": 2, " a ": 1, " aa": 1, "aa": 1, "aa ": 1, " aa ": 1,
    }  # fmt: skip


def test_the_probabilities_of_all_characters_sum_to_one() -> None:
    """What a profile does not list after some characters is shared out by the probabilities after fewer characters."""
    profile = LanguageProfile.of(["ab ab ac b"])
    seen = [ngram for ngram in profile.counts if len(ngram) == 1]
    missing = 0.5 / profile._characters  # of the single character that stands for all unseen ones
    assert sum(math.exp(profile.log_probability(each)) for each in seen) + missing == pytest.approx(1)
    listed = profile.log_probability("ab")
    assert math.exp(listed) == pytest.approx(2 / (3 + 0.5))
    unlisted = profile.log_probability("aa")
    assert unlisted == pytest.approx(math.log(0.5 / 3.5) + profile.log_probability("a"))


def test_a_profile_keeps_the_start_of_each_ngram() -> None:
    numbers = random.Random(1)
    texts = ["".join(numbers.choices("abcdefghijklmnopqrstuvwxyz ", k=60)) for _ in range(400)]
    profile = LanguageProfile.of(texts)
    assert len(profile.counts) == MAX_PROFILE_NGRAMS
    assert profile.problem() is None


@pytest.mark.parametrize(("language", "texts"), [("en", ENGLISH), ("fr", FRENCH)])
def test_sentences_are_identified(language: str, texts: list[str]) -> None:
    for text in texts:
        found = BUNDLED.identify(text)
        assert found.language == language
        assert found.confidence == found.probabilities[language] > 0.95


@pytest.mark.parametrize("text", OTHER)
def test_a_third_language_is_unknown(text: str) -> None:
    assert BUNDLED.identify(text).language is None


@pytest.mark.parametrize("text", NO_LANGUAGE)
def test_a_text_without_words_is_unknown(text: str) -> None:
    found = BUNDLED.identify(text)
    assert (found.language, found.confidence) == (None, 0.0)
    assert found.probabilities == {"en": 0.0, "fr": 0.0}


def test_addresses_and_placeholders_do_not_count() -> None:
    text = "Je ne sais pas <b>encore</b> {the_name_of_the_user} https://example.com/where/is/the/station"
    assert BUNDLED.identify(text) == BUNDLED.identify("Je ne sais pas encore")


def test_case_apostrophes_and_composed_characters_make_no_difference() -> None:
    expected = BUNDLED.identify("l'été n'est pas fini")
    for text in ("L'ÉTÉ N'EST PAS FINI", "l’été n’est pas fini", "l'e\u0301te\u0301 n'est pas fini !"):
        assert BUNDLED.identify(text) == expected


def test_without_profiles_every_text_is_unknown() -> None:
    found = LanguageIdentifier({}).identify("Hello.")
    assert (found.language, found.confidence, found.probabilities) == (None, 0.0, {})


@settings(max_examples=50, deadline=None)
@given(st.text())
def test_probabilities_are_probabilities(text: str) -> None:
    found = BUNDLED.identify(text)
    assert all(0 <= each <= 1 for each in found.probabilities.values())
    assert sum(found.probabilities.values()) <= 1 + 1e-9
    assert found == BUNDLED.identify(text)
    assert found.language is None or found.confidence == max(found.probabilities.values()) >= 0.6


@pytest.mark.parametrize("start", ["a", "<", "{", "a.", "'", "1", "é"])
def test_only_the_start_of_a_long_text_is_read(start: str) -> None:
    text = (start * MAX_CHARACTERS)[:MAX_CHARACTERS]
    assert BUNDLED.identify(text + " le chien" * 200_000) == BUNDLED.identify(text)


def test_a_mismatch_is_a_text_that_is_not_in_the_expected_language() -> None:
    for expected, right, wrong in (("en", ENGLISH, FRENCH), ("fr", FRENCH, ENGLISH)):
        assert [BUNDLED.find_mismatch(text, expected) for text in right] == [None] * len(right)
        for text in wrong:
            assert BUNDLED.find_mismatch(text, expected) == BUNDLED.identify(text)
    found = BUNDLED.find_mismatch(OTHER[1], "en")
    assert found is not None and found.language is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Oui.", "en"), ("", "en"), ("Jean-Pierre Lefèvre", "en"), (FRENCH[0], "de"), (FRENCH[0], None)],
)
def test_short_texts_and_unknown_expectations_are_no_mismatch(text: str, expected: str | None) -> None:
    assert BUNDLED.find_mismatch(text, expected) is None


def test_damaged_counts_have_a_problem() -> None:
    good = dict(LanguageProfile.of(ENGLISH).counts)
    assert LanguageProfile(good).problem() is None
    cases: list[tuple[Any, str]] = [
        ({}, "it has no n-grams"),
        ({**good, "": 1}, "'' is not an n-gram of 1 to 4 characters"),
        ({**good, "abcde": 1}, "'abcde' is not an n-gram of 1 to 4 characters"),
        ({**good, "a": 0}, "the count of 'a' is 0, not a whole number from 1 to 9,007,199,254,740,992"),
        ({**good, "a": True}, "the count of 'a' is True, not a whole number from 1 to 9,007,199,254,740,992"),
        ({**good, "a": 1.5}, "the count of 'a' is 1.5, not a whole number from 1 to 9,007,199,254,740,992"),
        ({**good, "a": 10**400}, f"the count of 'a' is {10**39}, not a whole number from 1 to 9,007,199,254,740,992"),
        ({**good, "zq": 1}, "the start of the n-gram 'zq' is missing"),
        ({chr(0x4E00 + n): 1 for n in range(5001)}, "5,001 n-grams, but a profile has at most 5,000"),
    ]
    for bad, problem in cases:
        assert LanguageProfile(bad).problem() == problem


def test_inconsistent_counts_give_no_probability_above_one() -> None:
    profile = LanguageProfile({"a": 1, "ab": 1000, "ac": 5, "b": 1})
    assert profile.problem() is None
    assert all(profile.log_probability(ngram) <= 0 for ngram in ("a", "b", "ab", "ac", "ad", "xab"))
