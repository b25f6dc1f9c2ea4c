"""Nouns, adjectives and verbs of both languages, read from the word lists."""

from dataclasses import dataclass
from functools import cache

from regard.data.synthetic.grammar import english, french
from regard.data.synthetic.word_lists import rows


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    """A noun in English and French. `classes` are classes of meaning, such as "animal" or "vehicle".

    Every English noun has its own French noun, so that each sentence has only one translation.
    """

    english: str
    english_plural: str
    french: str
    french_plural: str
    gender: str
    classes: frozenset[str]

    def en(self, plural: bool) -> str:
        return self.english_plural if plural else self.english

    def fr(self, plural: bool) -> str:
        return self.french_plural if plural else self.french


@dataclass(frozen=True, slots=True, eq=False)
class Adjective:
    """An adjective in English and French. `forms` has the French form for each gender and number.

    `before_vowel` is the masculine form before a vowel, "bel" or "vieil"; it is "" for other adjectives.
    """

    english: str
    comparative: str
    forms: dict[tuple[str, bool], str]
    before_vowel: str
    precedes_noun: bool
    gradable: bool
    sentiment: str | None

    def fr(self, gender: str, plural: bool) -> str:
        return self.forms[gender, plural]


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    """A verb in English and French, and its tail: the fixed words between the verb and its object.

    The tail of "sit on" is "on", and that of "s'asseoir sur" is "sur". A word in the French tail that ends in `*` is
    a participle that agrees with the subject. `state` means that the verb describes a state, such as "know"; French
    uses the imparfait for its past.
    """

    english: str
    english_tail: tuple[str, ...]
    french: str
    french_tail: tuple[str, ...]
    reflexive: bool
    state: bool


@dataclass(frozen=True, slots=True)
class Action:
    """A verb with the classes of nouns that can be its subject, its object and its instrument (`tool`)."""

    verb: Verb
    subjects: tuple[str, ...]
    objects: tuple[str, ...]
    tool: str


def verb(english: str, french: str, *, state: bool = False) -> Verb:
    """Return a verb from its dictionary entry: `verb("sit on", "s'asseoir sur")`."""
    base, *english_tail = english.split()
    reflexive = french.startswith(("se ", "s'"))
    infinitive, *french_tail = french.removeprefix("se ").removeprefix("s'").split()
    return Verb(base, tuple(english_tail), infinitive, tuple(french_tail), reflexive, state)


@cache
def nouns() -> dict[str, Noun]:
    """Return a dictionary of all nouns, with the English singular as the key."""
    return {row["english"]: _noun(row) for row in rows("nouns.tsv")}


def _noun(row: dict[str, str]) -> Noun:
    return Noun(
        row["english"],
        row["english plural"] or english.plural(row["english"]),
        row["french"],
        row["french plural"] or french.plural(row["french"]),
        row["gender"],
        frozenset(row["classes"].split()),
    )


@cache
def nouns_of_class(name: str, gender: str = "") -> tuple[Noun, ...]:
    """Return the nouns of a class, or of any of several classes separated by spaces. `gender` selects one gender."""
    wanted = frozenset(name.split())
    return tuple(noun for noun in nouns().values() if noun.classes & wanted and gender in ("", noun.gender))


@cache
def adjectives() -> dict[str, Adjective]:
    """Return a dictionary of all adjectives, with the English form as the key."""
    return {row["english"]: _adjective(row) for row in rows("adjectives.tsv")}


def _adjective(row: dict[str, str]) -> Adjective:
    masculine = row["french"]
    feminine = row["feminine"] or french.feminine(masculine)
    forms = {
        ("m", False): masculine,
        ("m", True): french.plural(masculine),
        ("f", False): feminine,
        ("f", True): feminine + "s",
    }
    return Adjective(
        row["english"],
        row["comparative"],
        forms,
        row["before vowel"],
        row["place"] == "pre",
        row["graded"] == "graded",
        row["sentiment"] or None,
    )


@cache
def actions() -> tuple[Action, ...]:
    """Return all actions that people and animals can do."""
    return tuple(
        Action(
            verb(row["english"], row["french"], state=row["state"] == "state"),
            tuple(row["subject"].split()),
            tuple(row["object"].split()),
            row["tool"],
        )
        for row in rows("verbs.tsv")
    )
