"""Pieces grouped to words, so that people can point at one and read maps of them.

A word ends where white space begins; punctuation around it, and the marks of start and end, stand for themselves.
Attention to a word is the sum over its pieces, attention from a word the mean over them, so that rows still sum to one.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from regard.data.tokenizer import END
from regard.decoding.linking import Word
from regard.errors import LookError

_SPACE_SIGN = "\u2581"
# What joins the signs of one emoji or the letters of one word; other invisible signs are spelt out.
_JOINERS = "\u200c\u200d"


class Reader(Protocol):
    """What is needed of a tokenizer."""

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]: ...

    def pieces(self, ids: Sequence[int]) -> list[str]: ...


@dataclass(frozen=True)
class Tokens:
    """One side of a pass: ids, the pieces they stand for, and the words these make."""

    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    words: tuple[Word, ...]

    @classmethod
    def of(cls, ids: Sequence[int], reader: Reader) -> "Tokens":
        pieces = [visible(piece) for piece in reader.pieces(ids)]
        words = []
        for begin, end in _spans(ids, reader.pieces(ids)):
            text = pieces[begin] if ids[begin] <= END else reader.decode([ids[begin:end]])[0]
            words.append(Word(visible(text.strip() or "␣"), begin, end))
        return cls(tuple(ids), tuple(pieces), tuple(words))

    def units(self, *, pieces: bool = False) -> tuple[Word, ...]:
        """What maps are made of: words, or every piece by itself."""
        if not pieces:
            return self.words
        return tuple(Word(piece, index, index + 1) for index, piece in enumerate(self.pieces))


def find_word(wanted: str, units: Sequence[Word]) -> Word | None:
    """The word written so, or, as `it:2`, the second written so; capitals count only if they must."""
    for text, number in _readings(wanted):
        for same in (str, str.casefold):
            found = [word for word in units if same(word.text) == same(text)]
            if found:
                return found[number - 1] if number <= len(found) else None
    return None


def chosen_word(wanted: str, *sides: Sequence[Word]) -> Word:
    """The word on the first side that has it; where none has, the error lists all there are."""
    for units in sides:
        if found := find_word(wanted, units):
            return found
    listed = "; ".join(", ".join(_numbered(units)) for units in sides)
    raise LookError(f"there is no word {wanted!r} here; the words are: {listed}")


def visible(text: str) -> str:
    """Text in which nothing acts on a terminal or a page: control signs and signs of direction are spelt out."""
    return "".join(
        f"\\u{{{ord(sign):x}}}" if unicodedata.category(sign) in ("Cc", "Cf", "Cs") and sign not in _JOINERS else sign
        for sign in text
    )


def _readings(wanted: str) -> Iterator[tuple[str, int]]:
    yield wanted, 1
    text, colon, number = wanted.rpartition(":")
    if colon and number.isascii() and number.isdigit() and int(number):
        yield text, int(number)


def _numbered(units: Sequence[Word]) -> Iterator[str]:
    """The words as one may ask for them: the second `the` as `the:2`."""
    seen: dict[str, int] = {}
    for word in units:
        seen[word.text] = seen.get(word.text, 0) + 1
        yield word.text if seen[word.text] == 1 else f"{word.text}:{seen[word.text]}"


def _spans(ids: Sequence[int], pieces: Sequence[str]) -> Iterator[tuple[int, int]]:
    begin = 0
    for end in range(1, len(ids) + 1):
        if end == len(ids) or ids[end] <= END or ids[end - 1] <= END or pieces[end].startswith(_SPACE_SIGN):
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
