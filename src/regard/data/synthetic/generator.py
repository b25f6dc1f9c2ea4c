"""Every kind of sentence, each as often as its weight says, in one endless stream."""

from collections.abc import Callable, Iterator

from regard.data.synthetic import generator
from regard.data.synthetic.grammar.phrases import Draft
from regard.data.synthetic.grammar.realization import Pair
from regard.data.synthetic.rng import Rng
from regard.data.synthetic.splits import SPLITS, split_of
from regard.data.synthetic.templates import (
    actions,
    complex_sentences,
    copular_clauses,
    coreference,
    preferences,
    questions,
)
from regard.errors import UserError

# Of a hundred sentences.
_WEIGHTS: dict[Callable[[Rng, Draft], Pair], int] = {
    actions.action: 14,
    actions.alone: 3,
    actions.going: 3,
    actions.giving: 3,
    preferences.liking: 4,
    actions.dream: 3,
    actions.passive: 2,
    copular_clauses.quality: 4,
    copular_clauses.opinion: 2,
    copular_clauses.profession: 2,
    copular_clauses.feeling: 1,
    copular_clauses.both: 2,
    copular_clauses.there_is: 2,
    copular_clauses.comparison: 2,
    copular_clauses.it_alone: 2,
    complex_sentences.far: 3,
    complex_sentences.who_does: 3,
    complex_sentences.report: 3,
    complex_sentences.fate: 2,
    questions.question: 5,
    questions.request: 1,
}

_IT = 100 - sum(_WEIGHTS.values())

_KINDS = tuple(kind for kind, weight in _WEIGHTS.items() for _ in range(weight))


def draw_sentences(dice: Rng) -> Iterator[Pair]:
    """Sentences without end. Those about "it" with two nouns are the largest part."""
    while True:
        if dice.chance(_IT / 100):
            yield _about_it(dice)
        else:
            kind = dice.pick(_KINDS)
            yield kind(dice, Draft(kind.__name__))


def draw_ambiguous_pronoun_pairs(dice: Rng) -> Iterator[Pair]:
    """Only those about "it" with two nouns, without end."""
    while True:
        yield _about_it(dice)


def _about_it(dice: Rng) -> Pair:
    return coreference.say(coreference.draw(dice), "x" if dice.chance(0.5) else "y")


def draw_minimal_pairs(dice: Rng) -> Iterator[tuple[Pair, Pair]]:
    """Both sentences of scenes whose nouns differ in gender, the one with "it" as x or y first."""
    while True:
        scene = coreference.draw(dice, ("mf", "fm"))
        first, second = coreference.say(scene, "x"), coreference.say(scene, "y")
        yield (first, second) if dice.chance(0.5) else (second, first)


def pairs(seed: int, split: str = "train") -> Iterator[Pair]:
    """Sentence pairs of a split without end, the same for the same seed. Short ones come again now and then."""
    _check(split)
    return (pair for pair in generator.draw_sentences(Rng(seed, f"pairs/{split}")) if split_of(pair) == split)


def ambiguous_pronoun_pairs(seed: int, split: str = "train") -> Iterator[Pair]:
    """As `pairs`, but only those in which "it" may stand for either of two nouns."""
    _check(split)
    return (
        pair for pair in generator.draw_ambiguous_pronoun_pairs(Rng(seed, f"it/{split}")) if split_of(pair) == split
    )


def minimal_pairs(seed: int, split: str = "test") -> Iterator[tuple[Pair, Pair]]:
    """Two sentences at a time that differ in one word alone, and "it" stands for the other noun, of other gender.

    Both belong to the split. The first has no fixed side.
    """
    _check(split)
    found = generator.draw_minimal_pairs(Rng(seed, f"flips/{split}"))
    return (both for both in found if split_of(both[0]) == split == split_of(both[1]))


def _check(split: str) -> None:
    if split not in SPLITS:
        raise UserError(f"the built-in language has no split {split!r}; choose one of {', '.join(SPLITS)}")
