"""Word alignment from the attention weights of one head.

Words are separated by white space and counted from 0, as in the Pharaoh format. A token that covers two words belongs
to the word with which it shares more bytes, so a word may have no token. Does not import torch.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from regard.tokenizers.word_spans import WordSpan, token_to_word_matrix

Link = tuple[int, int]  # the index of a source word and of a target word


def align_words(weights_LM: Any, source: Sequence[WordSpan], target: Sequence[WordSpan], row: str) -> Iterator[Link]:
    """Link each target word to the source word with the largest mean attention weight in its rows; EOS is not a word.

    Row r predicts token r (`row` is "written"), and row r + 1 has token r as its input ("read"). A text cut off at its
    length limit has no row with its last token as input.
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
    """A count of the words of a text that comes in parts; a word may continue in the next part."""

    def __init__(self) -> None:
        self._count, self._inside_word = 0, False

    def before(self, part: str) -> int:
        """Return the index of the first word of the next part."""
        return self._count - (self._inside_word and not part[:1].isspace())

    def add(self, part: str) -> None:
        if part:
            self._count = self.before(part) + len(part.split())
            self._inside_word = not part[-1].isspace()


def shift_links(links: Iterable[Link], source: int, target: int) -> Iterator[Link]:
    """Shift the links of a part by the number of words before it in the source and in the target."""
    return ((source + source_word, target + target_word) for source_word, target_word in links)
