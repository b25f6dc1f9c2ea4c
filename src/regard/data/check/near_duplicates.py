"""Texts that nearly occur in another set: the same words but for one, whatever the case, order and punctuation.

Every word gets a random number, a text the sum of its words' numbers. Texts of equal sums have the same words. Take
away one word of each in turn, and equal sums mean that one word was added, left out or replaced. So the sums of a few
thousand texts, sorted, find their near copies in any stream of texts, in constant memory.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regard.data.code_points import Block, Numbers, units
from regard.data.permutation import Bits, mix

MOST = 10_000  # texts held

_FEWEST_WORDS = 8  # of which one may differ; shorter texts must have the same words

_SLOTS = 20  # bits of a sum by which most are passed over quickly


class NearDuplicateIndex:
    """An index of texts that finds their near copies."""

    def __init__(self, texts: Sequence[str]) -> None:
        sums, owners = _sums(list(texts[:MOST]))
        order = np.argsort(sums, kind="stable")
        self._sums, self._owners = sums[order], owners[order]
        self._occupied = np.zeros(1 << _SLOTS, np.bool_)
        self._occupied[_slot(sums)] = True

    def find(self, texts: Sequence[str]) -> tuple[Numbers, Numbers]:
        """Pairs of numbers: which of `texts` is like which of the index. A text may be like several."""
        sums, rows = _sums(texts)
        possible = self._occupied[_slot(sums)]
        sums, rows = sums[possible], rows[possible]
        first, last = (np.searchsorted(self._sums, sums, side=side) for side in ("left", "right"))
        repeats = last - first
        rows = np.repeat(rows, repeats)
        within = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        owners = self._owners[np.repeat(first, repeats) + within]
        both = np.unique(np.stack([rows, owners]), axis=1)
        return both[0], both[1]


def _slot(sums: Bits) -> NDArray[np.uint64]:
    return sums >> np.uint64(64 - _SLOTS)


def _sums(texts: Sequence[str]) -> tuple[Bits, Numbers]:
    """All sums to compare, and the number of the text each belongs to."""
    block = Block([text.casefold() for text in texts])
    kinds = units()[block.codes]
    begins = kinds == 2
    begins[1:] |= (kinds[1:] == 1) & (kinds[:-1] != 1)
    begins[:1] |= kinds[:1] == 1
    word_starts = np.flatnonzero(begins)
    inside = np.flatnonzero(kinds)
    word_of = np.cumsum(begins)[inside] - 1
    letters = mix(block.codes[inside].astype(np.uint64) + ((inside - word_starts[word_of]).astype(np.uint64) << 32), ())
    words = mix(_totals(letters, np.cumsum(np.bincount(word_of, minlength=len(word_starts)))), (1,))
    text_of = np.searchsorted(block.ends, word_starts, side="right")
    counts = np.bincount(text_of, minlength=len(texts))
    totals = _totals(words, np.cumsum(counts))
    some, many = counts > 0, counts >= _FEWEST_WORDS
    shorter = many[text_of]
    return (
        np.concatenate([totals[some], (totals[text_of] - words)[shorter]]),
        np.concatenate([np.flatnonzero(some), text_of[shorter]]),
    )


def _totals(values: Bits, ends: Numbers) -> Bits:
    """Sums of the runs of values that end there, modulo 2^64."""
    running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values, dtype=np.uint64)])
    totals: Bits = np.diff(running[np.concatenate([np.zeros(1, np.int64), ends])])
    return totals
