"""Sentences in which "it" may stand for either of two nouns, and a word that comes later decides.

A `Scene` fixes everything but that word. Said with a word that fits x, "it" is x; with one that fits y, it is y; so a
scene has two sentences that differ in the deciding word alone. Which word fits whom follows from the relation, from
whether it holds, and from "because" or "even though"; and any relation is told from x's side and from y's.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from regard.data.synthetic.grammar.clauses import clause, copula, relative_object
from regard.data.synthetic.grammar.lexicon import Adjective, Noun, Verb, adjectives, of_class, verb
from regard.data.synthetic.grammar.phrases import Draft, ItFacts, NounPhrase, Phrase, noun_phrase, owned, place
from regard.data.synthetic.grammar.realization import Pair, write
from regard.data.synthetic.grammar.subjects import Person, it, person, person_phrase
from regard.data.synthetic.grammar.verb_groups import How
from regard.data.synthetic.plausibility import TIMES, ownable, time_phrase
from regard.data.synthetic.rng import Rng

Side = Literal["x", "y"]

GENDERS = ("mf", "fm", "mf", "fm", "mf", "fm", "mf", "fm", "mm", "ff")

LINKS = {"because": "parce que", "since": "puisque", "even though": "même si"}

_THINGS = {"container", "portable", "vehicle", "goods", "furniture", "breakable", "carried"}

_COATS = ("black", "white", "grey", "brown")

_COLOURS = ("black", "white", "grey", "red", "blue", "green", "yellow")

_SEEN = (verb("see", "voir"), verb("admire", "admirer", state=True), verb("draw", "dessiner"))

_GOT = (verb("find", "trouver"), verb("choose", "choisir"), verb("buy", "acheter"), verb("look for", "chercher"))

_NEARER = ("I", "you", "we")

_DURING = (("during", "pendant"), ("after", "après"), ("before", "avant"))

# What can be said of a party or a storm as well.
_OF_EVENTS = {"long", "short", "calm", "noisy", "rare", "beautiful", "good", "bad", "modern", "ordinary", "elegant"}


@dataclass(frozen=True, slots=True)
class Way:
    """A way to tell a relation, from the side of its subject."""

    verb: Verb
    subject: Side
    modal: str
    inverts: bool
    once: bool


@dataclass(frozen=True, slots=True)
class Frame:
    """A relation between nouns of two classes; `reasons[holds]` has the words for x and for y."""

    name: str
    classes: tuple[str, str]
    ways: dict[Side, tuple[Way, ...]]
    reasons: dict[bool, dict[Side, tuple[Adjective, ...]]]
    deniable: bool
    enough: bool

    @property
    def both_roles(self) -> bool:
        return self.classes[0] == self.classes[1]


class Looks(NamedTuple):
    """How one of the two nouns is dressed: its determiner or owner, a colour, and who did what to it."""

    determiner: str = "the"
    owner: Person | None = None
    colour: Adjective | None = None
    seen_by: Person | None = None
    seen: Verb | None = None


class Scene(NamedTuple):
    """Everything about a sentence but the word that decides."""

    frame: Frame
    way: Way
    x: Noun
    y: Noun
    reasons: dict[Side, Adjective]
    how: How
    link: str = "because"
    degree: str = "too"
    plural: bool = False
    looks: tuple[Looks, Looks] = (Looks(), Looks())
    time: tuple[str, str] | None = None
    event: tuple[str, str, Noun] | None = None


@cache
def frames(both_roles: bool) -> tuple[Frame, ...]:
    """The frames in which nouns can swap their roles, or those in which they cannot."""
    table = tomllib.loads((files("regard.data.synthetic.word_lists") / "frames.toml").read_text("utf-8"))
    found = (_frame(name, row, tuple(classes)) for name, row in table.items() for classes in row["between"])
    return tuple(frame for frame in found if frame.both_roles == both_roles)


def _frame(name: str, row: dict[str, Any], classes: tuple[str, str]) -> Frame:
    ways = [
        Way(
            verb(way["english"], way["french"], state=way.get("state", False)),
            way["subject"],
            way.get("modal", ""),
            way.get("inverts", False),
            way.get("once", False),
        )
        for way in row["says"]
    ]
    sides: tuple[Side, Side] = ("x", "y")
    return Frame(
        name,
        classes,
        {side: tuple(way for way in ways if way.subject == side) for side in sides},
        {
            holds: {side: tuple(adjectives()[word] for word in row[reasons][side].split()) for side in sides}
            for holds, reasons in ((True, "enable"), (False, "hinder"))
        },
        row.get("deny", True),
        row.get("enough", False),
    )


def draw(dice: Rng, genders: tuple[str, ...] = GENDERS) -> Scene:
    """A scene by chance: half of them in frames whose nouns swap roles; x and y, and their sides, come out alike."""
    frame = dice.pick(frames(dice.chance(0.5)))
    way = dice.pick(frame.ways["x" if dice.chance(0.5) else "y"])
    x, y = _draw_nouns(dice, frame, dice.pick(genders))
    link = "because" if dice.chance(0.7) else dice.pick(("since", "even though"))
    denied = frame.deniable and dice.chance(0.5)
    holds = denied == way.inverts
    reasons = frame.reasons[holds == (link != "even though")]
    chosen: dict[Side, Adjective] = {"x": dice.pick(reasons["x"]), "y": dice.pick(reasons["y"])}
    degree = _draw_degree(dice, chosen, link, holds, frame.enough and not denied)
    tense = "past" if dice.chance(0.65) else "present" if way.modal or dice.chance(0.7) else "future"
    if tense == "present" and way.once:
        tense = "past"
    # "puisque" argues; it does not tell what happened.
    if link == "since" and tense == "past":
        link = "because"
    how = How(tense, "not" if denied else "", way.modal, short=dice.chance(0.5))
    plural = dice.chance(0.1)
    looks = _draw_looks(dice, x, plural, way.subject == "x"), _draw_looks(dice, y, plural, way.subject == "y")
    time, event = _draw_time(dice, way, tense, chosen)
    # Not "the zebra that she saw tomorrow".
    if tense == "future" and looks[way.subject == "x"].seen:
        time = None
    return Scene(frame, way, x, y, chosen, how, link, degree, plural, looks, time, event)


def _draw_nouns(dice: Rng, frame: Frame, genders: str) -> tuple[Noun, Noun]:
    of_x, of_y = (of_class(name, gender) for name, gender in zip(frame.classes, genders, strict=True))
    x, y = dice.pick(of_x), dice.pick(of_y)
    while x is y:
        y = dice.pick(of_y)
    return x, y


def _draw_degree(dice: Rng, chosen: dict[Side, Adjective], link: str, holds: bool, enough: bool) -> str:
    if not (chosen["x"].graded and chosen["y"].graded):
        return ""
    if link == "even though":
        return dice.pick(("", "very"))
    if not holds:
        return dice.pick(("too", "too", "too", "very", ""))
    return dice.pick(("", "very", "enough") if enough else ("", "very"))


def _draw_looks(dice: Rng, noun: Noun, plural: bool, leads: bool) -> Looks:
    # Beside several things there is one person at most, whom "they" cannot mean. Nobody whom "il" or "elle" could mean
    # stands right before the reason: there, things are mine, and I saw them.
    thing, animal = bool(noun.classes & _THINGS), "animal" in noun.classes
    if not (thing or animal):
        determiner, owner, colour = "this" if dice.chance(0.1) else "the", None, None
    else:
        mine = ownable(noun)
        determiner = dice.pick(("my", "our", "your", "this") if mine else ("this",)) if dice.chance(0.3) else "the"
        owner = person(dice, single=True) if leads and mine and dice.chance(0.24) else None
        colour = adjectives()[dice.pick(_COATS if animal else _COLOURS)] if dice.chance(0.12) else None
    if not dice.chance(0.1):
        return Looks(determiner, owner, None if owner else colour)
    seen = dice.pick(_GOT if thing and dice.chance(0.6) else _SEEN)
    return Looks("the", None, colour, person(dice, single=plural) if leads else Person(dice.pick(_NEARER)), seen)


def _draw_time(
    dice: Rng, way: Way, tense: str, chosen: dict[Side, Adjective]
) -> tuple[tuple[str, str] | None, tuple[str, str, Noun] | None]:
    if way.verb.state or way.modal or tense == "present" or not dice.chance(0.25):
        return None, None
    if dice.chance(0.5) or _OF_EVENTS & {word.english for word in chosen.values()}:
        return dice.pick(TIMES[tense]), None
    return None, (*dice.pick(_DURING), dice.pick(of_class("event")))


def say(scene: Scene, side: Side) -> Pair:
    """The sentence of a scene in which "it" is x, or y."""
    draft = Draft("it")
    phrases: dict[Side, NounPhrase] = {
        "x": _dressed(draft, scene.x, scene.looks[0], scene.plural),
        "y": _dressed(draft, scene.y, scene.looks[1], scene.plural),
    }
    subject: Side = scene.way.subject
    about: Side = "y" if subject == "x" else "x"
    main = clause(draft, phrases[subject], scene.way.verb, scene.how, phrases[about], _rest(draft, scene))
    link = draft.fixed(scene.link, LINKS[scene.link], "conjunction")
    antecedent, other = phrases[side], phrases["y" if side == "x" else "x"]
    pronoun = it(draft, antecedent)
    how = How("past" if scene.how.tense == "past" else "present")
    reason = copula(draft, pronoun, scene.reasons[side], how, scene.degree)
    slot = "subject" if side == subject else "object"
    decider = draft.adjectives[-1][0]
    draft.it = ItFacts(
        pronoun, antecedent, other, decider, reason.fr[-1], slot, scene.frame.name, scene.frame.both_roles
    )
    return write(draft, main.add(link).add(reason))


def _dressed(draft: Draft, noun: Noun, looks: Looks, plural: bool) -> NounPhrase:
    if looks.owner:
        return owned(draft, person_phrase(draft, looks.owner), noun, plural=plural)
    phrase = noun_phrase(draft, noun, looks.determiner, plural=plural, adjective=looks.colour)
    if looks.seen is None or looks.seen_by is None:
        return phrase
    return relative_object(draft, phrase, person_phrase(draft, looks.seen_by), looks.seen, How("past"))


def _rest(draft: Draft, scene: Scene) -> list[Phrase]:
    found = []
    if scene.time:
        found.append(time_phrase(draft, *scene.time))
    if scene.event:
        before, target, noun = scene.event
        found.append(place(draft, before, target, noun_phrase(draft, noun)))
    return found
