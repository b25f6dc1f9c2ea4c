"""Word alignment from the attention weights of one head.

Words are separated by white space and counted from 0, as in the Pharaoh format. A token that covers two words belongs
to the word with which it shares more bytes, so a word may have no token. This module does not import torch.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from regard.tokenizers.word_spans import WordSpan, token_to_word_matrix

Link = tuple[int, int]  # the index of a source word, and the index of the target word it is linked to


def align_words(weights_LM: Any, source: Sequence[WordSpan], target: Sequence[WordSpan], row: str) -> Iterator[Link]:
    """Link each target word to the source word that gets the most attention from the tokens of the target word.

    `weights_LM` has one row for each target token and one for EOS, and one column for each source token. If `row` is
    "written", the weights of target token r are in row r, where the decoder predicts the token. If `row` is "read",
    they are in row r + 1, where the token is the decoder's input; if the translation was cut off, its last token may
    have no such row. EOS gets no link.
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
    """Counts the words of a text that is added part by part. A word may continue from one part into the next."""

    def __init__(self) -> None:
        self.count, self._inside_word = 0, False

    def before(self, part: str) -> int:
        """Return the index of the first word of `part`, which is the next part of the text."""
        return self.count - (self._inside_word and not part[:1].isspace())

    def add(self, part: str) -> None:
        if part:
            self.count = self.before(part) + len(part.split())
            self._inside_word = not part[-1].isspace()


def shift_links(links: Iterable[Link], source: int, target: int) -> Iterator[Link]:
    """Turn word indices within one part of a text into word indices within the whole text.

    `source` and `target` are the numbers of source words and of target words before the part.
    """
    return ((source + source_word, target + target_word) for source_word, target_word in links)
