"""Divides a text into runs of letters and digits, runs of punctuation, and protected parts."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from regard.inference.result import Range

_SIGNS = r"!-/:-@\[-`{-~\xa1\xab\xb7\xbb\xbf\u2000-\u206f\u3000-\u3020\uff01-\uff0f\uff1a-\uff20"

_RUN = re.compile(rf"(?P<word>[^\s{_SIGNS}]+)|[{_SIGNS}]+")

_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Run:
    """Characters of a text that belong together, in the word with this number."""

    kind: Literal["word", "sign", "protected"]
    begin: int
    end: int
    word: int


class Runs:
    """The runs of a text. The words are separated by white space, as in a word alignment."""

    def __init__(self, text: str, protected: Sequence[Range]) -> None:
        """Divide a text; the protected ranges are in order and do not overlap."""
        self.words = [match.span() for match in _WORD.finditer(text)]
        self._word_begins = [begin for begin, _ in self.words]
        self.all = list(self._divide(text, protected))
        self._begins = [run.begin for run in self.all]
        self._contents = [run.begin for run in self.all if run.kind != "sign"]

    def _divide(self, text: str, protected: Sequence[Range]) -> Iterator[Run]:
        end = 0
        for begin, stop in (*protected, (len(text), len(text))):
            for match in _RUN.finditer(text, end, begin):
                yield Run("word" if match["word"] else "sign", match.start(), match.end(), self.word(match.start()))
            if begin < stop:
                yield Run("protected", begin, stop, self.word(begin))
            end = stop

    def word(self, index: int) -> int:
        """Return the number of the word that has a character, or of the last word before it."""
        return max(0, bisect_right(self._word_begins, index) - 1)

    def of_word(self, number: int) -> range:
        """Return the indices of the runs that overlap a word."""
        begin, end = self.words[number]
        first = bisect_right(self._begins, begin) - 1
        first += self.all[first].end <= begin
        return range(first, bisect_left(self._begins, end))

    def before(self, index: int) -> int | None:
        """Return the index of the run that has the character before an index of the text, or None."""
        number = bisect_left(self._begins, index) - 1
        return number if number >= 0 and self.all[number].end >= index else None

    def after(self, index: int) -> int:
        """Return the index of the first run that begins at an index of the text or after it."""
        return bisect_left(self._begins, index)

    def count(self, begin: int, end: int) -> int:
        """Return how many runs that are not only punctuation begin in a range of the text."""
        return bisect_left(self._contents, end) - bisect_left(self._contents, begin)
