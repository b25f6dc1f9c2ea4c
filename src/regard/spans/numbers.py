"""Finds numbers of a source text that are missing in its translation.

Numbers are equal if they have the same digits. Points, commas, apostrophes and spaces between digits are ignored,
because languages write them differently ("1,234.5" is "1 234,5" in French). A time or a date is several numbers.
Leading zeros do not count, and "3 pm" may become "15 h". Numbers that are written as words are not compared.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Range = tuple[int, int]  # the index of the first character, and the index after the last one

_NUMBER = re.compile(r"\d{1,3}(?:[.,'’\u00a0\u202f ]\d{3})+(?!\d)(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)?")

_DIGITS = re.compile(r"\d+")

_AFTERNOON = re.compile(r"\s?[Pp]\.?[Mm]\b")


@dataclass(frozen=True)
class MissingNumber:
    """A number of the source that the translation does not have, and perhaps the number that it has instead."""

    source: Range
    target: Range | None


@dataclass(frozen=True)
class _Number:
    text: str
    range: Range
    is_afternoon: bool

    @property
    def digits(self) -> str:
        return _canonical("".join(_DIGITS.findall(self.text)))

    @property
    def parts(self) -> list[str]:
        return [_canonical(part) for part in _DIGITS.findall(self.text)]


def missing_numbers(
    source: str, target: str, source_spans: Sequence[Range] = (), target_spans: Sequence[Range] = ()
) -> list[MissingNumber]:
    """Return the numbers of a source that its translation does not have; numbers inside of the spans do not count."""
    wanted = list(_numbers(source, source_spans))
    if not wanted:
        return []
    there = list(_numbers(target, target_spans))
    counts = Counter(part for number in there for part in {number.digits, *number.parts})
    has_afternoon = any(number.is_afternoon for number in there)
    lost = [number for number in wanted if not _take(number, counts, has_afternoon=has_afternoon)]
    if not lost:
        return []
    known = {part for number in wanted for part in (number.digits, *number.parts)}
    others = iter([number.range for number in there if number.digits not in known and not known & {*number.parts}])
    return [MissingNumber(number.range, next(others, None)) for number in lost]


def count_numbers(text: str, spans: Sequence[Range] = ()) -> int:
    """Return how many numbers a text has outside of the spans."""
    return sum(1 for _ in _numbers(text, spans))


def _numbers(text: str, spans: Sequence[Range]) -> Iterator[_Number]:
    remaining = iter(sorted(spans))
    span = next(remaining, None)
    for match in _NUMBER.finditer(text):
        while span is not None and span[1] <= match.start():
            span = next(remaining, None)
        if span is None or match.end() <= span[0]:
            yield _Number(match[0], match.span(), _AFTERNOON.match(text, match.end()) is not None)


def _canonical(digits: str) -> str:
    return digits.lstrip("0") or "0"


def _take(number: _Number, counts: Counter[str], *, has_afternoon: bool) -> bool:
    """Return whether the translation has the number, and count it as used."""
    choices = [[number.digits], number.parts]
    if len(number.digits) <= 2:
        hour = int(number.digits)
        if number.is_afternoon and hour < 12:
            choices.append([str(hour + 12)])
        elif has_afternoon and 12 < hour < 24:
            choices.append([str(hour - 12)])
    for choice in choices:
        if all(counts[part] for part in choice):
            counts.subtract(choice)
            return True
    return False
