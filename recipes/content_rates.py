"""How often translations omit, repeat or invent content, by a rule that needs no model: word alignment and length.

A lexicon of translation probabilities (IBM model 1) is trained on training pairs in both directions. A word is
supported by a sentence if the lexicon has a probability of at least MIN_PROBABILITY for it and a word of the sentence,
in either direction, or if a word of the sentence starts with the same letters. The FREQUENT most frequent words of a
language are neither content words nor support any. Content words have three letters or more, and are in the lexicon. A
translation

- omits content if at least three content words of the source, and half of them, are not supported by the translation,
  and the translation has less than 75 % of the words that a source of its length usually gets;
- repeats itself if a sequence of three words occurs more often than any does in the source or in the reference;
- invents content if at least three of its content words, and half of them, are not supported by the source.

The rates of the references, by the same rule, show how often the rule is wrong.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MAX_PAIRS = 60_000  # of the training pairs, evenly spaced
MIN_COUNT = 3  # of a word in the lexicon
FREQUENT = 60
MIN_PROBABILITY = 0.05
SAME_LETTERS = 4
SHORT = 0.75
ITERATIONS = 4

_WORD = re.compile(r"[^\W_]+")

Words = list[str]


def words_of(text: str) -> Words:
    return _WORD.findall(text.casefold())


@dataclass(frozen=True)
class ContentRates:
    """The proportions of translations that omit, repeat or invent content."""

    omitted: float
    repeated: float
    invented: float


class Lexicon:
    """Which words translate each other, trained on sentence pairs."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        sample = pairs[:: max(1, len(pairs) // MAX_PAIRS)]
        sides = [[words_of(pair[side]) for pair in sample] for side in (0, 1)]
        self._vocabularies = [_vocabulary(side) for side in sides]
        self._frequent = [set(list(vocabulary)[:FREQUENT]) for vocabulary in self._vocabularies]
        self._content = [
            {word for word in vocabulary if len(word) >= 3 and word not in frequent}
            for vocabulary, frequent in zip(self._vocabularies, self._frequent, strict=True)
        ]
        ids = [
            [[vocabulary[word] for word in words if word in vocabulary] for words in side]
            for vocabulary, side in zip(self._vocabularies, sides, strict=True)
        ]
        self._links = _links(ids[0], ids[1]) | {(b, a) for a, b in _links(ids[1], ids[0])}
        self.length_ratio = sum(map(len, sides[1])) / sum(map(len, sides[0]))  # target words for each source word

    def unsupported(self, text: str, other: str, side: int) -> tuple[int, int]:
        """Return how many content words of a text are not supported by the other side, and how many there are.

        `side` is 0 if the text is a source, and 1 if it is a target.
        """
        own = [word for word in words_of(text) if word in self._content[side]]
        others = [word for word in words_of(other) if word not in self._frequent[1 - side]]
        return sum(not self._is_supported(word, others, side) for word in own), len(own)

    def _is_supported(self, word: str, others: Words, side: int) -> bool:
        number, numbers = self._vocabularies[side][word], self._vocabularies[1 - side]
        for other in others:
            link = (number, numbers.get(other, -1)) if side == 0 else (numbers.get(other, -1), number)
            if link in self._links or other[:SAME_LETTERS] == word[:SAME_LETTERS]:
                return True
        return False


def content_rates(
    lexicon: Lexicon, sources: Sequence[str], translations: Sequence[str], references: Sequence[str]
) -> ContentRates:
    omitted = repeated = invented = 0
    for source, translation, reference in zip(sources, translations, references, strict=True):
        usual = lexicon.length_ratio * len(words_of(source))
        missing, content = lexicon.unsupported(source, translation, 0)
        omitted += missing >= max(3, content / 2) and len(words_of(translation)) < SHORT * usual
        added, content = lexicon.unsupported(translation, source, 1)
        invented += added >= max(3, content / 2)
        repeated += _most_repeated(translation) > max(1, _most_repeated(source), _most_repeated(reference))
    return ContentRates(*(count / len(sources) for count in (omitted, repeated, invented)))


def _most_repeated(text: str) -> int:
    words = words_of(text)
    return max(Counter(zip(words, words[1:], words[2:], strict=False)).values(), default=0)


def _vocabulary(sentences: Iterable[Words]) -> dict[str, int]:
    """Return a number for each word that is frequent enough, the most frequent word first."""
    counts = Counter(word for words in sentences for word in words)
    return {word: number for number, (word, count) in enumerate(counts.most_common()) if count >= MIN_COUNT}


def _links(sources: Sequence[list[int]], targets: Sequence[list[int]]) -> set[tuple[int, int]]:
    """Return the pairs of a source word and a target word with at least MIN_PROBABILITY of the target word."""
    null = 1 + max(max(words, default=0) for words in sources)
    positions: list[NDArray[np.int64]] = []  # for each possible link: the number of the target position
    pairs: list[NDArray[np.int64]] = []  # and the pair of words, as one number
    width, position = 1 + max(max(words, default=0) for words in targets), 0
    for source, target in zip(sources, targets, strict=True):
        given = np.array([*source, null])
        pairs.append((given[None, :] * width + np.array(target, dtype=np.int64)[:, None]).ravel())
        positions.append(np.repeat(np.arange(position, position + len(target)), len(given)))
        position += len(target)
    distinct, pair = np.unique(np.concatenate(pairs), return_inverse=True)
    at = np.concatenate(positions)
    source_of = distinct // width
    probability = np.ones(len(distinct))
    for _ in range(ITERATIONS):
        weight = probability[pair]
        expected = np.bincount(pair, weight / np.bincount(at, weight)[at], len(distinct))
        probability = expected / np.bincount(source_of, expected)[source_of]
    kept = distinct[(probability >= MIN_PROBABILITY) & (source_of != null)]
    return set(zip((kept // width).tolist(), (kept % width).tolist(), strict=True))
