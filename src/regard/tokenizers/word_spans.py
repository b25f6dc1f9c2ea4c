"""Which source word each target word comes from, by the weights of one head.

Words are what white space divides, counted from 0, as programs that exchange alignments count them. A piece that
reaches over two words counts for the one it has more of; a word may be left without. Free of torch.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from regard.data.tokenizer import END, FIRST_PIECE

Link = tuple[int, int]  # a word of the source and one of the target
Span = tuple[int, int]  # from which byte to which
_SPACED = re.compile(r"\S+")


class NamingTokenizer(Protocol):
    """What is needed of a tokenizer."""

    def pieces(self, ids: Sequence[int]) -> list[str]: ...


@dataclass(frozen=True)
class Word:
    """A word and which pieces it is made of: from `begin` up to, not including, `end`."""

    text: str
    begin: int
    end: int


def spaced_words(ids: Sequence[int], tokenizer: NamingTokenizer) -> tuple[Word, ...]:
    """The words that white space divides, in a text given by its pieces."""
    each = piece_bytes(ids, tokenizer)
    # What a model writes need not be UTF-8.
    text = b"".join(each).decode("utf-8", "surrogateescape")
    found = list(_SPACED.finditer(text))
    spans = [(len(_bytes(text[: one.start()])), len(_bytes(text[: one.end()]))) for one in found]
    names = [_bytes(one[0]).decode("utf-8", "replace") for one in found]
    return words_among(names, spans, places_of(each))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def piece_bytes(ids: Sequence[int], tokenizer: NamingTokenizer) -> list[bytes]:
    """What each piece writes; SentencePiece puts a space before a text."""
    return [
        bytes([identity - END - 1]) if END < identity < FIRST_PIECE else piece.replace("\u2581", " ").encode()
        for identity, piece in zip(ids, tokenizer.pieces(ids), strict=True)
    ]


def places_of(each: Sequence[bytes], start: int = 0) -> list[Span]:
    """From which byte to which each of them reaches, one after the other."""
    ends = (np.cumsum([0, *map(len, each)]) + start).tolist()
    return list(pairwise(ends))


def words_among(names: Sequence[str], spans: Sequence[Span], places: Sequence[Span]) -> tuple[Word, ...]:
    """Each word with its pieces; one whose pieces are all others' has none: it ends where it begins."""
    begins: dict[int, int] = {}
    ends: dict[int, int] = {}
    for at, owner in enumerate(_owners(spans, places)):
        if owner is not None:
            begins.setdefault(owner, at)
            ends[owner] = at + 1
    found = []
    begin = len(places)
    for number in reversed(range(len(names))):
        begin = begins.get(number, begin)
        found.append(Word(names[number], begin, ends.get(number, begin)))
    return tuple(reversed(found))


def _owners(spans: Sequence[Span], places: Sequence[Span]) -> Iterator[int | None]:
    """For each piece the word it has most bytes of."""
    stops = [stop for _, stop in spans]
    for start, end in places:
        most, owner = 0, None
        for number in range(bisect_right(stops, start), len(spans)):
            common = min(end, spans[number][1]) - max(start, spans[number][0])
            if common <= 0:
                break
            if common > most:
                most, owner = common, number
        yield owner


def links_of(weights_LM: Any, source: Sequence[Word], target: Sequence[Word], row: str) -> Iterator[Link]:
    """Each target word with the source word that its rows look at most; the end mark is none.

    Row r writes piece r, and row r + 1 has read it. A text cut off at its limit has no row that read its last piece.
    """
    if not source:
        return
    words_LW = np.asarray(weights_LM) @ grouping(source, len(weights_LM[0]))
    shift = 1 if row == "read" else 0
    for number, word in enumerate(target):
        rows_LW = words_LW[word.begin + shift : word.end + shift]
        if len(rows_LW):
            yield int(rows_LW.mean(axis=0).argmax()), number


def grouping(words: Sequence[Word], pieces: int) -> Any:
    """A matrix that sums the weights of pieces (rows) to those of words (columns)."""
    matrix = np.zeros((pieces, len(words)), dtype=np.float32)
    for number, word in enumerate(words):
        matrix[word.begin : word.end, number] = 1
    return matrix


class WordCount:
    """How many words a text has that comes in parts; a word may go on in the next."""

    def __init__(self) -> None:
        self._count, self._goes_on = 0, False

    def before(self, part: str) -> int:
        """The number of the first word of a part to come."""
        return self._count - (self._goes_on and not part[:1].isspace())

    def add(self, part: str) -> None:
        if part:
            self._count = self.before(part) + len(part.split())
            self._goes_on = not part[-1].isspace()


def moved(links: Iterable[Link], source: int, target: int) -> Iterator[Link]:
    """The links of a part, counted in the whole text."""
    return ((source + one, target + other) for one, other in links)
