"""Baselines for the pronoun task: simple predictors that use only part of the information in a sentence.

Each baseline predicts the gender of the pronoun in both sentences of a minimal pair. The baselines that have to be
trained are trained on minimal pairs of the train split. Three of them give the same answer in both sentences of a pair,
so that they are right in exactly half of the sentences by construction.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from regard.data.synthetic import CoreferenceAnnotation, Pair, generator
from regard.interpret.annotated_pairs import SEED
from regard.interpret.trace import Array
from regard.statistics.estimate import Estimate
from regard.statistics.intervals import proportion

TRAINING_PAIRS = 5_000  # the number of minimal pairs that baselines are trained on

_STEPS, _LEARNING_RATE, _MOMENTUM, _WEIGHT_DECAY = 150, 0.3, 0.9, 1e-4


@dataclass(frozen=True)
class PronounAccuracy:
    """How often a system chooses the correct pronoun: in single sentences, and in both sentences of a minimal pair.

    `swappable` is the accuracy in the sentences whose two nouns are of the same class, so that each could have either
    role. In the other sentences, the classes of the nouns and the cue may give the antecedent away.
    """

    name: str
    accuracy: Estimate
    pair_accuracy: Estimate
    swappable: Estimate | None
    by_construction: bool = False  # whether the accuracies follow from the rule and have no error


def pronoun_accuracy(
    name: str, correct: Array, minimal_pairs: Sequence[tuple[Pair, Pair]], *, by_construction: bool = False
) -> PronounAccuracy:
    """Compute the accuracy of a system; `correct` says for each sentence whether its pronoun is correct.

    The two sentences of a minimal pair follow each other.
    """
    pairs = np.asarray(correct, dtype=float).reshape(-1, 2)
    frames = frames_of(minimal_pairs)
    accuracy = proportion(pairs.sum(axis=1), np.full(len(pairs), 2), clusters=frames)
    pair_accuracy = proportion(pairs.all(axis=1), np.ones(len(pairs)), clusters=frames)
    swaps = np.array([coreference_of(first).both_roles for first, _ in minimal_pairs])
    swappable = proportion(pairs.sum(axis=1) * swaps, 2 * swaps, clusters=frames)
    assert accuracy is not None and pair_accuracy is not None
    return PronounAccuracy(name, accuracy, pair_accuracy, swappable, by_construction)


def frames_of(minimal_pairs: Iterable[tuple[Pair, Pair]]) -> list[str]:
    """Return the name of the relation between the two nouns of each minimal pair."""
    return [coreference_of(first).frame or "" for first, _ in minimal_pairs]


def baselines(minimal_pairs: Sequence[tuple[Pair, Pair]]) -> list[PronounAccuracy]:
    """Return the accuracy of each baseline on these minimal pairs."""
    test = [sentence for both in minimal_pairs for sentence in both]
    train = [one for both in islice(generator.minimal_pairs(SEED, "train"), TRAINING_PAIRS) for one in both]
    first = np.array([it.antecedent < _distractor(it) for it in map(coreference_of, test)])
    feminine = np.array([coreference_of(sentence).gender == "f" for sentence in test])
    bag = BagOfWords(map(words_of, train), [coreference_of(sentence).gender == "f" for sentence in train])
    by_nouns, by_cue = MajorityGender(nouns_of, train)(test), MajorityGender(cue_of, train)(test)
    return [
        pronoun_accuracy("always the first noun", first, minimal_pairs, by_construction=True),
        pronoun_accuracy("always the nearest noun", ~first, minimal_pairs, by_construction=True),
        pronoun_accuracy("the two nouns alone", by_nouns == feminine, minimal_pairs, by_construction=True),
        pronoun_accuracy("the cue alone", by_cue == feminine, minimal_pairs),
        pronoun_accuracy("the words without their order, linear", bag(map(words_of, test)) == feminine, minimal_pairs),
    ]


class MajorityGender:
    """Predicts the gender from the `key` of a sentence, which is one part of it, such as the cue.

    The prediction is the more frequent gender among the training sentences with the same key. It is masculine if no
    training sentence has this key, or if both genders are equally frequent.
    """

    def __init__(self, key: Callable[[Pair], Hashable], sentences: Iterable[Pair]) -> None:
        self._key = key
        self._feminine_surplus: Counter[Hashable] = Counter()
        for sentence in sentences:
            self._feminine_surplus[key(sentence)] += 1 if coreference_of(sentence).gender == "f" else -1

    def __call__(self, sentences: Iterable[Pair]) -> Array:
        return np.array([self._feminine_surplus[self._key(sentence)] > 0 for sentence in sentences])


class BagOfWords:
    """Uses the set of words of a sentence to predict whether the pronoun is feminine; ignores unknown words.

    It is a logistic regression, trained by gradient descent with momentum.
    """

    def __init__(self, bags: Iterable[set[str]], labels: Sequence[bool]) -> None:
        train = list(bags)
        self._columns = {word: column for column, word in enumerate(sorted(set().union(*train)))}
        features, expected = self._features(train), np.asarray(labels, np.float32)
        self._weights = velocity = np.zeros(len(self._columns), np.float32)
        for _ in range(_STEPS):
            error = 1 / (1 + np.exp(-features @ self._weights)) - expected
            gradient = features.T @ error / len(train) + _WEIGHT_DECAY * self._weights
            velocity = _MOMENTUM * velocity - gradient
            self._weights = self._weights + _LEARNING_RATE * velocity

    def __call__(self, bags: Iterable[set[str]]) -> Array:
        return np.asarray(self._features(list(bags)) @ self._weights > 0)

    def _features(self, bags: Sequence[set[str]]) -> Array:
        features = np.zeros((len(bags), len(self._columns)), np.float32)
        for row, bag in enumerate(bags):
            features[row, [self._columns[word] for word in bag if word in self._columns]] = 1
        return features


def coreference_of(sentence: Pair) -> CoreferenceAnnotation:
    """Return the annotation of the pronoun "it" in a sentence that has one."""
    assert sentence.annotations.coreference is not None
    return sentence.annotations.coreference


def words_of(sentence: Pair) -> set[str]:
    return {word.text.lower() for word in sentence.annotations.source}


def cue_of(sentence: Pair) -> str:
    cue = coreference_of(sentence).cue
    assert cue is not None
    return sentence.annotations.source[cue].text


def nouns_of(sentence: Pair) -> tuple[str, str]:
    """Return the antecedent and the distractor, in the order in which they occur in the sentence."""
    it = coreference_of(sentence)
    first, second = sorted((it.antecedent, _distractor(it)))
    return sentence.annotations.source[first].text.lower(), sentence.annotations.source[second].text.lower()


def _distractor(it: CoreferenceAnnotation) -> int:
    assert it.distractor is not None
    return it.distractor
