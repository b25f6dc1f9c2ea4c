"""What usually goes together: which adjectives suit which nouns, where and when things happen."""

from functools import cache

from regard.data.synthetic.grammar.lexicon import Adjective, Noun, adjectives, of_class
from regard.data.synthetic.grammar.phrases import NUMBERS, Draft, NounPhrase, Phrase, noun_phrase, place
from regard.data.synthetic.grammar.subjects import Person
from regard.data.synthetic.grammar.verb_groups import FREQUENT, How
from regard.data.synthetic.rng import Rng

# The first class that a noun belongs to says what it can be like.
_SUITS = {
    "person": "young old kind intelligent serious honest sad happy shy brave tired famous curious",
    "animal": "big small old young black white grey brown fat fast slow shy tired fierce gentle agile",
    "drink": "good",
    "mass": "fresh good",
    "fruit": "fresh good small",
    "food": "fresh good small tasty salty",
    "opinion": "good bad boring interesting funny wonderful terrible excellent awful long short famous",
    "readable": "interesting long short boring",
    "motor": "new old big small fast slow red blue green black white yellow grey expensive powerful modern",
    "vehicle": "new old big small slow red blue green black white yellow grey expensive",
    "wearable": "new old red blue green black white yellow grey elegant beautiful pretty dirty clean",
    "nature": "big small tall beautiful",
    "barrier": "high low old big",
    "building": "big small old tall beautiful modern famous",
    "room": "big small clean dirty narrow long",
    "way": "long short wide narrow busy muddy",
    "water": "deep wide calm small big",
    "gap": "deep wide narrow",
    "inside": "big small old beautiful modern famous",
    "at": "big small old modern",
    "visited": "big small old beautiful famous",
    "breakable": "new old beautiful pretty big small fragile heavy blue green red white expensive dirty clean",
    "furniture": "new old comfortable soft big small red blue green grey expensive",
    "sound": "new old expensive noisy modern small big",
}

_THING = "new old big small heavy light red blue green black white yellow grey beautiful"

_COMMON = {"building", "way", "water", "inside", "at", "opinion", "visited", "gap", "barrier"}

PLACES = (
    ("behind", "derrière"),
    ("in front of", "devant"),
    ("next to", "à côté de"),
    ("near", "près de"),
)

ON = (("on", "sur"), ("under", "sous"))

_WHERE = ("spot", "spot", "spot", "spot", "inside", "building", "at")

TIMES = {
    "past": (
        ("yesterday", "hier"),
        ("yesterday evening", "hier soir"),
        ("this morning", "ce matin"),
        ("last week", "la semaine dernière"),
        ("last year", "l' année dernière"),
        ("two days ago", "il y a deux jours"),
        ("on Monday", "lundi"),
    ),
    "present": (("now", "maintenant"), ("today", "aujourd'hui"), ("at the moment", "en ce moment")),
    "future": (
        ("tomorrow", "demain"),
        ("tomorrow morning", "demain matin"),
        ("next week", "la semaine prochaine"),
        ("this evening", "ce soir"),
        ("on Saturday", "samedi"),
    ),
}

HABITS = (
    ("every day", "tous les jours"),
    ("every morning", "tous les matins"),
    ("every week", "toutes les semaines"),
    ("on Sundays", "le dimanche"),
)

DAILY = (*HABITS, ("in the morning", "le matin"), ("in the evening", "le soir"))

_LATELY = TIMES["past"][:3]

_TIME_KINDS = {
    "noun": "Monday Saturday Sundays day days evening moment morning week winter year année dimanche hiver jours lundi "
    "matin matins moment samedi semaine semaines soir",
    "determiner": "every the this ce l' la le les tous toutes",
    "adjective": "last next dernière prochaine",
    "preposition": "at in on en",
    "numeral": "two deux",
    "pronoun": "il y",
    "verb": "a",
}

_TIME_KIND = {word: kind for kind, words in _TIME_KINDS.items() for word in words.split()}


@cache
def suits(noun: Noun) -> tuple[Adjective, ...]:
    """What a noun can be like."""
    listed = next((words for name, words in _SUITS.items() if name in noun.classes), _THING)
    return tuple(adjectives()[word] for word in listed.split())


COLOURS = ("red", "blue", "green", "black", "white", "yellow", "grey", "brown")

_OPPOSED = tuple(
    frozenset(group.split())
    for group in (
        " ".join(COLOURS),
        "big small",
        "old new young modern",
        "fast slow",
        "clean dirty",
        "soft comfortable hard",
        "long short",
        "wide narrow",
        "high tall low",
        "fierce gentle shy",
        "tired agile",
        "good bad boring interesting funny wonderful terrible excellent awful",
        "beautiful pretty elegant",
    )
)


# What speaks for a thing, and what against it.
# fmt: off
_PRAISE = {
    "new", "fast", "beautiful", "pretty", "elegant", "clean", "comfortable", "soft", "modern", "powerful", "agile",
    "gentle",
}

_BLAME = {"old", "slow", "dirty", "expensive", "fragile", "tired", "shy", "fierce", "fat", "heavy"}

