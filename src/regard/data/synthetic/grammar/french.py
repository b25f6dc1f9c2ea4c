"""French word forms that the synthetic language needs: plurals, agreement, conjugation, elision and contraction.

There is no "tu"; the persons are je, il, nous, vous and ils.
"""

from dataclasses import dataclass
from functools import cache
from itertools import starmap

from regard.data.synthetic.word_lists import rows

PERSONS = ("je", "il", "nous", "vous", "ils")

_VOWELS = frozenset("aeiouyàâæéèêëîïôœùûü")

# Beginnings of words with an aspirated h, before which the article is not elided: "le hérisson", not "l'hérisson".
_ASPIRATED = ("hach", "haie", "hamac", "hamster", "hangar", "hardi", "harp", "haut", "hériss", "hibou", "huit")

_ELIDED = {
    "le": "l'",
    "la": "l'",
    "de": "d'",
    "que": "qu'",
    "puisque": "puisqu'",
    "ne": "n'",
    "je": "j'",
    "me": "m'",
    "se": "s'",
    "ce": "cet",
    "ma": "mon",
    "sa": "son",
}

# Words whose form depends on the next word.
CONTEXT_DEPENDENT = frozenset((*_ELIDED, "si", "à"))

_CONTRACTED = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}


@cache
def begins_with_vowel(word: str) -> bool:
    """Return whether "le" becomes "l'" before a word: "l'arbre" and "l'homme", but "le hérisson"."""
    word = word.lower()
    if word.startswith("h"):
        return not word.startswith(_ASPIRATED)
    return word[0] in _VOWELS and not word.startswith("onz")


def elide(word: str, following: str) -> str | None:
    """Return the form that a word such as "le", "que" or "ma" takes before `following`; None if it does not change."""
    if word == "si":
        return "s'" if following in ("il", "ils") else None
    elided = _ELIDED.get(word)
    return elided if elided and begins_with_vowel(following) else None


def contract(preposition: str, article: str) -> str | None:
    """Return the contraction of a preposition and an article ("de" and "le": "du"); None if there is none."""
    return _CONTRACTED.get((preposition, article))


def plural(word: str) -> str:
    """Return the regular plural of a noun or an adjective."""
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith("al"):
        return word[:-1] + "ux"
    return word + ("x" if word.endswith(("eau", "eu")) and word != "bleu" else "s")


def feminine(word: str) -> str:
    """Return the regular feminine of an adjective."""
    if word.endswith("e"):
        return word
    for ending, feminine_ending in (("eux", "euse"), ("er", "ère"), ("if", "ive"), ("euf", "euve"), ("on", "onne")):
        if word.endswith(ending):
            return word.removesuffix(ending) + feminine_ending
    return word + "e"


def agree(participle: str, gender: str, several: bool) -> str:
    """Return a participle inflected for gender and number."""
    word = participle + "e" if gender == "f" else participle
    return plural(word) if several else word


@dataclass(frozen=True, slots=True)
class Conjugation:
    """The forms of a French verb. Each tuple has one form for each person in PERSONS.

    `with_etre` means that the auxiliary of the passé composé is être.
    """

    present: tuple[str, ...]
    imparfait: tuple[str, ...]
    future: tuple[str, ...]
    participle: str
    with_etre: bool


@cache
def _irregular() -> dict[str, dict[str, str]]:
    return {row["infinitive"]: row for row in rows("irregular_french_verbs.tsv")}


@cache
def conjugate(infinitive: str) -> Conjugation:
    """Return all forms of a verb, from the table of irregular verbs or by rule."""
    row = _irregular().get(infinitive, {})
    present = tuple(row[person] for person in PERSONS) if row.get("je") else _regular_present(infinitive)
    # The imparfait is derived from the "nous" form ("nous buvons", "je buvais"), except for être.
    stem = "ét" if infinitive == "être" else present[2].removesuffix("ons")
    imparfait = tuple(starmap(_attach, zip([stem] * 5, ("ais", "ait", "ions", "iez", "aient"), strict=True)))
    future_stem = row.get("future stem") or _regular_future(infinitive)
    future = tuple(future_stem + ending for ending in ("ai", "a", "ons", "ez", "ont"))
    participle = row.get("participle") or infinitive[:-2] + ("é" if infinitive.endswith("er") else "i")
    return Conjugation(present, imparfait, future, participle, row.get("auxiliary") == "être")


def _regular_present(infinitive: str) -> tuple[str, ...]:
    stem = infinitive[:-2]
    if infinitive.endswith("ir"):
        return tuple(stem + ending for ending in ("is", "it", "issons", "issez", "issent"))
    if not infinitive.endswith("er"):
        raise ValueError(f"{infinitive} is not regular: list its forms in irregular_french_verbs.tsv")
    stressed = _stressed(stem)
    return stressed + "e", stressed + "e", _attach(stem, "ons"), stem + "ez", stressed + "ent"


def _regular_future(infinitive: str) -> str:
    # The future of acheter and nettoyer has the stressed stem ("achètera", "nettoiera"); that of préférer ("préférera")
    # does not.
    stem = infinitive[:-2]
    if (infinitive.endswith("er") and stem[-2:-1] in ("e", "y")) or stem.endswith("y"):
        return _stressed(stem) + "er"
    return infinitive


def _stressed(stem: str) -> str:
    """Return the stem in forms where it is stressed: "achèt" in "j'achète", "préfèr" in "je préfère"."""
    if stem.endswith("y"):
        return stem[:-1] + "i"
    if stem[-2:-1] in ("e", "é") and stem[-1] not in "aeiou":
        return stem[:-2] + "è" + stem[-1]
    return stem


def _attach(stem: str, ending: str) -> str:
    """Attach an ending to a stem, and keep the sound of g and c: "mangeons", "commençons", "mangions"."""
    if ending[0] in "ao":
        if stem.endswith("g"):
            return stem + "e" + ending
        if stem.endswith("c"):
            return stem[:-1] + "ç" + ending
    elif stem.endswith("ge"):
        return stem[:-1] + ending
    elif stem.endswith("ç"):
        return stem[:-1] + "c" + ending
    return stem + ending
