"""Translators for tests: each word becomes one word, whose place is known, so that the result is known too."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from regard.inference.result import PlacedSpan, Translation

_UNIT = re.compile(r"((?:<keep>[^<\n]*</keep>|[^\s])+)")
_KEEP = re.compile(r"<keep>([^<\n]*)</keep>")


def translate_words(
    texts: Sequence[str], change: Callable[[str], str] = str, *, is_reversed: bool = False
) -> list[Translation]:
    """Translate each word by `change`, in the order of the words or in reverse. Protected parts stay."""
    return [_translate(text, change, is_reversed=is_reversed) for text in texts]


def _translate(text: str, change: Callable[[str], str], *, is_reversed: bool) -> Translation:
    units = [(match[0], match.start()) for match in _UNIT.finditer(text)]
    spaces = re.split(_UNIT, text)[::2]
    firsts, count = [], 0  # for each unit, the number of its first word
    for unit, _ in units:
        firsts.append(count)
        count += len(unit.split())
    order = list(range(len(units)))
    if is_reversed:
        order.reverse()
    target, links, spans, words = spaces[0], [], [], 0
    for number, space in zip(order, spaces[1:], strict=True):
        unit, begin = units[number]
        end = 0
        start = len(target)
        for match in _KEEP.finditer(unit):
            target += change(unit[end : match.start()])
            source = (begin + match.start(), begin + match.end())
            spans.append(PlacedSpan("marked", match[1], source, (len(target), len(target) + len(match[1])), "model"))
            target += match[1]
            end = match.end()
        target += change(unit[end:])
        source_words = len(unit.split())
        written = len(target[start:].split())
        links += [(firsts[number] + min(word, source_words - 1), words + word) for word in range(written)]
        words += written
        target += space
    return Translation(text, target, None, None, (), alignment=tuple(links), spans=tuple(spans))


def identity(texts: Sequence[str]) -> list[Translation]:
    return translate_words(texts)


def upper(texts: Sequence[str]) -> list[Translation]:
    return translate_words(texts, str.upper)


def backwards(texts: Sequence[str]) -> list[Translation]:
    """Translate from the last word to the first, in capitals."""
    return translate_words(texts, str.upper, is_reversed=True)


def unaligned(texts: Sequence[str]) -> list[Translation]:
    return [replace(one, alignment=None) for one in backwards(texts)]
