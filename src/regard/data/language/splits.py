"""To which part of the language a sentence belongs; every sentence belongs to one at most, by what it says.

Two nouns are unseen together, or a noun with an adjective, if their hash says so: then no sentence of train, valid or
test has both. Of the other sentences, hashes of the French side choose valid and test; the French of a sentence
follows from its English, so neither direction leaks. "it" and the word that decides are left out of that hash, so
that the two sentences of a flip stay together. Longer sentences are a part of their own.
"""

from functools import cache
from hashlib import blake2b
from itertools import combinations

from regard.data.language.truth import Pair, Truth
from regard.data.language.words import adjectives, nouns

SPLITS = ("train", "valid", "test", "noun-pairs", "noun-words", "longer")
LONGEST = 20  # words and stops, on each side, of what is seen in training

# What a model trained on the language must translate unseen.
FAMOUS = (
    (
        "The animal didn't cross the street because it was too tired.",
        "L'animal n'a pas traversé la rue parce qu'il était trop fatigué.",
    ),
    (
        "The animal didn't cross the street because it was too wide.",
        "L'animal n'a pas traversé la rue parce qu'elle était trop large.",
    ),
    ("The cat sat on the mat because it was tired.", "Le chat s'est assis sur le tapis parce qu'il était fatigué."),
    (
        "The trophy didn't fit in the suitcase because it was too big.",
        "Le trophée ne rentrait pas dans la valise parce qu'il était trop grand.",
    ),
    (
        "The trophy didn't fit in the suitcase because it was too small.",
        "Le trophée ne rentrait pas dans la valise parce qu'elle était trop petite.",
    ),
    ("She locked the door with a key.", "Elle a verrouillé la porte avec une clé."),
    ("I love eating fresh apple in the morning.", "J'adore manger des pommes fraîches le matin."),
    ("I love eating fresh apples in the morning.", "J'adore manger des pommes fraîches le matin."),
    ("The cat sat on the mat.", "Le chat s'est assis sur le tapis."),
    ("The mat sat on the cat.", "Le tapis s'est assis sur le chat."),
    ("I am a student.", "Je suis étudiant."),
)


def plain(text: str) -> str:
    """A sentence without what hardly matters: capitals, stops, and "didn't" for "did not"."""
    return text.lower().rstrip(" .!?").replace("n't ", " not ")


_FAMOUS = frozenset(plain(side) for pair in FAMOUS for side in pair)


def split_of(pair: Pair) -> str | None:
    """The part a sentence belongs to; None if to no part: it is famous, or unseen in more than one way."""
    if plain(pair.source) in _FAMOUS or plain(pair.target) in _FAMOUS:
        return None
    truth = pair.truth
    unseen = []
    if len(truth.source) > LONGEST or len(truth.target) > LONGEST:
        if len(truth.source) <= LONGEST or len(truth.target) <= LONGEST:
            return None
        unseen.append("longer")
    if held := unseen_pairs(truth):
        if held != _pair_of_it(truth):
            return None
        unseen.append("noun-pairs")
    if held := unseen_words(truth):
        if _word_of_it(truth) not in held:
            return None
        unseen.append("noun-words")
    if unseen:
        return unseen[0] if len(unseen) == 1 else None
    share = _hash(_context(pair), 32)
    return "valid" if share == 0 else "test" if share == 1 else "train"


@cache
def _lemmas() -> dict[str, str]:
    return {form.lower(): noun.english for noun in nouns().values() for form in (noun.english, noun.english_plural)}


def _noun(truth: Truth, at: int | None) -> str:
    return "" if at is None else _lemmas().get(truth.source[at].text.lower(), "")


@cache
def pair_is_unseen(first: str, second: str) -> bool:
    """Whether these two nouns never stand together in training."""
    people = any("person" in nouns()[name].classes for name in (first, second))
    return not people and _hash(" ".join(sorted((first, second))), 16) == 0


@cache
def word_is_unseen(noun: str, adjective: str) -> bool:
    """Whether training never says the adjective of the noun, nor of another noun in a sentence where it might."""
    return "person" not in nouns()[noun].classes and _hash(f"{adjective} {noun}", 10) == 0


def unseen_pairs(truth: Truth) -> set[frozenset[str]]:
    """The pairs of nouns in a sentence that training does not have together."""
    known = {_noun(truth, place) for place, word in enumerate(truth.source) if word.kind == "noun"} - {""}
    return {frozenset(two) for two in combinations(sorted(known), 2) if pair_is_unseen(*two)}


def unseen_words(truth: Truth) -> set[tuple[str, str]]:
    """The nouns with adjectives said, or maybe said, of them in a sentence, that training does not have."""
    said = [(_noun(truth, noun), truth.source[adjective].text) for adjective, noun in truth.adjectives]
    if truth.it and truth.it.decider is not None:
        decider = truth.source[truth.it.decider].text
        said += [(_noun(truth, truth.it.antecedent), decider), (_noun(truth, truth.it.other), decider)]
    return {(noun, word) for noun, word in said if noun and word in adjectives() and word_is_unseen(noun, word)}


def _pair_of_it(truth: Truth) -> set[frozenset[str]]:
    if truth.it is None or truth.it.other is None:
        return set()
    return {frozenset((_noun(truth, truth.it.antecedent), _noun(truth, truth.it.other)))}


def _word_of_it(truth: Truth) -> tuple[str, str] | None:
    if truth.it is None or truth.it.decider is None:
        return None
    return _noun(truth, truth.it.antecedent), truth.source[truth.it.decider].text


def _context(pair: Pair) -> str:
    """The French sentence without the pronoun and the word that decides."""
    it = pair.truth.it
    if it is None or it.decider is None:
        return pair.target
    left_out = {it.target, *(target for source, target in pair.truth.alignment if source == it.decider)}
    words = (word.text for place, word in enumerate(pair.truth.target) if place not in left_out)
    return " ".join("si" if text == "s'" else text for text in words)


def _hash(text: str, share: int) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=4).digest(), "big") % share
