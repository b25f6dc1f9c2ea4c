"""To which part of the language a sentence belongs; every sentence belongs to one at most, by what it says.

Two nouns are unseen together, or a noun with an adjective, if their hash says so: then no sentence of train, valid or
test has both. Of the other sentences, hashes of the French side choose valid and test; the French of a sentence
follows from its English, so neither direction leaks. "it" and the word that decides are left out of that hash, so
that the two sentences of a flip stay together. Longer sentences are a part of their own.
"""

from functools import cache
from itertools import combinations
from zlib import crc32

from regard.data.synthetic.grammar.lexicon import adjectives, nouns
from regard.data.synthetic.grammar.phrases import Draft, Leaf
from regard.data.synthetic.grammar.realization import Pair

SPLITS = ("train", "valid", "test", "noun-pairs", "noun-words", "longer")

LONGEST = 18  # words and stops, on each side, of what is seen in training

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
    ("She locked the door with a key.", "Elle a fermé la porte à clé."),
    ("I love eating fresh apple in the morning.", "J'adore manger des pommes fraîches le matin."),
    ("I love eating fresh apples in the morning.", "J'adore manger des pommes fraîches le matin."),
    ("The cat sat on the mat.", "Le chat s'est assis sur le tapis."),
    ("The mat sat on the cat.", "Le tapis s'est assis sur le chat."),
    ("I am a student.", "Je suis étudiant."),
)


def plain(text: str) -> str:
    """A sentence without what hardly matters: capitals, stops, spaces, and "didn't" for "did not"."""
    return " ".join(text.lower().replace("’", "'").replace("n't ", " not ").split()).rstrip(" .!?…")


_FAMOUS = frozenset(plain(side) for pair in FAMOUS for side in pair)


def is_famous(text: str) -> bool:
    """Whether a text, English or French, from the grammar or from elsewhere, is one that nothing may train on."""
    return plain(text) in _FAMOUS


def split_of(pair: Pair) -> str | None:
    """The part a sentence belongs to; None if to no part: it is famous, or unseen in more than one way."""
    if is_famous(pair.source) or is_famous(pair.target):
        return None
    draft = pair.draft
    long = (len(draft.en) > LONGEST) + (len(draft.fr) > LONGEST)
    together, said = unseen_pairs(draft), unseen_words(draft)
    if not (long or together or said):
        share = _hash(_context(pair), 32)
        return "valid" if share == 0 else "test" if share == 1 else "train"
    if long == 2 and not (together or said):
        return "longer"
    # Only what "it" hangs on may be unseen, and in one way alone.
    it = draft.it
    if long or it is None or it.other is None or it.decider is None:
        return None
    antecedent = _noun(it.antecedent.head)
    if together == {frozenset((antecedent, _noun(it.other.head)))} and not said:
        return "noun-pairs"
    return "noun-words" if (antecedent, it.decider.text) in said and not together else None


@cache
def _lemmas() -> dict[str, str]:
    return {form: noun.english for noun in nouns().values() for form in (noun.english, noun.english_plural)}


def _noun(leaf: Leaf | None) -> str:
    """The noun a leaf says; "" for a pronoun."""
    return "" if leaf is None else _lemmas().get(leaf.text, "")


@cache
def pair_is_unseen(first: str, second: str) -> bool:
    """Whether these two nouns never stand together in training."""
    people = any("person" in nouns()[name].classes for name in (first, second))
    return not people and _hash(" ".join(sorted((first, second))), 16) == 0


@cache
def word_is_unseen(noun: str, adjective: str) -> bool:
    """Whether training never says the adjective of the noun, nor of another noun in a sentence where it might."""
    known = noun in nouns() and adjective in adjectives()
    return known and "person" not in nouns()[noun].classes and _hash(f"{adjective} {noun}", 10) == 0


def unseen_pairs(draft: Draft) -> set[frozenset[str]]:
    """The pairs of nouns in a sentence that training does not have together."""
    lemmas = _lemmas()
    known = [lemmas[leaf.text] for leaf in draft.en if leaf.kind == "noun" and leaf.text in lemmas]
    return {frozenset(two) for two in combinations(known, 2) if pair_is_unseen(*two)}


def unseen_words(draft: Draft) -> set[tuple[str, str]]:
    """The nouns with adjectives said, or maybe said, of them in a sentence, that training does not have."""
    said = [(_noun(noun), adjective.text) for adjective, noun in draft.adjectives]
    it = draft.it
    if it and it.other and it.decider:
        said += [(_noun(it.antecedent.head), it.decider.text), (_noun(it.other.head), it.decider.text)]
    return {both for both in said if word_is_unseen(*both)}


def _context(pair: Pair) -> str:
    """The French sentence without the pronoun and the word that decides."""
    draft = pair.draft
    it = draft.it
    if it is None or it.decider is None:
        return pair.target
    left_out = (it.pronoun.target, it.decider_target)
    return " ".join(["si" if leaf.text == "s'" else leaf.text for leaf in draft.fr if leaf not in left_out])


def _hash(text: str, share: int) -> int:
    return crc32(text.encode()) % share
