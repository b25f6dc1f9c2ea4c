"""Which source word each target word comes from, by the weights of one head.

Words are what white space divides, counted from 0, as programs that exchange alignments count them. A piece that
reaches over two words counts for the one it has more of; a word may be left without. Free of torch.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from regard.tokenizers.word_spans import WordSpan, token_to_word_matrix

Link = tuple[int, int]  # a word of the source and one of the target


def align_words(weights_LM: Any, source: Sequence[WordSpan], target: Sequence[WordSpan], row: str) -> Iterator[Link]:
    """Each target word with the source word that its rows look at most; the end mark is none.

    Row r writes piece r, and row r + 1 has read it. A text cut off at its limit has no row that read its last piece.
    """
    if not source:
        return
    words_LW = np.asarray(weights_LM) @ token_to_word_matrix(source, len(weights_LM[0]))
    shift = 1 if row == "read" else 0
    for number, word in enumerate(target):
        rows_LW = words_LW[word.begin + shift : word.end + shift]
        if len(rows_LW):
            yield int(rows_LW.mean(axis=0).argmax()), number


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


def shift_links(links: Iterable[Link], source: int, target: int) -> Iterator[Link]:
    """The links of a part, counted in the whole text."""
    return ((source + one, target + other) for one, other in links)
