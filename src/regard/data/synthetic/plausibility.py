"""Plausible combinations of words: adjectives for a noun, contrasting adjectives, places, times and verb forms."""

from functools import cache

from regard.data.synthetic.grammar.lexicon import Adjective, Noun, adjectives, nouns_of_class
from regard.data.synthetic.grammar.phrases import NUMBERS, Draft, NounPhrase, Phrase, noun_phrase, prepositional_phrase
from regard.data.synthetic.grammar.subjects import Person
from regard.data.synthetic.grammar.verb_groups import FREQUENCY_ADVERBS, VerbForm
from regard.data.synthetic.rng import Rng

# The adjectives that can describe the nouns of each class. If a noun has several classes, only the one that is listed
# first here counts.
_ADJECTIVES_OF_CLASS = {
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

_OTHER_ADJECTIVES = "new old big small heavy light red blue green black white yellow grey beautiful"

_PUBLIC_CLASSES = {"building", "way", "water", "inside", "at", "opinion", "visited", "gap", "barrier"}

PLACES = (
    ("behind", "derrière"),
    ("in front of", "devant"),
    ("next to", "à côté de"),
    ("near", "près de"),
)

ON = (("on", "sur"), ("under", "sous"))

_PLACE_CLASSES = ("spot", "spot", "spot", "spot", "inside", "building", "at")

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

_SHORT_PAST_TIMES = TIMES["past"][:3]

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
def plausible_adjectives(noun: Noun) -> tuple[Adjective, ...]:
    """Return the adjectives that can describe a noun."""
    listed = next((words for name, words in _ADJECTIVES_OF_CLASS.items() if name in noun.classes), _OTHER_ADJECTIVES)
    return tuple(adjectives()[word] for word in listed.split())


COLOURS = ("red", "blue", "green", "black", "white", "yellow", "grey", "brown")

# Two adjectives of the same group exclude each other or mean nearly the same.
_INCOMPATIBLE = tuple(
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


# Adjectives for good and for bad qualities. "but" joins a good quality with a bad one: "old but fast".
# fmt: off
_POSITIVE = {
    "new", "fast", "beautiful", "pretty", "elegant", "clean", "comfortable", "soft", "modern", "powerful", "agile",
    "gentle",
}

_NEGATIVE = {"old", "slow", "dirty", "expensive", "fragile", "tired", "shy", "fierce", "fat", "heavy"}

# fmt: on


def are_contrasting(first: Adjective, second: Adjective, negated: bool) -> bool:
    """Return whether "but" can join two adjectives: "old but fast".

    `negated` means that "not" precedes the second adjective: "fast but not comfortable".
    """
    positive, negative = (_NEGATIVE, _POSITIVE) if negated else (_POSITIVE, _NEGATIVE)
    return (first.english in _POSITIVE and second.english in negative) or (
        first.english in _NEGATIVE and second.english in positive
    )


def is_ownable(noun: Noun) -> bool:
    """Return whether a person can own what the noun names: "my tram" and "my river" are implausible."""
    return not noun.classes & (_PUBLIC_CLASSES | {"public"})


def are_incompatible(first: Adjective, second: Adjective) -> bool:
    """Return whether two adjectives exclude each other or mean nearly the same."""
    words = {first.english, second.english}
    return first is second or any(words <= group for group in _INCOMPATIBLE)


def indefinite_determiner(form: VerbForm) -> str:
    """Return the determiner for an unspecified amount that fits the verb form.

    It is "any" in "didn't buy any apples", "some" in "bought some apples", and "bare", which stands for no determiner,
    in "eats apples every day".
    """
    if form.negation:
        return "any"
    return "bare" if form.habitual or (form.tense == "present" and not form.progressive) else "some"


def sample_noun_phrase(
    rng: Rng,
    draft: Draft,
    noun: Noun,
    indefinite: str,
    *,
    owner: Person | None = None,
    negated: bool = False,
    allow_a: bool = True,
) -> NounPhrase:
    """Return a noun with a sampled determiner, number and adjective.

    `indefinite` is the determiner for an unspecified amount, and `owner` is the person that a determiner such as "her"
    refers to. If `allow_a` is false, the determiner is never "a": "he must not open a chest" is an unusual sentence.
    """
    adjective = rng.choice(plausible_adjectives(noun)) if rng.bernoulli(0.25) else None
    if noun.classes & {"mass"}:
        if rng.bernoulli(0.4):
            return noun_phrase(draft, noun, "the", negated=negated)
        return noun_phrase(draft, noun, indefinite, adjective=adjective, negated=negated)
    if rng.bernoulli(0.22):
        quantities = () if negated or indefinite == "the" else (*NUMBERS, "many")
        names = ("the", "the", indefinite, "this", *quantities)
        return noun_phrase(draft, noun, rng.choice(names), plural=True, adjective=adjective, negated=negated)
    possessive = (owner.possessive if owner else "my",) if is_ownable(noun) else ()
    article = ("a", "a") if allow_a and not noun.classes & {"room", "floor"} else ()
    name = rng.choice(("the", "the", "the", "this", *article, *possessive))
    return noun_phrase(draft, noun, name, adjective=adjective, negated=negated)


def is_movable(noun: Noun) -> bool:
    """Return whether a place such as "in the garden" fits a noun. It does not fit a building, a street or a door."""
    return not noun.classes & {*_PUBLIC_CLASSES, "room", "lockable"}


def sample_place(rng: Rng, draft: Draft, noun: Noun | None = None, *, at: bool = True) -> Phrase:
    """Sample a place, such as "in the garden" or "at the market".

    If `noun` is a vehicle or a larger animal, the place is outdoors: "behind the barn". If `at` is false, the place
    does not begin with "at".
    """
    outdoors = noun is not None and noun.classes & {"vehicle", "beast"}
    place_class = "building" if outdoors else rng.choice(_PLACE_CLASSES if at else _PLACE_CLASSES[:-1])
    where = noun_phrase(draft, rng.choice(nouns_of_class(place_class)))
    if place_class == "building":
        return prepositional_phrase(draft, *rng.choice(PLACES), where)
    return prepositional_phrase(draft, *(("at", "à") if place_class == "at" else ("in", "dans")), where)


def time_phrase(draft: Draft, source: str, target: str) -> Phrase:
    """Return a time expression in both languages, in which each word has its own word class."""
    phrase = draft.fixed_phrase(source, target, "adverb")
    for leaf in (*phrase.en, *phrase.fr):
        leaf.kind = _TIME_KIND.get(leaf.text, "adverb")
    return phrase


def sample_time(rng: Rng, draft: Draft, form: VerbForm) -> Phrase:
    """Sample a time expression that fits the verb form."""
    if form.habitual:
        return time_phrase(draft, *rng.choice(HABITS if form.tense == "past" else DAILY))
    # The past progressive needs a short period: "was eating this morning", not "was eating last year".
    short = form.progressive and form.tense == "past"
    return time_phrase(draft, *rng.choice(_SHORT_PAST_TIMES if short else TIMES[form.tense]))


def sample_verb_form(rng: Rng, *, progressive: bool = True, negated: float = 0.2, modal: float = 0.1) -> VerbForm:
    """Sample a verb form. `negated` and `modal` are the probabilities of a negation and of a modal verb.

    If `progressive` is false, the form is never progressive.
    """
    negation = rng.choice(("not", "not", "not", "never", "no longer")) if rng.bernoulli(negated) else ""
    contracted = rng.bernoulli(0.5)
    if rng.bernoulli(modal):
        word = rng.choice(("can", "want", "must"))
        tense = "present" if word == "must" or rng.bernoulli(0.6) else "past"
        return VerbForm(tense, "not" if negation else "", word, contracted=contracted)
    tense = rng.choice(("past", "past", "past", "present", "present", "future"))
    habitual = (not negation or (tense, negation) == ("present", "not")) and tense != "future" and rng.bernoulli(0.25)
    progressive = progressive and not habitual and negation in ("", "not") and tense != "future" and rng.bernoulli(0.3)
    perfect = tense == "past" and not habitual and not progressive and negation != "no longer" and rng.bernoulli(0.15)
    if tense == "past" and negation == "no longer":
        habitual = True  # "no longer ate" becomes the imparfait "ne mangeait plus"
    frequency = rng.choice(tuple(FREQUENCY_ADVERBS)) if habitual and not negation and rng.bernoulli(0.4) else ""
    return VerbForm(tense, negation, "", progressive, habitual, contracted, False, perfect, frequency)
