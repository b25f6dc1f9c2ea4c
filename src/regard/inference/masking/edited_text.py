"""A text in which some ranges were replaced, and what has become of its words."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from regard.inference.result import Range

_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Edited:
    """A text in which some ranges were replaced, with the place of each replacement."""

    before: str
    text: str
    replaced: tuple[tuple[Range, Range], ...]  # for each replacement: its range in the text before, and in this text

    @classmethod
    def of(cls, before: str, replacements: Iterable[tuple[Range, str]]) -> "Edited":
        """Replace the ranges, which are in order and do not overlap."""
        parts, replaced, end, length = [], [], 0, 0
        for (begin, stop), new in replacements:
            parts += [before[end:begin], new]
            length += begin - end
            replaced.append(((begin, stop), (length, length + len(new))))
            length += len(new)
            end = stop
        return cls(before, "".join([*parts, before[end:]]), tuple(replaced))

    def words(self) -> list[list[int]]:
        """Return, for each word of the text before, the numbers of the words of this text that it has become."""
        ranges = [match.span() for match in _WORD.finditer(self.text)]
        words: list[list[int]] = []
        number = 0
        for match in _WORD.finditer(self.before):
            begin, end = self._range(*match.span())
            while number < len(ranges) and ranges[number][1] <= begin:
                number += 1
            last = number
            while last < len(ranges) and ranges[last][0] < end:
                last += 1
            words.append(list(range(number, last)))
        return words

    def _range(self, begin: int, end: int) -> Range:
        """Return the range in this text of a word of the text before; a word has all or nothing of a replacement."""
        shift_begin = shift_end = 0
        for (old_begin, old_end), (_, new_end) in self.replaced:
            if old_begin >= end:
                break
            shift_end = new_end - old_end
            if old_end <= begin:
                shift_begin = shift_end
        return begin + shift_begin, end + shift_end
