"""English word forms: plurals of nouns, forms of verbs, and the choice between "a" and "an"."""

from functools import cache
from typing import NamedTuple

# The past tense and the past participle of each irregular verb.
_IRREGULAR = {
    "bring": ("brought", "brought"),
    "break": ("broke", "broken"),
    "build": ("built", "built"),
    "buy": ("bought", "bought"),
    "catch": ("caught", "caught"),
    "choose": ("chose", "chosen"),
    "come": ("came", "come"),
    "cost": ("cost", "cost"),
    "cut": ("cut", "cut"),
    "do": ("did", "done"),
    "draw": ("drew", "drawn"),
    "drink": ("drank", "drunk"),
    "eat": ("ate", "eaten"),
    "fall": ("fell", "fallen"),
    "feed": ("fed", "fed"),
    "find": ("found", "found"),
    "fit": ("fit", "fit"),
    "forget": ("forgot", "forgotten"),
    "give": ("gave", "given"),
    "go": ("went", "gone"),
    "have": ("had", "had"),
    "hear": ("heard", "heard"),
    "hide": ("hid", "hidden"),
    "hold": ("held", "held"),
    "know": ("knew", "known"),
    "leave": ("left", "left"),
    "lend": ("lent", "lent"),
    "light": ("lit", "lit"),
    "lose": ("lost", "lost"),
    "make": ("made", "made"),
    "overtake": ("overtook", "overtaken"),
    "put": ("put", "put"),
    "read": ("read", "read"),
    "run": ("ran", "run"),
    "say": ("said", "said"),
    "see": ("saw", "seen"),
    "sell": ("sold", "sold"),
    "send": ("sent", "sent"),
    "show": ("showed", "shown"),
    "sing": ("sang", "sung"),
    "sit": ("sat", "sat"),
    "sleep": ("slept", "slept"),
    "sweep": ("swept", "swept"),
    "swim": ("swam", "swum"),
    "take": ("took", "taken"),
    "think": ("thought", "thought"),
    "throw": ("threw", "thrown"),
    "write": ("wrote", "written"),
}

_DOUBLED = ("cut", "fit", "forget", "prefer", "put", "run", "sit", "stop", "swim")

_NOT_VOWELS = ("one", "uni", "use", "eu")


class Forms(NamedTuple):
    """The forms of a verb: "see", "sees", "saw", "seen", "seeing"."""

    base: str
    third: str
    past: str
    participle: str
    ing: str


def plural(noun: str) -> str:
    """Return the regular plural of a noun: "foxes", "parties"."""
    if noun.endswith(("s", "x", "z", "sh", "ch")):
        return noun + "es"
    return noun[:-1] + "ies" if _ends_in_y(noun) else noun + "s"


@cache
def forms(base: str) -> Forms:
    """Return the forms of a verb other than "be"."""
    past, participle = _IRREGULAR.get(base, (_ed(base), _ed(base)))
    return Forms(base, _s(base), past, participle, _ing(base))


def _s(base: str) -> str:
    if base == "have":
        return "has"
    return base + "es" if base.endswith("o") else plural(base)


def _ed(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if _ends_in_y(base):
        return base[:-1] + "ied"
    return base + base[-1] * (base in _DOUBLED) + "ed"


def _ing(base: str) -> str:
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if base.endswith("e") and not base.endswith("ee"):
        return base[:-1] + "ing"
    return base + base[-1] * (base in _DOUBLED) + "ing"


def _ends_in_y(base: str) -> bool:
    return base.endswith("y") and base[-2] not in "aeiou"


def be(person: int, plural: bool, tense: str) -> str:
    """Return the form of "be" for a subject and a tense: "am", "is", "are", "was", "were" or "will be"."""
    if tense == "future":
        return "will be"
    if plural or person == 2:
        return "are" if tense == "present" else "were"
    if tense == "past":
        return "was"
    return "am" if person == 1 else "is"


@cache
def article(following: str) -> str:
    """Return "a" or "an", depending on the word that follows."""
    word = following.lower()
    vowel = word[0] in "aeiou" and not word.startswith(_NOT_VOWELS)
    return "an" if vowel or word.startswith(("hour", "honest")) else "a"
