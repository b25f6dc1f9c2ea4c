"""How far one gets with "it" without reading the sentence: a model's figure means something beside these.

Each is asked for the gender of the pronoun in both sentences of a flip. Those that must be fitted are fitted on flips
of the train split.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from regard.data.synthetic import CoreferenceAnnotation, Pair, generator
from regard.interpret.annotated_pairs import SEED
from regard.interpret.trace import Array
from regard.statistics.intervals import Estimate, proportion

FITTED_ON = 5_000  # flips

_ROUNDS, _PACE, _MEMORY, _DECAY = 150, 0.3, 0.9, 1e-4


@dataclass(frozen=True)
class PronounAccuracy:
    """How often a way to choose the pronoun is right: in a sentence, and in both sentences of a pair."""

    name: str
    right: Estimate
    both: Estimate


def pronoun_accuracy(name: str, right: Array) -> PronounAccuracy:
    """From whether each sentence is right, those of a pair side by side."""
    pairs = np.asarray(right, dtype=float).reshape(-1, 2)
    one, both = (proportion(each, np.ones(len(pairs))) for each in (pairs.mean(axis=1), pairs.all(axis=1)))
    assert one is not None and both is not None
    return PronounAccuracy(name, one, both)


def baselines(flips: Iterable[tuple[Pair, Pair]]) -> list[PronounAccuracy]:
    """The accuracy of each on these flips."""
    asked = [pair for both in flips for pair in both]
    learnt = [pair for both in islice(generator.minimal_pairs(SEED, "train"), FITTED_ON) for pair in both]
    first = np.array([it.antecedent < _other(it) for it in map(it_of, asked)])
    genders = np.array([it_of(pair).gender == "f" for pair in asked])
    bag = BagOfWords(map(words_of, learnt), [it_of(pair).gender == "f" for pair in learnt])
    return [
        pronoun_accuracy("always the first noun", first),
        pronoun_accuracy("always the nearest noun", ~first),
        pronoun_accuracy("the deciding word alone", Usual(cue_of, learnt)(asked) == genders),
        pronoun_accuracy("the two nouns alone", Usual(nouns_of, learnt)(asked) == genders),
        pronoun_accuracy("the words without their order", bag(map(words_of, asked)) == genders),
    ]


class Usual:
    """Takes for feminine what mostly was, of all that had the same key; what has a new key is masculine."""

    def __init__(self, key: Callable[[Pair], Hashable], pairs: Iterable[Pair]) -> None:
        self._key = key
        self._more: Counter[Hashable] = Counter()
        for pair in pairs:
            self._more[key(pair)] += 1 if it_of(pair).gender == "f" else -1

    def __call__(self, pairs: Iterable[Pair]) -> Array:
        return np.array([self._more[self._key(pair)] > 0 for pair in pairs])


class BagOfWords:
    """Logistic regression on which words there are, by gradient descent with momentum. A new word tells nothing."""

    def __init__(self, bags: Iterable[set[str]], labels: Sequence[bool]) -> None:
        known = list(bags)
        self._places = {word: at for at, word in enumerate(sorted(set().union(*known)))}
        features, wanted = self._features(known), np.asarray(labels, np.float32)
        self._weights = pace = np.zeros(len(self._places), np.float32)
        for _ in range(_ROUNDS):
            wrong = 1 / (1 + np.exp(-features @ self._weights)) - wanted
            pace = _MEMORY * pace - (features.T @ wrong / len(known) + _DECAY * self._weights)
            self._weights = self._weights + _PACE * pace

    def __call__(self, bags: Iterable[set[str]]) -> Array:
        return np.asarray(self._features(list(bags)) @ self._weights > 0)

    def _features(self, bags: Sequence[set[str]]) -> Array:
        features = np.zeros((len(bags), len(self._places)), np.float32)
        for row, bag in enumerate(bags):
            features[row, [self._places[word] for word in bag if word in self._places]] = 1
        return features


def it_of(pair: Pair) -> CoreferenceAnnotation:
    """What is known of "it", in a sentence that has one."""
    assert pair.truth.it is not None
    return pair.truth.it


def words_of(pair: Pair) -> set[str]:
    return {word.text.lower() for word in pair.truth.source}


def cue_of(pair: Pair) -> str:
    at = it_of(pair).decider
    assert at is not None
    return pair.truth.source[at].text


def nouns_of(pair: Pair) -> tuple[str, str]:
    """The two nouns "it" might stand for, in their order."""
    it = it_of(pair)
    first, second = sorted((it.antecedent, _other(it)))
    return pair.truth.source[first].text.lower(), pair.truth.source[second].text.lower()


def _other(it: CoreferenceAnnotation) -> int:
    assert it.other is not None
    return it.other
