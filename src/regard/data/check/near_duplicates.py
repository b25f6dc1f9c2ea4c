"""Texts that nearly occur in another set: all words but one are the same, ignoring case, order and punctuation.

Every word gets a random number, and a text gets the sum of the numbers of its words. Texts with equal sums have the
same words. If one word at a time is removed from each text, equal sums mean that one word was added, removed or
replaced. So the sorted sums of a few thousand texts find their near duplicates in any stream of texts, in constant
memory.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regard.data.code_points import Block, Numbers, word_classes
from regard.data.permutation import Bits, mix

MAX_TEXTS = 10_000

_MIN_WORDS = 8  # of texts in which one word may differ; shorter texts must have the same words

_SLOT_BITS = 20  # leading bits of a sum, by which most sums are ruled out quickly


class NearDuplicateIndex:
    """An index of texts that finds their near duplicates."""

    def __init__(self, texts: Sequence[str]) -> None:
        sums, owners = _sums(list(texts[:MAX_TEXTS]))
        order = np.argsort(sums, kind="stable")
        self._sums, self._owners = sums[order], owners[order]
        self._occupied = np.zeros(1 << _SLOT_BITS, np.bool_)
        self._occupied[_slot(sums)] = True

    def find(self, texts: Sequence[str]) -> tuple[Numbers, Numbers]:
        """Return matches as two arrays: the index of the text, and of the indexed text that it nearly equals.

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
    """Return all sums to compare, and the index of the text that each belongs to."""
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
    """Return the sums of consecutive runs of values, given the end of each run, modulo 2^64."""
    running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values, dtype=np.uint64)])
    totals: Bits = np.diff(running[np.concatenate([np.zeros(1, np.int64), ends])])
    return totals
