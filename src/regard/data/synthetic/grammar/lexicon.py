"""The words, read from the TSV files beside this one: nouns, adjectives and verbs with both their languages."""

from dataclasses import dataclass
from functools import cache

from regard.data.synthetic.grammar import english, french
from regard.data.synthetic.word_lists import rows


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    """A noun. English one-to-one French, so that a sentence has one translation."""

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
    """An adjective. `forms` are its four French ones; `before_vowel` is for beau and vieux."""

    english: str
    comparative: str
    forms: dict[tuple[str, bool], str]
    before_vowel: str
    leads: bool
    graded: bool
    sentiment: str | None

    def fr(self, gender: str, plural: bool) -> str:
        return self.forms[gender, plural]


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    """A verb and what stands fast between it and its object: `sit` (`on`), `asseoir` (`sur`).

    A `*` in the French tail marks a participle that agrees with the subject. States are told in the imparfait.
    """

    english: str
    english_tail: tuple[str, ...]
    french: str
    french_tail: tuple[str, ...]
    reflexive: bool
    state: bool


@dataclass(frozen=True, slots=True)
class Action:
    """A verb with the classes of nouns that can be its subject, object and instrument."""

    verb: Verb
    subjects: tuple[str, ...]
    objects: tuple[str, ...]
    tool: str


def verb(english: str, french: str, *, state: bool = False) -> Verb:
    """A verb from how a dictionary would list it: `verb("sit on", "s'asseoir sur")`."""
    base, *english_tail = english.split()
    reflexive = french.startswith(("se ", "s'"))
    infinitive, *french_tail = french.removeprefix("se ").removeprefix("s'").split()
    return Verb(base, tuple(english_tail), infinitive, tuple(french_tail), reflexive, state)


@cache
def nouns() -> dict[str, Noun]:
    """Every noun by its English name."""
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
def of_class(name: str, gender: str = "") -> tuple[Noun, ...]:
    """The nouns of a class, or of several separated by spaces; perhaps of one gender only."""
    wanted = frozenset(name.split())
    return tuple(noun for noun in nouns().values() if noun.classes & wanted and gender in ("", noun.gender))


@cache
def adjectives() -> dict[str, Adjective]:
    """Every adjective by its English name."""
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
    """What people and animals do."""
    return tuple(
        Action(
            verb(row["english"], row["french"], state=row["state"] == "state"),
            tuple(row["subject"].split()),
            tuple(row["object"].split()),
            row["tool"],
        )
        for row in rows("verbs.tsv")
    )
