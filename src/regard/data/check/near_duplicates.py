"""Finds near duplicates: texts that differ in at most one word, ignoring case, word order and punctuation.

Every word gets a random number, and a text gets the sum of the numbers of its words. Texts with equal sums have the
same words. A text that is not short also gets one more sum for each of its words, which leaves out this word. If a sum
of one text equals a sum of another text, the texts differ in at most one word, which was added, removed or replaced.
The sums of a few thousand texts are sorted in memory and compared with those of any number of other texts, which need
not be in memory.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regard.data.code_points import Block, Numbers, word_classes
from regard.data.permutation import Bits, mix

MAX_TEXTS = 10_000

_MIN_WORDS = 8  # if a text has at least this number of words, one may differ; in shorter texts, all must match

_SLOT_BITS = 20  # number of leading bits of a sum that are compared first, which rules out most sums quickly


class NearDuplicateIndex:
    """An index of texts that finds their near duplicates."""

    def __init__(self, texts: Sequence[str]) -> None:
        sums, owners = _sums(list(texts[:MAX_TEXTS]))
        order = np.argsort(sums, kind="stable")
        self._sums, self._owners = sums[order], owners[order]
        self._occupied = np.zeros(1 << _SLOT_BITS, np.bool_)
        self._occupied[_slot(sums)] = True

    def find(self, texts: Sequence[str]) -> tuple[Numbers, Numbers]:
        """Return all matches as two arrays: the indices in `texts`, and the indices of the indexed texts that match.

        A text may match several indexed texts.
        """
        sums, rows = _sums(texts)
        possible = self._occupied[_slot(sums)]
        sums, rows = sums[possible], rows[possible]
        first, last = (np.searchsorted(self._sums, sums, side=side) for side in ("left", "right"))
        counts = last - first
        rows = np.repeat(rows, counts)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        owners = self._owners[np.repeat(first, counts) + within]
        matches = np.unique(np.stack([rows, owners]), axis=1)
        return matches[0], matches[1]


def _slot(sums: Bits) -> NDArray[np.uint64]:
    return sums >> np.uint64(64 - _SLOT_BITS)


def _sums(texts: Sequence[str]) -> tuple[Bits, Numbers]:
    """Return the sums of all texts, as described at the top of this file, and for each sum the index of its text."""
    block = Block([text.casefold() for text in texts])
    classes = word_classes()[block.codes]
    is_start = classes == 2
    is_start[1:] |= (classes[1:] == 1) & (classes[:-1] != 1)
    is_start[:1] |= classes[:1] == 1
    word_starts = np.flatnonzero(is_start)
    inside = np.flatnonzero(classes)
    word_of = np.cumsum(is_start)[inside] - 1
    letters = mix(block.codes[inside].astype(np.uint64) + ((inside - word_starts[word_of]).astype(np.uint64) << 32), ())
    words = mix(_totals(letters, np.cumsum(np.bincount(word_of, minlength=len(word_starts)))), (1,))
    text_of = np.searchsorted(block.ends, word_starts, side="right")
    counts = np.bincount(text_of, minlength=len(texts))
    totals = _totals(words, np.cumsum(counts))
    has_words, is_long = counts > 0, counts >= _MIN_WORDS
    removable = is_long[text_of]
    return (
        np.concatenate([totals[has_words], (totals[text_of] - words)[removable]]),
        np.concatenate([np.flatnonzero(has_words), text_of[removable]]),
    )


def _totals(values: Bits, ends: Numbers) -> Bits:
    """Return the sum of each run of consecutive values, modulo 2^64; `ends` has the end of each run."""
    running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values, dtype=np.uint64)])
    totals: Bits = np.diff(running[np.concatenate([np.zeros(1, np.int64), ends])])
    return totals
