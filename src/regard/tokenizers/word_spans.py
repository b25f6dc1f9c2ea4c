"""The mapping between the tokens and the words of a text."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from regard.tokenizers.protocol import Tokenizer
from regard.tokenizers.special_ids import EOS, FIRST_SUBWORD

ByteSpan = tuple[int, int]  # the index of the first byte, and the index after the last byte

_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class WordSpan:
    """A word and its tokens, which have the indices from `begin` to `end` - 1."""

    text: str
    begin: int
    end: int


def whitespace_words(ids: Sequence[int], tokenizer: Tokenizer) -> tuple[WordSpan, ...]:
    """Split a text, given as token ids, into words at white space; return each word with its tokens."""
    bytes_of_tokens = token_bytes(ids, tokenizer)
    # A model can generate bytes that are not valid UTF-8.
    text = b"".join(bytes_of_tokens).decode("utf-8", "surrogateescape")
    words = list(_WORD.finditer(text))
    spans = [(len(_bytes(text[: word.start()])), len(_bytes(text[: word.end()]))) for word in words]
    names = [_bytes(word[0]).decode("utf-8", "replace") for word in words]
    return assign_tokens(names, spans, byte_spans(bytes_of_tokens))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def token_bytes(ids: Sequence[int], tokenizer: Tokenizer) -> list[bytes]:
    """Return the bytes of each token. The first token includes the space that SentencePiece adds before a text."""
    return [
        bytes([token_id - EOS - 1]) if EOS < token_id < FIRST_SUBWORD else token.replace("\u2581", " ").encode()
        for token_id, token in zip(ids, tokenizer.tokens(ids), strict=True)
    ]


def byte_spans(bytes_of_tokens: Sequence[bytes], start: int = 0) -> list[ByteSpan]:
    """Return the byte span of each token in a text. The first token begins at byte `start`."""
    ends = (np.cumsum([0, *map(len, bytes_of_tokens)]) + start).tolist()
    return list(pairwise(ends))


def assign_tokens(
    names: Sequence[str], word_spans: Sequence[ByteSpan], token_spans: Sequence[ByteSpan]
) -> tuple[WordSpan, ...]:
    """Assign each token to at most one word; return each word with its tokens.

    If a word has no tokens, its `begin` equals its `end`.
    """
    begins: dict[int, int] = {}
    ends: dict[int, int] = {}
    for index, owner in enumerate(_owners(word_spans, token_spans)):
        if owner is not None:
            begins.setdefault(owner, index)
            ends[owner] = index + 1
    words = []
    begin = len(token_spans)
    for number in reversed(range(len(names))):
        begin = begins.get(number, begin)
        words.append(WordSpan(names[number], begin, ends.get(number, begin)))
    return tuple(reversed(words))


def _owners(word_spans: Sequence[ByteSpan], token_spans: Sequence[ByteSpan]) -> Iterator[int | None]:
    """Yield, for each token, the index of the word with which it shares most bytes, or None if there is none."""
    stops = [stop for _, stop in word_spans]
    for start, end in token_spans:
        most, owner = 0, None
        for number in range(bisect_right(stops, start), len(word_spans)):
            common = min(end, word_spans[number][1]) - max(start, word_spans[number][0])
            if common <= 0:
                break
            if common > most:
                most, owner = common, number
        yield owner


def token_to_word_matrix(words: Sequence[WordSpan], tokens: int) -> Any:
    """Return a matrix with one row per token and one column per word: 1 if the token belongs to the word, else 0.

    Multiplying attention weights by this matrix adds up the weights of each word's tokens.
    """
    matrix = np.zeros((tokens, len(words)), dtype=np.float32)
    for number, word in enumerate(words):
        matrix[word.begin : word.end, number] = 1
    return matrix
