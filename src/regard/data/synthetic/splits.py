"""The split of a sentence, which depends on its content only: no sentence belongs to two splits.

A hash selects pairs of nouns, and nouns with adjectives, that never occur together in train, valid or test. The other
sentences are divided into train, valid and test by a hash of the French side. The English side determines the French
one, so neither direction leaks. This hash leaves out the pronoun and the cue, which keeps the two sentences of a
minimal pair in one split. Longer sentences form a split of their own.
"""

from functools import cache
from itertools import combinations
from zlib import crc32

from regard.data.synthetic.grammar.lexicon import adjectives, nouns
from regard.data.synthetic.grammar.phrases import Draft, Leaf
from regard.data.synthetic.grammar.realization import Pair

SPLITS = ("train", "valid", "test", "noun-pairs", "noun-words", "longer")

MAX_TRAINING_WORDS = 18  # on each side of a sentence of train, valid or test, punctuation included

# Well-known sentences that a model trained on the language must translate without having seen them.
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
    ("She locked the door with a key.", "Elle a fermé la porte à clé."),
    ("I love eating fresh apple in the morning.", "J'adore manger des pommes fraîches le matin."),
    ("I love eating fresh apples in the morning.", "J'adore manger des pommes fraîches le matin."),
    ("The cat sat on the mat.", "Le chat s'est assis sur le tapis."),
    ("The mat sat on the cat.", "Le tapis s'est assis sur le chat."),
    ("I am a student.", "Je suis étudiant."),
)


def normalise(text: str) -> str:
    """Remove differences that do not matter: case, final punctuation, spaces, and "didn't" for "did not"."""
    return " ".join(text.lower().replace("’", "'").replace("n't ", " not ").split()).rstrip(" .!?…")


_FAMOUS = frozenset(normalise(side) for pair in FAMOUS for side in pair)


def is_famous(text: str) -> bool:
    """Return whether a text of either language is one of the well-known sentences, which are kept out of training."""
    return normalise(text) in _FAMOUS


def split_of(pair: Pair) -> str | None:
    """Return the split of a pair; None if it is well known or held out for more than one reason."""
    if is_famous(pair.source) or is_famous(pair.target):
        return None
    draft = pair.draft
    long = (len(draft.en) > MAX_TRAINING_WORDS) + (len(draft.fr) > MAX_TRAINING_WORDS)
    noun_pairs, noun_adjectives = unseen_noun_pairs(draft), unseen_noun_adjectives(draft)
    if not (long or noun_pairs or noun_adjectives):
        bucket = _hash(_context(pair), 32)
        return "valid" if bucket == 0 else "test" if bucket == 1 else "train"
    if long == 2 and not (noun_pairs or noun_adjectives):
        return "longer"
    # The unseen combination must be the one that decides what "it" refers to, and the only one.
    coreference = draft.coreference
    if long or coreference is None or coreference.distractor is None or coreference.cue is None:
        return None
    antecedent = _noun(coreference.antecedent.head)
    if noun_pairs == {frozenset((antecedent, _noun(coreference.distractor.head)))} and not noun_adjectives:
        return "noun-pairs"
    return "noun-words" if (antecedent, coreference.cue.text) in noun_adjectives and not noun_pairs else None


@cache
def _lemmas() -> dict[str, str]:
    return {form: noun.english for noun in nouns().values() for form in (noun.english, noun.english_plural)}


def _noun(leaf: Leaf | None) -> str:
    """Return the English singular of a noun; "" for a pronoun."""
    return "" if leaf is None else _lemmas().get(leaf.text, "")


@cache
def is_unseen_noun_pair(first: str, second: str) -> bool:
    """Return whether two nouns never occur together in train, valid and test."""
    people = any("person" in nouns()[name].classes for name in (first, second))
    return not people and _hash(" ".join(sorted((first, second))), 16) == 0


@cache
def is_unseen_noun_adjective(noun: str, adjective: str) -> bool:
    """Return whether train, valid and test never use the adjective where it could describe the noun."""
    known = noun in nouns() and adjective in adjectives()
    return known and "person" not in nouns()[noun].classes and _hash(f"{adjective} {noun}", 10) == 0


def unseen_noun_pairs(draft: Draft) -> set[frozenset[str]]:
    """Return the pairs of nouns in a sentence that never occur together in train, valid and test."""
    lemmas = _lemmas()
    known = [lemmas[leaf.text] for leaf in draft.en if leaf.kind == "noun" and leaf.text in lemmas]
    return {frozenset(pair) for pair in combinations(known, 2) if is_unseen_noun_pair(*pair)}


def unseen_noun_adjectives(draft: Draft) -> set[tuple[str, str]]:
    """Return the nouns with their actual or possible adjectives in a sentence that train, valid and test exclude."""
    candidates = [(_noun(noun), adjective.text) for adjective, noun in draft.adjectives]
    coreference = draft.coreference
    if coreference and coreference.distractor and coreference.cue:
        cue = coreference.cue.text
        candidates += [(_noun(phrase.head), cue) for phrase in (coreference.antecedent, coreference.distractor)]
    return {candidate for candidate in candidates if is_unseen_noun_adjective(*candidate)}


def _context(pair: Pair) -> str:
    """Return the French sentence without the pronoun and the cue."""
    draft = pair.draft
    coreference = draft.coreference
    if coreference is None or coreference.cue is None:
        return pair.target
    left_out = (coreference.pronoun.target, coreference.cue_target)
    return " ".join(["si" if leaf.text == "s'" else leaf.text for leaf in draft.fr if leaf not in left_out])


def _hash(text: str, buckets: int) -> int:
    return crc32(text.encode()) % buckets
