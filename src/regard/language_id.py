"""Which language a text is in, from the language profiles that are stored with a model.

A profile is the number of times that frequent n-grams of characters occur in the words of a language. Together they are
a small language model: the probability of a character given up to three characters before it. A text is compared with
the profiles of all languages that are loaded, and with a background model, which knows how frequent each character is
but not their order. If the background model explains a text as well as the best profile, the language is unknown.

The module needs nothing but the standard library, because it runs before a model is loaded.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

MAX_NGRAM = 4  # characters; a space stands for the start and the end of a word

MAX_PROFILE_NGRAMS = 5_000  # the most frequent ones: about 50 KB

MAX_CHARACTERS = 2_000  # at the start of a text, which decide its language

# Characters that follow each other are not independent, so log-likelihoods are multiplied by this number. It was fitted
# to held-out sentences, three words and single words, so that a language with a confidence of 90 % is right in at least
# 90 % of the cases. `bench/identify_language.py` prints how well this holds.
_EVIDENCE = 0.35

# A text in another language is expected to be so much rarer than one in each of the languages that are loaded.
_OTHER_PRIOR = 0.1

MIN_CONFIDENCE = 0.6  # below this probability, the language is unknown

# A mismatch is reported if the expected language is less probable than this, unless the text has fewer letters. A text
# that may be a name, with no longer word in small letters, is never a mismatch.
_MISMATCH_PROBABILITY = 0.02
_MISMATCH_LETTERS = 8

_UNSEEN = 0.5  # how often a character occurs that a profile does not list, for its probability
_BACKGROUND_UNSEEN = 1e-4  # the probability of such a character in the background model: other alphabets exist

_MAX_COUNT = 1 << 53

_REMEMBERED_NGRAMS = 1 << 15
_REMEMBERED_WORDS = 1 << 13

# Letters, and the marks on them. Python's `\w` leaves out the marks, so this lists what belongs to no word: white
# space, digits, ASCII without letters, surrogates, private use, and the symbols and punctuation of Unicode.
_NO_LETTER = (
    r"\s\d!-@\[-`{-\xbf×÷\u2000-\u2bff\u3000-\u303f\ud800-\uf8ff\ufe00-\ufe0f\uff00-\uff20\U0001f000-\U0001ffff"
)
_WORD = re.compile(rf"[^{_NO_LETTER}]+(?:'[^{_NO_LETTER}]+)*")

# Addresses, file names, placeholders, codes and tags are in no language.
_TAG = re.compile(r"<[^<>]*>")
_ASCII_TOKEN = re.compile(r"[!-~]+")
_NO_LANGUAGE = re.compile(r"[@/\\_{}=$%0-9]|[A-Za-z]\.[A-Za-z]")


@dataclass(frozen=True)
class Identification:
    """The language of a text, and the probability that this is right."""

    language: str | None  # None if it is unknown
    confidence: float  # between 0 and 1; 0 if the language is unknown
    # Of each language that is loaded. What is missing to 1 is the probability of all other languages together.
    probabilities: Mapping[str, float]


@dataclass(frozen=True)
class LanguageProfile:
    """How often the most frequent n-grams of characters occur in the words of a language."""

    counts: Mapping[str, int]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "LanguageProfile":
        """Count the n-grams of texts. The order of the texts makes no difference."""
        word_counts: Counter[str] = Counter()
        for text in texts:
            word_counts.update(map(str.lower, _words(text)))
        counts: Counter[str] = Counter()
        for word, count in word_counts.items():
            for ngram in _ngrams(word):
                for start in range(len(ngram)):
                    counts[ngram[start:]] += count
        # The start of an n-gram is at least as frequent as the n-gram, so it is kept whenever the n-gram is.
        frequent = sorted(counts.items(), key=lambda item: (-item[1], len(item[0]), item[0]))
        return cls(dict(frequent[:MAX_PROFILE_NGRAMS]))

    def problem(self) -> str | None:
        """Return what is wrong with the counts of a profile that was read from a file, or None."""
        if len(self.counts) > MAX_PROFILE_NGRAMS:
            return f"{len(self.counts):,} n-grams, but a profile has at most {MAX_PROFILE_NGRAMS:,}"
        if not self.counts:
            return "it has no n-grams"
        for ngram, count in self.counts.items():
            if not 0 < len(ngram) <= MAX_NGRAM:
                return f"{ngram!r:.40} is not an n-gram of 1 to {MAX_NGRAM} characters"
            if type(count) is not int or not 0 < count <= _MAX_COUNT:
                return f"the count of {ngram!r} is {count!r:.40}, not a whole number from 1 to {_MAX_COUNT:,}"
            if len(ngram) > 1 and ngram[:-1] not in self.counts:
                return f"the start of the n-gram {ngram!r} is missing"
        return None

    def log_probability(self, ngram: str) -> float:
        """Return the log-probability of the last character of an n-gram, given the characters before it.

        If the profile does not list the n-gram, this is the probability of the character given fewer characters,
        multiplied by how often the characters before it are followed by something that the profile does not list.
        """
        history = ngram[:-1]
        if not history:
            return math.log(self.counts.get(ngram, _UNSEEN) / self._characters)
        listed = self._continuations.get(history, 0)
        if not listed:
            return self.log_probability(ngram[1:])
        total = max(self.counts[history], listed) + _UNSEEN
        if ngram in self.counts:
            return math.log(self.counts[ngram] / total)
        return math.log((total - listed) / total) + self.log_probability(ngram[1:])

    @cached_property
    def _characters(self) -> float:
        return sum(count for ngram, count in self.counts.items() if len(ngram) == 1) + _UNSEEN

    @cached_property
    def _continuations(self) -> Mapping[str, int]:
        """For each n-gram, how often it is followed by a character with which it is also listed."""
        listed: Counter[str] = Counter()
        for ngram, count in self.counts.items():
            listed[ngram[:-1]] += count
        return listed


class LanguageIdentifier:
    """Finds the language of a text among those of the given profiles."""

    def __init__(self, profiles: Mapping[str, LanguageProfile]) -> None:
        self.languages = tuple(profiles)
        self._profiles = tuple(profiles.values())
        # Texts repeat most words and n-grams. The limits bound the memory that unusual texts could take.
        self._of_ngram = lru_cache(_REMEMBERED_NGRAMS)(self._log_probabilities)
        self._of_word = lru_cache(_REMEMBERED_WORDS)(self._sum_of_ngrams)

    def identify(self, text: str) -> Identification:
        """Return the language of a text, or an unknown language if none is probable enough.

        Digits, addresses, placeholders and codes are in no language, and only the first MAX_CHARACTERS are read.
        """
        return self._identify(_words(text[:MAX_CHARACTERS]))

    def find_mismatch(self, text: str, expected: str | None) -> Identification | None:
        """Return in which language a text is, if it is almost certainly not in the expected one; otherwise None.

        The language of the result is None if the text is in none of the languages that are loaded. Short texts, names,
        and an expected language without a profile, are no mismatch.
        """
        if expected not in self.languages:
            return None
        words = _words(text[:MAX_CHARACTERS])
        if sum(map(len, words)) < _MISMATCH_LETTERS or all(word[0].isupper() or len(word) < 3 for word in words):
            return None
        found = self._identify(words)
        return found if found.probabilities[expected] < _MISMATCH_PROBABILITY else None

    def _identify(self, words: list[str]) -> Identification:
        if not words or not self.languages:
            return Identification(None, 0.0, dict.fromkeys(self.languages, 0.0))
        *languages, background = map(sum, zip(*map(self._of_word, map(str.lower, words)), strict=True))
        highest = max(*languages, background)
        weights = [math.exp(_EVIDENCE * (value - highest)) for value in languages]
        total = sum(weights) + _OTHER_PRIOR * math.exp(_EVIDENCE * (background - highest))
        probabilities = {name: weight / total for name, weight in zip(self.languages, weights, strict=True)}
        best = max(self.languages, key=probabilities.__getitem__)
        if probabilities[best] < MIN_CONFIDENCE:
            return Identification(None, 0.0, probabilities)
        return Identification(best, probabilities[best], probabilities)

    def _sum_of_ngrams(self, word: str) -> tuple[float, ...]:
        """Return the log-probability of a word in each language and in the background."""
        return tuple(map(sum, zip(*map(self._of_ngram, _ngrams(word)), strict=True)))

    def _log_probabilities(self, ngram: str) -> tuple[float, ...]:
        """Return the log-probability of the last character of an n-gram in each language and in the background."""
        single = sum(math.exp(profile.log_probability(ngram[-1])) for profile in self._profiles)
        background = math.log(max(single / len(self._profiles), _BACKGROUND_UNSEEN))
        return *(profile.log_probability(ngram) for profile in self._profiles), background


def _words(text: str) -> list[str]:
    """Return the words of a text, without those that are in no language."""
    text = _TAG.sub(" ", unicodedata.normalize("NFC", text).replace("\u2019", "'"))
    if _NO_LANGUAGE.search(text):
        text = _ASCII_TOKEN.sub(lambda token: " " if _NO_LANGUAGE.search(token[0]) else token[0], text)
    return _WORD.findall(text)


def _ngrams(word: str) -> list[str]:
    """Return for each character of a word, and for its end, the character with up to three characters before it."""
    spaced = f" {word} "
    starts = [spaced[:end] for end in range(2, MAX_NGRAM)]
    return starts + [spaced[start : start + MAX_NGRAM] for start in range(len(spaced) - MAX_NGRAM + 1)]
