"""Tokens grouped into words, so that a user can name a word and maps can show words.

Words are separated by white space. Special tokens, and punctuation before and after a word, are separate words.
Attention to a word is the sum over its tokens, and attention from a word is the mean over its tokens, so that the
attention weights of each word still sum to one.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regard.errors import LookError
from regard.render.text import escape_control_characters
from regard.tokenizers.protocol import Tokenizer
from regard.tokenizers.special_ids import EOS
from regard.tokenizers.word_spans import WordSpan

_SPACE_SIGN = "\u2581"


@dataclass(frozen=True)
class Tokens:
    """A source or a target: its token ids, the text of each token, and the words that the tokens form."""

    ids: tuple[int, ...]
    texts: tuple[str, ...]
    words: tuple[WordSpan, ...]

    @classmethod
    def from_ids(cls, ids: Sequence[int], tokenizer: Tokenizer) -> "Tokens":
        """Return the tokens with these ids."""
        texts = [escape_control_characters(text) for text in tokenizer.tokens(ids)]
        words = []
        for begin, end in _word_spans(ids, tokenizer.tokens(ids)):
            text = texts[begin] if ids[begin] <= EOS else tokenizer.decode([ids[begin:end]])[0]
            words.append(WordSpan(escape_control_characters(text.strip() or "␣"), begin, end))
        return cls(tuple(ids), tuple(texts), tuple(words))

    @property
    def special(self) -> tuple[int, ...]:
        """The indices of the special tokens, such as BOS and EOS."""
        return tuple(index for index, token_id in enumerate(self.ids) if token_id <= EOS)

    def units(self, *, tokens: bool = False) -> tuple[WordSpan, ...]:
        """Return the spans of the words or, if `tokens` is True, of the single tokens."""
        if not tokens:
            return self.words
        return tuple(WordSpan(text, index, index + 1) for index, text in enumerate(self.texts))

    def content_words(self) -> dict[int, WordSpan]:
        """Return the words that have a letter or a digit, by index; special tokens are none."""
        return {
            i: word
            for i, word in enumerate(self.words)
            if any(map(str.isalnum, word.text)) and word.begin not in self.special
        }


def find_word(name: str, units: Sequence[WordSpan]) -> WordSpan | None:
    """Find a word by its text; `it:2` is the second `it`. Return None if there is no such word.

    A word in the same case is preferred to one in another case.
    """
    for text, number in _interpretations(name):
        for normalise in (str, str.casefold):
            matches = [word for word in units if normalise(word.text) == normalise(text)]
            if matches:
                return matches[number - 1] if number <= len(matches) else None
    return None


def get_word(name: str, *sides: Sequence[WordSpan]) -> WordSpan:
    """Return a word from the first of several texts that contains it; if none does, raise an error with all words."""
    for units in sides:
        if word := find_word(name, units):
            return word
    listed = "; ".join(", ".join(_numbered(units)) for units in sides)
    raise LookError(f"there is no word {name!r} here; the words are: {listed}")


def _interpretations(name: str) -> Iterator[tuple[str, int]]:
    """Yield each possible meaning of a name, as the text of a word and the number of its occurrence.

    For example, `it:2` may mean the first word with the text `it:2`, or the second word with the text `it`.
    """
    yield name, 1
    text, colon, number = name.rpartition(":")
    if colon and number.isascii() and number.isdigit() and int(number):
        yield text, int(number)


def _numbered(units: Sequence[WordSpan]) -> Iterator[str]:
    """Yield a unique name for each word: the second `the` is named `the:2`."""
    counts: dict[str, int] = {}
    for word in units:
        counts[word.text] = counts.get(word.text, 0) + 1
        yield word.text if counts[word.text] == 1 else f"{word.text}:{counts[word.text]}"


def _word_spans(ids: Sequence[int], texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    begin = 0
    for end in range(1, len(ids) + 1):
        if end == len(ids) or ids[end] <= EOS or ids[end - 1] <= EOS or texts[end].startswith(_SPACE_SIGN):
            yield from _without_punctuation(begin, end, texts)
            begin = end


def _without_punctuation(begin: int, end: int, texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the span of a word, and separate spans for tokens of pure punctuation before and after it."""
    # A token that is only a space belongs to the token after it.
    start = begin + (texts[begin] == _SPACE_SIGN and end - begin > 1)
    inner = [index for index in range(start, end) if not _is_punctuation(texts[index])]
    first, last = (inner[0], inner[-1] + 1) if inner else (end, end)
    spans = [(index, index + 1) for index in range(start, first)]
    spans += [(first, last)] if inner else []
    spans += [(index, index + 1) for index in range(last, end)]
    yield begin, spans[0][1]
    yield from spans[1:]


def _is_punctuation(text: str) -> bool:
    return all(unicodedata.category(character)[0] == "P" for character in text.removeprefix(_SPACE_SIGN))
