"""Who does things: pronouns, names, and people with their determiners."""

from typing import NamedTuple

from regard.data.synthetic.grammar.lexicon import Noun, of_class
from regard.data.synthetic.grammar.phrases import OWN, PRONOUNS, Draft, NounPhrase, noun_phrase, pronoun, subject_leaf
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
    """A person to be named: by a noun with its determiner, or by a name or pronoun."""

    name: str
    noun: Noun | None = None
    plural: bool = False

    @property
    def own(self) -> str:
        """What is theirs: "my", "her", …"""
        if self.name in OWN:
            return OWN[self.name]
        if self.plural:
            return "their"
        return "her" if (self.noun.gender if self.noun else NAMES[self.name]) == "f" else "his"


def person(dice: Rng, *, single: bool = False) -> Person:
    """Someone with a noun: "my sister", "the queen", or a name."""
    if dice.chance(0.25):
        return Person(dice.pick(_NAMES))
    noun = dice.pick(of_class("person"))
    name = dice.pick(("my", "your", "our")) if "kin" in noun.classes else "the"
    plural = not single and "one" not in noun.classes and dice.chance(0.15)
    return Person(name, noun, plural)


def someone(dice: Rng) -> Person:
    """Anyone who can be a subject."""
    return Person(dice.pick(_PRONOUNS)) if dice.chance(0.5) else person(dice)


def person_phrase(draft: Draft, who: Person) -> NounPhrase:
    """How they are said."""
    if who.noun is not None:
        return noun_phrase(draft, who.noun, who.name, plural=who.plural)
    if who.name in PRONOUNS:
        return pronoun(draft, who.name)
    return subject_leaf(draft, who.name, who.name, 3, False, NAMES[who.name], "name")


def it(draft: Draft, antecedent: NounPhrase) -> NounPhrase:
    """The pronoun for a noun: "it" or "they"; "il", "elle", "ils" or "elles"."""
    target = ("elles" if antecedent.plural else "elle") if antecedent.gender == "f" else "il" + "s" * antecedent.plural
    return subject_leaf(draft, "they" if antecedent.plural else "it", target, 3, antecedent.plural, antecedent.gender)