# fmt: on


def contrast(first: Adjective, second: Adjective, denied: bool) -> bool:
    """Whether "but" can stand between the two: "old but fast", "fast but not comfortable"."""
    praise, blame = (_BLAME, _PRAISE) if denied else (_PRAISE, _BLAME)
    one, other = first.english, second.english
    return (one in _PRAISE and other in blame) or (one in _BLAME and other in praise)


def ownable(noun: Noun) -> bool:
    """Whether it can be mine: nobody has a river or a tram of their own."""
    return not noun.classes & (_COMMON | {"public"})


def clash(one: Adjective, other: Adjective) -> bool:
    """Whether nothing can be both, or both say the same."""
    both = {one.english, other.english}
    return one is other or any(both <= group for group in _OPPOSED)


def some(how: How) -> str:
    """What stands before what is not counted: "didn't buy any apples", "eats apples every day", "bought some"."""
    return "any" if how.denial else "bare" if how.habit or (how.tense == "present" and not how.progressive) else "some"


def thing(
    dice: Rng,
    draft: Draft,
    noun: Noun,
    uncounted: str,
    *,
    owner: Person | None = None,
    denied: bool = False,
    any_one: bool = True,
) -> NounPhrase:
    """A noun phrase by chance: which determiner (perhaps `uncounted`: see `some`), how many, what like.

    Without `any_one` it is not "a" thing: nobody says "he must not open a chest".
    """
    adjective = dice.pick(suits(noun)) if dice.chance(0.25) else None
    if noun.classes & {"mass"}:
        known = dice.chance(0.4)
        like = None if known else adjective
        return noun_phrase(draft, noun, "the" if known else uncounted, adjective=like, denied=denied)
    if dice.chance(0.22):
        counted = () if denied or uncounted == "the" else (*NUMBERS, "many")
        names = ("the", "the", uncounted, "this", *counted)
        return noun_phrase(draft, noun, dice.pick(names), plural=True, adjective=adjective, denied=denied)
    own = (owner.own if owner else "my",) if ownable(noun) else ()
    one = ("a", "a") if any_one and not noun.classes & {"room", "floor"} else ()
    name = dice.pick(("the", "the", "the", "this", *one, *own))
    return noun_phrase(draft, noun, name, adjective=adjective, denied=denied)


def movable(noun: Noun) -> bool:
    """Whether it can be somewhere, and is not a place itself."""
    return not noun.classes & {*_COMMON, "room", "lockable"}


def somewhere(dice: Rng, draft: Draft, noun: Noun | None = None, *, at: bool = True) -> Phrase:
    """ "in the garden", "at the market", "behind the church"; no camel, and no truck, is in the kitchen."""
    outdoors = noun is not None and noun.classes & {"vehicle", "beast"}
    way = "building" if outdoors else dice.pick(_WHERE if at else _WHERE[:-1])
    where = noun_phrase(draft, dice.pick(of_class(way)))
    if way == "building":
        return place(draft, *dice.pick(PLACES), where)
    return place(draft, *(("at", "à") if way == "at" else ("in", "dans")), where)


def time_phrase(draft: Draft, source: str, target: str) -> Phrase:
    """When, with each word of its own kind."""
    phrase = draft.fixed(source, target, "adverb")
    for leaf in (*phrase.en, *phrase.fr):
        leaf.kind = _TIME_KIND.get(leaf.text, "adverb")
    return phrase


def sometime(dice: Rng, draft: Draft, how: How) -> Phrase:
    """When it happens, to go with the tense."""
    if how.habit:
        return time_phrase(draft, *dice.pick(HABITS if how.tense == "past" else DAILY))
    # What was going on was so at one time, not all of last year.
    lately = how.progressive and how.tense == "past"
    return time_phrase(draft, *dice.pick(_LATELY if lately else TIMES[how.tense]))


def a_way(dice: Rng, *, lasting: bool = True, deny: float = 0.2, modal: float = 0.1) -> How:
    """Tense, negation and the rest by chance."""
    denial = dice.pick(("not", "not", "not", "never", "no longer")) if dice.chance(deny) else ""
    short = dice.chance(0.5)
    if dice.chance(modal):
        word = dice.pick(("can", "want", "must"))
        tense = "present" if word == "must" or dice.chance(0.6) else "past"
        return How(tense, "not" if denial else "", word, short=short)
    tense = dice.pick(("past", "past", "past", "present", "present", "future"))
    habit = (not denial or (tense, denial) == ("present", "not")) and tense != "future" and dice.chance(0.25)
    progressive = lasting and not habit and denial in ("", "not") and tense != "future" and dice.chance(0.3)
    perfect = tense == "past" and not habit and not progressive and denial != "no longer" and dice.chance(0.15)
    if tense == "past" and denial == "no longer":
        habit = True  # "no longer ate": "ne mangeait plus"
    often = dice.pick(tuple(FREQUENT)) if habit and not denial and dice.chance(0.4) else ""
    return How(tense, denial, "", progressive, habit, short, False, perfect, often)
