"""Keeps held-out sentences, and sentences that are nearly the same, out of the training data.

A training pair is left out if one of its sides has the words of a held-out text in the same order (ignoring case and
punctuation), or is a near duplicate of one (`regard.data.check.near_duplicates`): the same words in another order, or,
from eight words on, a difference of one word.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

from domains import TextPair

from regard.data.check.near_duplicates import MAX_TEXTS, NearDuplicateIndex

_WORD = re.compile(r"\w+")

_BLOCK = 20_000


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text, without case and punctuation."""
    return tuple(_WORD.findall(text.casefold()))


class HeldOut:
    """The held-out texts, which find their duplicates among other pairs."""

    def __init__(self, pairs: Iterable[TextPair]) -> None:
        pairs = list(pairs)
        self._words = {words_of(text) for pair in pairs for text in pair} - {()}
        # In one index, so that a text is found on either side.
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        self._indices = [NearDuplicateIndex(texts[at : at + MAX_TEXTS]) for at in range(0, len(texts), MAX_TEXTS)]
        self.counts: Counter[str] = Counter()  # why pairs were left out

    def leave_out(self, pairs: Iterable[TextPair]) -> Iterator[TextPair]:
        """Yield the pairs that are not held out and not nearly held out, and count the others."""
        pairs = iter(pairs)
        while block := list(islice(pairs, _BLOCK)):
            near = {
                row
                for side in zip(*block, strict=True)
                for index in self._indices
                for row in index.find(side)[0].tolist()
            }
            for row, pair in enumerate(block):
                if words_of(pair[0]) in self._words or words_of(pair[1]) in self._words:
                    self.counts["a held-out text"] += 1
                elif row in near:
                    self.counts["nearly a held-out text"] += 1
                else:
                    yield pair
