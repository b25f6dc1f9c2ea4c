"""Which tokens make up which word."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from regard.tokenizers.protocol import NamingTokenizer
from regard.tokenizers.special_ids import EOS, FIRST_SUBWORD

Span = tuple[int, int]  # from which byte to which

_SPACED = re.compile(r"\S+")


@dataclass(frozen=True)
class WordSpan:
    """A word and which pieces it is made of: from `begin` up to, not including, `end`."""

    text: str
    begin: int
    end: int


def whitespace_words(ids: Sequence[int], tokenizer: NamingTokenizer) -> tuple[WordSpan, ...]:
    """The words that white space divides, in a text given by its pieces."""
    each = token_bytes(ids, tokenizer)
    # What a model writes need not be UTF-8.
    text = b"".join(each).decode("utf-8", "surrogateescape")
    found = list(_SPACED.finditer(text))
    spans = [(len(_bytes(text[: one.start()])), len(_bytes(text[: one.end()]))) for one in found]
    names = [_bytes(one[0]).decode("utf-8", "replace") for one in found]
    return words_among(names, spans, places_of(each))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def token_bytes(ids: Sequence[int], tokenizer: NamingTokenizer) -> list[bytes]:
    """What each piece writes; SentencePiece puts a space before a text."""
    return [
        bytes([identity - EOS - 1]) if EOS < identity < FIRST_SUBWORD else piece.replace("\u2581", " ").encode()
        for identity, piece in zip(ids, tokenizer.tokens(ids), strict=True)
    ]


def places_of(each: Sequence[bytes], start: int = 0) -> list[Span]:
    """From which byte to which each of them reaches, one after the other."""
    ends = (np.cumsum([0, *map(len, each)]) + start).tolist()
    return list(pairwise(ends))


def words_among(names: Sequence[str], spans: Sequence[Span], places: Sequence[Span]) -> tuple[WordSpan, ...]:
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
        found.append(WordSpan(names[number], begin, ends.get(number, begin)))
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


def token_to_word_matrix(words: Sequence[WordSpan], pieces: int) -> Any:
    """A matrix that sums the weights of pieces (rows) to those of words (columns)."""
    matrix = np.zeros((pieces, len(words)), dtype=np.float32)
    for number, word in enumerate(words):
        matrix[word.begin : word.end, number] = 1
    return matrix
