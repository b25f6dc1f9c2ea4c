"""Pieces grouped to words, so that people can point at one and read maps of them.

A word ends where white space begins; punctuation around it, and the marks of start and end, stand for themselves.
Attention to a word is the sum over its pieces, attention from a word the mean over them, so that rows still sum to one.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regard.errors import LookError
from regard.render.text import escape_control_characters
from regard.tokenizers.protocol import Reader
from regard.tokenizers.special_ids import EOS
from regard.tokenizers.word_spans import WordSpan

_SPACE_SIGN = "\u2581"


@dataclass(frozen=True)
class Tokens:
    """One side of a pass: ids, the pieces they stand for, and the words these make."""

    ids: tuple[int, ...]
    texts: tuple[str, ...]
    words: tuple[WordSpan, ...]

    @classmethod
    def of(cls, ids: Sequence[int], reader: Reader) -> "Tokens":
        pieces = [escape_control_characters(piece) for piece in reader.tokens(ids)]
        words = []
        for begin, end in _spans(ids, reader.tokens(ids)):
            text = pieces[begin] if ids[begin] <= EOS else reader.decode([ids[begin:end]])[0]
            words.append(WordSpan(escape_control_characters(text.strip() or "␣"), begin, end))
        return cls(tuple(ids), tuple(pieces), tuple(words))

    def units(self, *, pieces: bool = False) -> tuple[WordSpan, ...]:
        """What maps are made of: words, or every piece by itself."""
        if not pieces:
            return self.words
        return tuple(WordSpan(piece, index, index + 1) for index, piece in enumerate(self.texts))


def find_word(wanted: str, units: Sequence[WordSpan]) -> WordSpan | None:
    """The word written so, or, as `it:2`, the second written so; capitals count only if they must."""
    for text, number in _readings(wanted):
        for same in (str, str.casefold):
            found = [word for word in units if same(word.text) == same(text)]
            if found:
                return found[number - 1] if number <= len(found) else None
    return None


def chosen_word(wanted: str, *sides: Sequence[WordSpan]) -> WordSpan:
    """The word on the first side that has it; where none has, the error lists all there are."""
    for units in sides:
        if found := find_word(wanted, units):
            return found
    listed = "; ".join(", ".join(_numbered(units)) for units in sides)
    raise LookError(f"there is no word {wanted!r} here; the words are: {listed}")


def _readings(wanted: str) -> Iterator[tuple[str, int]]:
    yield wanted, 1
    text, colon, number = wanted.rpartition(":")
    if colon and number.isascii() and number.isdigit() and int(number):
        yield text, int(number)


def _numbered(units: Sequence[WordSpan]) -> Iterator[str]:
    """The words as one may ask for them: the second `the` as `the:2`."""
    seen: dict[str, int] = {}
    for word in units:
        seen[word.text] = seen.get(word.text, 0) + 1
        yield word.text if seen[word.text] == 1 else f"{word.text}:{seen[word.text]}"


def _spans(ids: Sequence[int], pieces: Sequence[str]) -> Iterator[tuple[int, int]]:
    begin = 0
    for end in range(1, len(ids) + 1):
        if end == len(ids) or ids[end] <= EOS or ids[end - 1] <= EOS or pieces[end].startswith(_SPACE_SIGN):
            yield from _without_punctuation(begin, end, pieces)
            begin = end


def _without_punctuation(begin: int, end: int, pieces: Sequence[str]) -> Iterator[tuple[int, int]]:
    """A word, with the pieces of pure punctuation before and after it apart from it."""
    # A space sign alone belongs to what follows it.
    start = begin + (pieces[begin] == _SPACE_SIGN and end - begin > 1)
    inner = [index for index in range(start, end) if not _is_punctuation(pieces[index])]
    first, last = (inner[0], inner[-1] + 1) if inner else (end, end)
    spans = [(index, index + 1) for index in range(start, first)]
    spans += [(first, last)] if inner else []
    spans += [(index, index + 1) for index in range(last, end)]
    yield begin, spans[0][1]
    yield from spans[1:]


def _is_punctuation(piece: str) -> bool:
    return all(unicodedata.category(sign)[0] == "P" for sign in piece.removeprefix(_SPACE_SIGN))
