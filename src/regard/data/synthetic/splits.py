"""Choose the split of a sentence pair by its content, so that no pair belongs to two splits.

Some words never occur together in train, valid or test. A hash selects them: pairs of two nouns, and pairs of a noun
and an adjective. Sentences with such nouns can belong to the split "noun-pairs", sentences with such a noun and
adjective to "noun-words", and long sentences to "longer". All other sentences are divided into train, valid and test by
a hash of the French sentence. The same English sentence always has the same French translation, so no sentence of
either language is in two of these three splits. If an adjective (the cue) decides what "it" refers to, the hash leaves
out the French pronoun and the cue, so that the two sentences of a minimal pair are in the same split.
"""

from functools import cache
from itertools import combinations
from zlib import crc32

from regard.data.synthetic.grammar.lexicon import adjectives, nouns
from regard.data.synthetic.grammar.phrases import Draft, Leaf
from regard.data.synthetic.grammar.realization import Pair

SPLITS = ("train", "valid", "test", "noun-pairs", "noun-words", "longer")

# Maximum number of words, punctuation included, in each sentence of a pair. In the split "longer", both sentences of
# every pair exceed it; in the other splits, no sentence does.
MAX_TRAINING_WORDS = 18

# Well-known sentences that belong to no split, so that a model must translate them without having seen them.
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
    """Return a text in lower case, without extra spaces and final punctuation, and with "did not" for "didn't"."""
    return " ".join(text.lower().replace("’", "'").replace("n't ", " not ").split()).rstrip(" .!?…")


_FAMOUS = frozenset(normalise(side) for pair in FAMOUS for side in pair)


def is_famous(text: str) -> bool:
    """Return whether an English or French text is one of the FAMOUS sentences, which are kept out of training."""
    return normalise(text) in _FAMOUS


def split_of(pair: Pair) -> str | None:
    """Return the split of a sentence pair, or None if it belongs to no split.

    None is for FAMOUS sentences, and for pairs that are excluded from train, valid and test but do not meet the
    conditions of another split either.
    """
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
    # In the split "noun-pairs", the two nouns that "it" could refer to are the only unseen pair. In "noun-words", the
    # antecedent of "it" and the cue are an unseen pair, and the sentence has no unseen pair of nouns.
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
    """Return the English singular of a noun, or "" if the word is not a noun of the lexicon."""
    return "" if leaf is None else _lemmas().get(leaf.text, "")


@cache
def is_unseen_noun_pair(first: str, second: str) -> bool:
    """Return whether two nouns never occur together in a sentence of train, valid or test."""
    people = any("person" in nouns()[name].classes for name in (first, second))
    return not people and _hash(" ".join(sorted((first, second))), 16) == 0


@cache
def is_unseen_noun_adjective(noun: str, adjective: str) -> bool:
    """Return whether the adjective never describes this noun in train, valid or test.

    In these splits, the adjective is also never the cue of a sentence in which "it" could refer to the noun.
    """
    known = noun in nouns() and adjective in adjectives()
    return known and "person" not in nouns()[noun].classes and _hash(f"{adjective} {noun}", 10) == 0


def unseen_noun_pairs(draft: Draft) -> set[frozenset[str]]:
    """Return those pairs of nouns of a sentence for which `is_unseen_noun_pair` is true."""
    lemmas = _lemmas()
    known = [lemmas[leaf.text] for leaf in draft.en if leaf.kind == "noun" and leaf.text in lemmas]
    return {frozenset(pair) for pair in combinations(known, 2) if is_unseen_noun_pair(*pair)}


def unseen_noun_adjectives(draft: Draft) -> set[tuple[str, str]]:
    """Return those pairs of a noun and its adjective for which `is_unseen_noun_adjective` is true.

    A cue counts as an adjective of both nouns that "it" could refer to.
    """
    candidates = [(_noun(noun), adjective.text) for adjective, noun in draft.adjectives]
    coreference = draft.coreference
    if coreference and coreference.distractor and coreference.cue:
        cue = coreference.cue.text
        candidates += [(_noun(phrase.head), cue) for phrase in (coreference.antecedent, coreference.distractor)]
    return {candidate for candidate in candidates if is_unseen_noun_adjective(*candidate)}


def _context(pair: Pair) -> str:
    """Return the French sentence. If a cue decides what a pronoun refers to, leave out the pronoun and the cue."""
    draft = pair.draft
    coreference = draft.coreference
    if coreference is None or coreference.cue is None:
        return pair.target
    left_out = (coreference.pronoun.target, coreference.cue_target)
    return " ".join(["si" if leaf.text == "s'" else leaf.text for leaf in draft.fr if leaf not in left_out])


def _hash(text: str, buckets: int) -> int:
    return crc32(text.encode()) % buckets
