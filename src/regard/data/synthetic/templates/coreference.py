"""Sentences in which "it" may refer to either of two nouns, x and y. A later adjective, the cue, decides which.

"The animal didn't cross the street because it was too tired" has the cue "tired"; with "wide", "it" is the street. A
`Scene` describes two such sentences, which differ in the cue only: one cue fits x, and the other fits y. Which noun a
cue fits depends on the relation between x and y, on whether the relation holds, and on whether the conjunction is
"because" or "even though". Every relation can be expressed with x and with y as the subject.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from regard.data.synthetic.grammar.clauses import clause, copula, relative_object
from regard.data.synthetic.grammar.lexicon import Adjective, Noun, Verb, adjectives, nouns_of_class, verb
from regard.data.synthetic.grammar.phrases import (
    CoreferenceFacts,
    Draft,
    NounPhrase,
    Phrase,
    noun_phrase,
    possessive_phrase,
    prepositional_phrase,
)
from regard.data.synthetic.grammar.realization import Pair, realise
from regard.data.synthetic.grammar.subjects import Person, person_phrase, pronoun_for, sample_person
from regard.data.synthetic.grammar.verb_groups import VerbForm
from regard.data.synthetic.plausibility import TIMES, is_ownable, time_phrase
from regard.data.synthetic.rng import Rng

Side = Literal["x", "y"]

GENDERS = ("mf", "fm", "mf", "fm", "mf", "fm", "mf", "fm", "mm", "ff")

CONJUNCTIONS = {"because": "parce que", "since": "puisque", "even though": "même si"}

_THING_CLASSES = {"container", "portable", "vehicle", "goods", "furniture", "breakable", "carried"}

_ANIMAL_COLOURS = ("black", "white", "grey", "brown")

_COLOURS = ("black", "white", "grey", "red", "blue", "green", "yellow")

_PERCEPTION_VERBS = (verb("see", "voir"), verb("admire", "admirer", state=True), verb("draw", "dessiner"))

_ACQUISITION_VERBS = (
    verb("find", "trouver"),
    verb("choose", "choisir"),
    verb("buy", "acheter"),
    verb("look for", "chercher"),
)

_UNCONFUSABLE_PRONOUNS = ("I", "you", "we")

_EVENT_PREPOSITIONS = (("during", "pendant"), ("after", "après"), ("before", "avant"))

# Adjectives that can also describe an event such as a party. With them, "it" could refer to the event.
_EVENT_ADJECTIVES = {
    "long",
    "short",
    "calm",
    "noisy",
    "rare",
    "beautiful",
    "good",
    "bad",
    "modern",
    "ordinary",
    "elegant",
}


@dataclass(frozen=True, slots=True)
class Wording:
    """A verb that expresses the relation between x and y. `subject` says which of the two is its subject.

    `inverts` means that the verb denies the relation: "stop" says that the animal did not cross the river. A
    `momentary` verb is not used in the present.
    """

    verb: Verb
    subject: Side
    modal: str
    inverts: bool
    momentary: bool


@dataclass(frozen=True, slots=True)
class Frame:
    """A relation between two nouns, x and y, of the given classes, such as "x fits in y".

    `cues[True]` has the adjectives of x and of y that are a reason why the relation holds, and `cues[False]` has those
    that are a reason why it does not hold. `negatable` allows "not", and `enough` allows "small enough".
    """

    name: str
    classes: tuple[str, str]
    wordings: dict[Side, tuple[Wording, ...]]
    cues: dict[bool, dict[Side, tuple[Adjective, ...]]]
    negatable: bool
    enough: bool

    @property
    def both_roles(self) -> bool:
        return self.classes[0] == self.classes[1]


class Modifiers(NamedTuple):
    """The modifiers of a noun: its determiner or owner, a colour, and a relative clause."""

    determiner: str = "the"
    owner: Person | None = None
    colour: Adjective | None = None
    relative_subject: Person | None = None
    relative_verb: Verb | None = None


class Scene(NamedTuple):
    """Everything that the two sentences of a minimal pair have in common, and the cue of each sentence.

    `time` is a time expression in English and French. `event` is a preposition in English and French, and a noun.
    """

    frame: Frame
    wording: Wording
    x: Noun
    y: Noun
    cues: dict[Side, Adjective]
    form: VerbForm
    conjunction: str = "because"
    degree: str = "too"
    plural: bool = False
    modifiers: tuple[Modifiers, Modifiers] = (Modifiers(), Modifiers())
    time: tuple[str, str] | None = None
    event: tuple[str, str, Noun] | None = None


@cache
def frames(both_roles: bool) -> tuple[Frame, ...]:
    """Return the frames in which x and y can swap roles; if `both_roles` is false, return the other frames."""
    table = tomllib.loads((files("regard.data.synthetic.word_lists") / "frames.toml").read_text("utf-8"))
    every = (_frame(name, row, tuple(classes)) for name, row in table.items() for classes in row["between"])
    return tuple(frame for frame in every if frame.both_roles == both_roles)


def _frame(name: str, row: dict[str, Any], classes: tuple[str, str]) -> Frame:
    wordings = [
        Wording(
            verb(wording["english"], wording["french"], state=wording.get("state", False)),
            wording["subject"],
            wording.get("modal", ""),
            wording.get("inverts", False),
            wording.get("momentary", False),
        )
        for wording in row["wordings"]
    ]
    sides: tuple[Side, Side] = ("x", "y")
    return Frame(
        name,
        classes,
        {side: tuple(wording for wording in wordings if wording.subject == side) for side in sides},
        {
            holds: {side: tuple(adjectives()[word] for word in row[effect][side].split()) for side in sides}
            for holds, effect in ((True, "enable"), (False, "hinder"))
        },
        row.get("negatable", True),
        row.get("enough", False),
    )


def sample_scene(rng: Rng, genders: tuple[str, ...] = GENDERS, frame: Frame | None = None) -> Scene:
    """Sample a scene. `genders` lists the possible genders of x and y: "mf" is a masculine x and a feminine y.

    Without a given frame, x and y could swap roles in half of the scenes. In half of the scenes, x is the subject.
    """
    frame = frame or rng.choice(frames(rng.bernoulli(0.5)))
    wording = rng.choice(frame.wordings["x" if rng.bernoulli(0.5) else "y"])
    x, y = _sample_nouns(rng, frame, rng.choice(genders))
    conjunction = "because" if rng.bernoulli(0.7) else rng.choice(("since", "even though"))
    negated = frame.negatable and rng.bernoulli(0.5)
    holds = negated == wording.inverts
    cues = frame.cues[holds == (conjunction != "even though")]
    chosen: dict[Side, Adjective] = {"x": rng.choice(cues["x"]), "y": rng.choice(cues["y"])}
    degree = _sample_degree(rng, chosen, conjunction, holds, frame.enough and not negated)
    tense = "past" if rng.bernoulli(0.65) else "present" if wording.modal or rng.bernoulli(0.7) else "future"
    if tense == "present" and wording.momentary:
        tense = "past"
    # "puisque" (since) introduces an argument and does not fit a narrative in the past.
    if conjunction == "since" and tense == "past":
        conjunction = "because"
    form = VerbForm(tense, "not" if negated else "", wording.modal, contracted=rng.bernoulli(0.5))
    plural = rng.bernoulli(0.1)
    modifiers = (
        _sample_modifiers(rng, x, plural, wording.subject == "x"),
        _sample_modifiers(rng, y, plural, wording.subject == "y"),
    )
    time, event = _sample_time(rng, wording, tense, chosen)
    # Exclude a future time after a relative clause in the past: "the zebra that she saw tomorrow".
    if tense == "future" and modifiers[wording.subject == "x"].relative_verb:
        time = None
    return Scene(frame, wording, x, y, chosen, form, conjunction, degree, plural, modifiers, time, event)


def _sample_nouns(rng: Rng, frame: Frame, genders: str) -> tuple[Noun, Noun]:
    of_x, of_y = (nouns_of_class(name, gender) for name, gender in zip(frame.classes, genders, strict=True))
    x, y = rng.choice(of_x), rng.choice(of_y)
    while x is y:
        y = rng.choice(of_y)
    return x, y


def _sample_degree(rng: Rng, chosen: dict[Side, Adjective], conjunction: str, holds: bool, enough: bool) -> str:
    if not (chosen["x"].gradable and chosen["y"].gradable):
        return ""
    if conjunction == "even though":
        return rng.choice(("", "very"))
    if not holds:
        return rng.choice(("too", "too", "too", "very", ""))
    return rng.choice(("", "very", "enough") if enough else ("", "very"))


def _sample_modifiers(rng: Rng, noun: Noun, plural: bool, is_subject: bool) -> Modifiers:
    # The pronoun must not be able to refer to a person in a modifier. If the nouns are plural, the person is singular,
    # so that "they" does not fit. The modifiers of the object are close to the pronoun, so the only people in them are
    # "I", "you" and "we".
    thing, animal = bool(noun.classes & _THING_CLASSES), "animal" in noun.classes
    if not (thing or animal):
        determiner, owner, colour = "this" if rng.bernoulli(0.1) else "the", None, None
    else:
        ownable = is_ownable(noun)
        determiner = (
            rng.choice(("my", "our", "your", "this") if ownable else ("this",)) if rng.bernoulli(0.3) else "the"
        )
        owner = sample_person(rng, single=True) if is_subject and ownable and rng.bernoulli(0.24) else None
        colour = adjectives()[rng.choice(_ANIMAL_COLOURS if animal else _COLOURS)] if rng.bernoulli(0.12) else None
    if not rng.bernoulli(0.1):
        return Modifiers(determiner, owner, None if owner else colour)
    relative_verb = rng.choice(_ACQUISITION_VERBS if thing and rng.bernoulli(0.6) else _PERCEPTION_VERBS)
    return Modifiers(
        "the",
        None,
        colour,
        sample_person(rng, single=plural) if is_subject else Person(rng.choice(_UNCONFUSABLE_PRONOUNS)),
        relative_verb,
    )


def _sample_time(
    rng: Rng, wording: Wording, tense: str, chosen: dict[Side, Adjective]
) -> tuple[tuple[str, str] | None, tuple[str, str, Noun] | None]:
    if wording.verb.state or wording.modal or tense == "present" or not rng.bernoulli(0.25):
        return None, None
    if rng.bernoulli(0.5) or _EVENT_ADJECTIVES & {word.english for word in chosen.values()}:
        return rng.choice(TIMES[tense]), None
    return None, (*rng.choice(_EVENT_PREPOSITIONS), rng.choice(nouns_of_class("event")))


def scene_pair(scene: Scene, side: Side) -> Pair:
    """Return one of the two sentence pairs of a scene: the one in which "it" refers to the given noun, x or y."""
    draft = Draft("it")
    phrases: dict[Side, NounPhrase] = {
        "x": _modified_noun_phrase(draft, scene.x, scene.modifiers[0], scene.plural),
        "y": _modified_noun_phrase(draft, scene.y, scene.modifiers[1], scene.plural),
    }
    subject: Side = scene.wording.subject
    object_side: Side = "y" if subject == "x" else "x"
    main = clause(
        draft, phrases[subject], scene.wording.verb, scene.form, phrases[object_side], _time_and_event(draft, scene)
    )
    conjunction = draft.fixed_phrase(scene.conjunction, CONJUNCTIONS[scene.conjunction], "conjunction")
    antecedent, distractor = phrases[side], phrases["y" if side == "x" else "x"]
    pronoun = pronoun_for(draft, antecedent)
    form = VerbForm("past" if scene.form.tense == "past" else "present")
    reason = copula(draft, pronoun, scene.cues[side], form, scene.degree)
    slot = "subject" if side == subject else "object"
    cue = draft.adjectives[-1][0]
    draft.coreference = CoreferenceFacts(
        pronoun, antecedent, distractor, cue, reason.fr[-1], slot, scene.frame.name, scene.frame.both_roles
    )
    return realise(draft, main.add(conjunction).add(reason))


def _modified_noun_phrase(draft: Draft, noun: Noun, modifiers: Modifiers, plural: bool) -> NounPhrase:
    if modifiers.owner:
        return possessive_phrase(draft, person_phrase(draft, modifiers.owner), noun, plural=plural)
    phrase = noun_phrase(draft, noun, modifiers.determiner, plural=plural, adjective=modifiers.colour)
    if modifiers.relative_verb is None or modifiers.relative_subject is None:
        return phrase
    return relative_object(
        draft, phrase, person_phrase(draft, modifiers.relative_subject), modifiers.relative_verb, VerbForm("past")
    )


def _time_and_event(draft: Draft, scene: Scene) -> list[Phrase]:
    phrases = []
    if scene.time:
        phrases.append(time_phrase(draft, *scene.time))
    if scene.event:
        preposition, target, noun = scene.event
        phrases.append(prepositional_phrase(draft, preposition, target, noun_phrase(draft, noun)))
    return phrases
