"""Subjects of sentences: personal pronouns, names, and nouns for people with a determiner ("my sister")."""

from typing import NamedTuple

from regard.data.synthetic.grammar.lexicon import Noun, nouns_of_class
from regard.data.synthetic.grammar.phrases import (
    POSSESSIVES,
    PRONOUNS,
    Draft,
    NounPhrase,
    noun_phrase,
    one_word_subject,
    pronoun,
)
from regard.data.synthetic.rng import Rng

# fmt: off
NAMES = {
    "Paul": "m", "Thomas": "m", "Louis": "m", "Nicolas": "m", "Martin": "m", "Lucas": "m", "Antoine": "m",
    "Victor": "m", "Marie": "f", "Alice": "f", "Emma": "f", "Julie": "f", "Claire": "f", "Sarah": "f", "Anne": "f",
    "Irène": "f",
}

# fmt: on
_NAMES, _PRONOUNS = tuple(NAMES), tuple(PRONOUNS)


class Person(NamedTuple):
    """A person: a name, a personal pronoun, or a noun with a determiner.

    `name` is the determiner if there is a noun; otherwise it is the name or the pronoun.
    """

    name: str
    noun: Noun | None = None
    plural: bool = False

    @property
    def possessive(self) -> str:
        """The possessive determiner that refers to this person: "my", "her", …"""
        if self.name in POSSESSIVES:
            return POSSESSIVES[self.name]
        if self.plural:
            return "their"
        return "her" if (self.noun.gender if self.noun else NAMES[self.name]) == "f" else "his"


def sample_person(rng: Rng, *, single: bool = False) -> Person:
    """Sample a person with a noun or a name: "my sister", "the queen", "Paul". `single` excludes the plural."""
    if rng.bernoulli(0.25):
        return Person(rng.choice(_NAMES))
    noun = rng.choice(nouns_of_class("person"))
    name = rng.choice(("my", "your", "our")) if "kin" in noun.classes else "the"
    plural = not single and "one" not in noun.classes and rng.bernoulli(0.15)
    return Person(name, noun, plural)


def sample_person_or_pronoun(rng: Rng) -> Person:
    """Sample a person, half of the time as a pronoun."""
    return Person(rng.choice(_PRONOUNS)) if rng.bernoulli(0.5) else sample_person(rng)


def person_phrase(draft: Draft, person: Person) -> NounPhrase:
    """Return the noun phrase of a person."""
    if person.noun is not None:
        return noun_phrase(draft, person.noun, person.name, plural=person.plural)
    if person.name in PRONOUNS:
        return pronoun(draft, person.name)
    return one_word_subject(draft, person.name, person.name, 3, False, NAMES[person.name], "name")


def pronoun_for(draft: Draft, antecedent: NounPhrase) -> NounPhrase:
    """Return the pronoun that refers to a noun: "it" ("il" or "elle" in French) or "they" ("ils" or "elles")."""
    target = ("elles" if antecedent.plural else "elle") if antecedent.gender == "f" else "il" + "s" * antecedent.plural
    return one_word_subject(
        draft, "they" if antecedent.plural else "it", target, 3, antecedent.plural, antecedent.gender
    )
