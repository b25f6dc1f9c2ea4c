"""The bundled models translate the famous sentences, which were not in their training data, correctly.

A translation is correct if it is listed here, where `{one|other}` stands for either. Case and punctuation count; the
kind of apostrophe does not.
"""

import re
from collections.abc import Iterator
from itertools import product

import pytest

from regard.data.synthetic import FAMOUS, is_famous
from regard.inference.translator import Translator
from regard.inference.translator_loader import load_translator
from regard.model_folder import bundled

ANIMAL = "L'animal {n'a pas traversé|ne traversa pas} la rue {parce qu'|car }"
TROPHY = (
    "Le trophée {ne rentrait pas|n'entrait pas|ne tenait pas|n'est pas rentré|n'est pas entré|n'a pas tenu} "
    "dans la valise {parce qu'|car }"
)
HE_CAT = "Le chat {s'est assis|s'assit|était assis} sur le {tapis|paillasson}"
SHE_CAT = "La chatte {s'est assise|s'assit|était assise} sur le {tapis|paillasson}"
APPLES = "J'{adore|aime|aime beaucoup} manger {des pommes fraîches|de la pomme fraîche|une pomme fraîche} le matin."
TO_FRENCH = {
    "The animal didn't cross the street because it was too tired.": [ANIMAL + "il était trop fatigué."],
    "The animal didn't cross the street because it was too wide.": [ANIMAL + "elle était trop large."],
    "The cat sat on the mat because it was tired.": [
        HE_CAT + " {parce qu'|car }il était fatigué.",
        SHE_CAT + " {parce qu'|car }elle était fatiguée.",
    ],
    "The trophy didn't fit in the suitcase because it was too big.": [TROPHY + "il était trop {grand|gros}."],
    "The trophy didn't fit in the suitcase because it was too small.": [TROPHY + "elle était trop petite."],
    "She locked the door with a key.": [
        "Elle {a fermé|ferma} la porte {à|avec une} {clé|clef}.",
        "Elle {a verrouillé|verrouilla} la porte {à|avec une} {clé|clef}.",
    ],
    "I love eating fresh apple in the morning.": [APPLES],
    "I love eating fresh apples in the morning.": [
        "J'{adore|aime|aime beaucoup} manger {des|les} pommes fraîches le matin."
    ],
    "The cat sat on the mat.": [HE_CAT + ".", SHE_CAT + "."],
    "The mat sat on the cat.": ["Le {tapis|paillasson} {s'est assis|s'assit|était assis} sur {le chat|la chatte}."],
    "I am a student.": ["Je suis {étudiant|étudiante|un étudiant|une étudiante}."],
}
CROSS = "The animal {didn't|did not} cross the {street|road} because "
FIT = "The trophy {didn't|did not|wouldn't|would not} {fit|go} {in|into|inside} the suitcase because it was too "
TO_ENGLISH = {
    "L'animal n'a pas traversé la rue parce qu'il était trop fatigué.": [CROSS + "{it|he} was too tired."],
    "L'animal n'a pas traversé la rue parce qu'elle était trop large.": [CROSS + "it was too wide."],
    "Le chat s'est assis sur le tapis parce qu'il était fatigué.": [
        "The cat {sat|sat down} on the {mat|rug|carpet} because {it|he} was tired."
    ],
    "Le trophée ne rentrait pas dans la valise parce qu'il était trop grand.": [FIT + "{big|large|tall}."],
    "Le trophée ne rentrait pas dans la valise parce qu'elle était trop petite.": [FIT + "small."],
    "Elle a fermé la porte à clé.": ["She locked the door{| with a key}."],
    "J'adore manger des pommes fraîches le matin.": ["I {love|adore} {eating|to eat} fresh apples in the morning."],
    "Le chat s'est assis sur le tapis.": ["The cat {sat|sat down} on the {mat|rug|carpet}."],
    "Le tapis s'est assis sur le chat.": ["The {mat|rug|carpet} {sat|sat down} on the cat."],
    "Je suis étudiant.": ["{I am|I'm} a student."],
}


def expand(pattern: str) -> Iterator[str]:
    """Yield all texts that a pattern stands for."""
    parts = [part.split("|") for part in re.split(r"[{}]", pattern)]
    return map("".join, product(*parts))


def accepted(patterns: list[str]) -> set[str]:
    return {text for pattern in patterns for text in expand(pattern)}


@pytest.fixture(scope="module")
def to_french() -> Translator:
    return load_translator(bundled.for_languages(("en", "fr")))


@pytest.fixture(scope="module")
def to_english() -> Translator:
    return load_translator(bundled.for_languages(("fr", "en")))


@pytest.mark.parametrize("source", TO_FRENCH)
def test_famous_sentences_from_english_are_translated_correctly(to_french: Translator, source: str) -> None:
    assert to_french.translate(source).text.replace("’", "'") in accepted(TO_FRENCH[source])


@pytest.mark.parametrize("source", TO_ENGLISH)
def test_famous_sentences_from_french_are_translated_correctly(to_english: Translator, source: str) -> None:
    assert to_english.translate(source).text.replace("’", "'") in accepted(TO_ENGLISH[source])


def test_the_lists_cover_the_famous_sentences_and_their_reference_translations() -> None:
    assert list(TO_FRENCH) == [english for english, _ in FAMOUS]
    assert set(TO_ENGLISH) == {french for _, french in FAMOUS}
    for english, french in FAMOUS:
        assert french in accepted(TO_FRENCH[english])
    for french, patterns in TO_ENGLISH.items():
        assert any(map(is_famous, accepted(patterns))), french


def test_a_pattern_stands_for_all_combinations() -> None:
    assert list(expand("A{|n} {b|c}.")) == ["A b.", "A c.", "An b.", "An c."]
