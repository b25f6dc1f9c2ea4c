"""The words of a text and of its translation, with their places, which of them belong together, and probabilities.

Places are counted in code points, as Python does, and in UTF-16, as JavaScript, Java and C# do.
"""

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from regard.inference.result import Translation

_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Word:
    """A word, which has white space around it, and its place: the index of its start, and the index after its end."""

    text: str
    start: int
    end: int
    utf16_start: int
    utf16_end: int


def find_words(text: str) -> Iterator[Word]:
    """Yield the words of a text."""
    end = utf16_end = 0
    for match in _WORD.finditer(text):
        utf16_start = utf16_end + _utf16_length(text[end : match.start()])
        utf16_end = utf16_start + _utf16_length(match[0])
        end = match.end()
        yield Word(match[0], match.start(), end, utf16_start, utf16_end)


def _utf16_length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def target_words(translation: Translation) -> Iterator[dict[str, Any]]:
    """Yield the words of a translation, each with the numbers of the source words that it is linked to."""
    links: dict[int, list[int]] = {}
    for source, target in translation.alignment or ():
        links.setdefault(target, []).append(source)
    words = list(find_words(translation.text))
    values = translation.word_probabilities or (None,) * len(words)  # there are none if everything was copied
    for number, (word, value) in enumerate(zip(words, values, strict=True)):
        yield {**asdict(word), "probability": value, "source": links.get(number, [])}
