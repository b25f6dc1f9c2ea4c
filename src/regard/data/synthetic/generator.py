"""Every kind of sentence, each as often as its weight says, in one endless stream."""

from collections.abc import Callable, Iterator

from regard.data.language import being, doing, it, liking, telling
from regard.data.language.dice import Dice
from regard.data.language.phrases import Draft
from regard.data.language.writing import Pair

# Of a hundred sentences.
_WEIGHTS: dict[Callable[[Dice, Draft], Pair], int] = {
    doing.action: 14,
    doing.alone: 3,
    doing.going: 3,
    doing.giving: 3,
    liking.liking: 4,
    doing.dream: 3,
    doing.passive: 2,
    being.quality: 4,
    being.opinion: 2,
    being.profession: 2,
    being.feeling: 1,
    being.both: 2,
    being.there_is: 2,
    being.comparison: 2,
    being.it_alone: 2,
    telling.far: 3,
    telling.who_does: 3,
    telling.report: 3,
    telling.fate: 2,
    telling.question: 5,
    telling.request: 1,
}
_IT = 100 - sum(_WEIGHTS.values())
_KINDS = tuple(kind for kind, weight in _WEIGHTS.items() for _ in range(weight))


def sentences(dice: Dice) -> Iterator[Pair]:
    """Sentences without end. Those about "it" with two nouns are the largest part."""
    while True:
        if dice.chance(_IT / 100):
            yield _about_it(dice)
        else:
            kind = dice.pick(_KINDS)
            yield kind(dice, Draft(kind.__name__))


def about_it(dice: Dice) -> Iterator[Pair]:
    """Only those about "it" with two nouns, without end."""
    while True:
        yield _about_it(dice)


def _about_it(dice: Dice) -> Pair:
    return it.say(it.draw(dice), "x" if dice.chance(0.5) else "y")


def flips(dice: Dice) -> Iterator[tuple[Pair, Pair]]:
    """Both sentences of scenes whose nouns differ in gender, the one with "it" as x or y first."""
    while True:
        scene = it.draw(dice, ("mf", "fm"))
        first, second = it.say(scene, "x"), it.say(scene, "y")
        yield (first, second) if dice.chance(0.5) else (second, first)
