"""Prepares sentence pairs from which a model learns to copy placeholders.

Spans that stand on both sides become placeholders in every pair. Most corpora have few of them, so some other pairs get
placeholders too: in place of a name or a number that stands on both sides, or added at the start or at the end of both
sides. The choice depends only on the seed and on the pair.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random

from regard.spans.patterns import Span, find_spans

# The shares of pairs that get made-up placeholders: of those with a common name or number, and of the others.
_SHARE_REPLACED, _SHARE_ADDED = 0.5, 0.15

_SHARE_OF_WORDS = 0.8  # of the common words of a pair that is chosen

_SHARE_DOUBLED = 0.1  # of the placeholders are followed by a second one

_COMMON_WORD = re.compile(r"(?<![\w'’-])(?:[^\W\d_a-zà-öø-ÿ]\w+|\d+)(?![\w'’-])")  # a capitalised word, or a number

# Texts with a placeholder at the start, in the place of {0}, and at the end of the sentence {1} with the stop {2}.
_FRAMES = ("{0} {1}{2}", "{0}: {1}{2}", "{0}, {1}{2}", "{1}{2} {0}", "{1} {0}{2}", "{1} ({0}){2}", "{1}: {0}{2}")

_STOP = re.compile(r"\s?[.!?…]*$")


def mask_pair(source: str, target: str, placeholders: Sequence[str], key: str) -> tuple[str, str] | None:
    """Return a pair with placeholders, or None if this pair gets none. `key` identifies the pair, and has the seed."""
    random = Random(key)
    free = random.sample(placeholders, len(placeholders))
    common = _common_spans(source, target)
    if common:
        names = {text: free[index] for index, text in enumerate(common[: len(free)])}
        return _replace_spans(source, names), _replace_spans(target, names)
    words = _common_words(source, target)
    if words:
        if random.random() >= _SHARE_REPLACED:
            return None
        chosen = [word for word in words if random.random() < _SHARE_OF_WORDS] or words[:1]
        stand_ins = {word: _stand_in(free, random) for word in chosen if len(free) > 1}
        source, target = (
            _COMMON_WORD.sub(lambda word: stand_ins.get(word[0], word[0]), text) for text in (source, target)
        )
        return source, target
    if random.random() >= _SHARE_ADDED or len(free) < 2:
        return None
    frame, stand_in = random.choice(_FRAMES), _stand_in(free, random)
    return _frame(frame, stand_in, source), _frame(frame, stand_in, target)


def _stand_in(free: list[str], random: Random) -> str:
    """Take one or two of the free placeholders."""
    first = free.pop()
    if free and random.random() < _SHARE_DOUBLED:
        return first + random.choice((" ", ", ", " / ")) + free.pop()
    return first


def _frame(frame: str, stand_in: str, text: str) -> str:
    stop = _STOP.search(text)[0]  # type: ignore[index]
    return frame.format(stand_in, text[: len(text) - len(stop)], stop)


def _common_spans(source: str, target: str) -> list[str]:
    """Return the texts of the spans that both sides have equally often."""
    spans = _texts(find_spans(source))
    if not spans:
        return []
    others = Counter(_texts(find_spans(target)))
    return [text for text, count in Counter(spans).items() if others[text] == count]


def _texts(spans: Iterable[Span]) -> list[str]:
    return [span.text for span in spans]


def _replace_spans(text: str, names: dict[str, str]) -> str:
    parts, end = [], 0
    for span in find_spans(text):
        if span.text in names:
            parts += [text[end : span.begin], names[span.text]]
            end = span.end
    return "".join([*parts, text[end:]])


def _common_words(source: str, target: str) -> list[str]:
    """Return the names and numbers that stand exactly once on each side."""
    words, others = (Counter(_COMMON_WORD.findall(text)) for text in (source, target))
    return [word for word, count in words.items() if count == 1 and others[word] == 1]
