"""Finds the place in a translation that belongs to a part of its source, from the weights of the alignment head.

Words are finer here than in `alignment.py`: an article that is written together with a noun is a word of its own.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.inference.result import Range
from regard.tokenizers.protocol import Tokenizer
from regard.tokenizers.word_spans import WordSpan, assign_tokens, byte_spans, token_bytes, token_to_word_matrix

_WORD = re.compile(r"\w+(?:-\w+)*")

_MIN_WEIGHT = 0.15  # a word with less attention to a part of the source does not translate it

_MOST = 0.5  # of the attention of a word that belongs to a region of the source


class Locator:
    """The attention of each word of a translation to each word of its source."""

    def __init__(self, source: "SplitWords", target: "SplitWords", weights_LM: Any, row: str) -> None:
        self._source, self._target = source.ranges, target.ranges
        weights_LW = np.asarray(weights_LM) @ token_to_word_matrix(source.words, len(weights_LM[0]))
        shift = 1 if row == "read" else 0
        rows = [weights_LW[word.begin + shift : word.end + shift] for word in target.words]
        empty = np.zeros(len(source.words), dtype=np.float32)
        self._weights_TW = np.array([one.mean(axis=0) if len(one) else empty for one in rows])

    def find_word(self, part: Range, taken: Sequence[Range] = ()) -> Range | None:
        """Return the word, or the words, of the translation that translate a part of the source."""
        columns = self._columns(part)
        if not columns or not len(self._weights_TW):
            return None
        free_T = np.array([not any(_overlap(word, other) for other in taken) for word in self._target])
        found = []
        for column in columns:
            weights_T = self._weights_TW[:, column] * free_T
            best = int(weights_T.argmax())
            if weights_T[best] >= _MIN_WEIGHT:
                found.append(best)
        if not found:
            return None
        first, last = min(found), max(found)
        if last - first > len(columns) or not free_T[first : last + 1].all():
            first = last = max(set(found), key=found.count)
        return self._target[first][0], self._target[last][1]

    def find_region(self, part: Range) -> Range | None:
        """Return the longest run of words of the translation that attend mostly to a part of the source."""
        columns = self._columns(part)
        if not columns or not len(self._weights_TW):
            return None
        share_T = self._weights_TW[:, columns].sum(axis=1) / np.maximum(self._weights_TW.sum(axis=1), 1e-9)
        inside = (share_T >= _MOST).tolist()
        best, begin = (0, 0), 0
        for index, is_inside in enumerate([*inside, False]):
            if not is_inside:
                best = max(best, (begin, index), key=lambda run: run[1] - run[0])
                begin = index + 1
        if best[0] == best[1]:
            return self.find_word(part)
        return self._target[best[0]][0], self._target[best[1] - 1][1]

    def _columns(self, part: Range) -> list[int]:
        return [number for number, word in enumerate(self._source) if _overlap(word, part)]


class SplitWords:
    """The words of a text, with their places in the text and their tokens."""

    def __init__(self, ids: Sequence[int], text: str, tokenizer: Tokenizer) -> None:
        """Split a text; without words if its characters cannot be assigned to tokens."""
        bytes_of_tokens = token_bytes(ids, tokenizer)
        whole = b"".join(bytes_of_tokens).decode("utf-8", "surrogateescape")
        shift = len(whole) - len(text)  # SentencePiece adds a space before a text
        self.ranges = [match.span() for match in _WORD.finditer(text)] if whole[shift:] == text else []
        spans = [(_length(whole[: begin + shift]), _length(whole[: end + shift])) for begin, end in self.ranges]
        names = [text[begin:end] for begin, end in self.ranges]
        self.words: tuple[WordSpan, ...] = assign_tokens(names, spans, byte_spans(bytes_of_tokens))


def _length(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def _overlap(first: Range, second: Range) -> bool:
    return first[0] < second[1] and second[0] < first[1]
