"""Divides a line into sentences, to see whether a translation has all of them.

A model that was trained on single sentences sometimes leaves out, or merges, sentences of a longer line.
"""

import re
from collections.abc import Iterator, Sequence

from regard.inference.masking.groups import Group
from regard.inference.result import Range

# A stop with the quotation marks, brackets and tags after it, white space, and the signs before the next sentence.
_BORDER = re.compile(
    r"[.!?…](?:\s?[\"'”’»)\]]|</\w{1,50}>|\*)*(?P<space>\s+)"
    r"(?=(?:[\"'“‘«(\[¿¡*]|<\w[^<>]{0,200}>)*\s?(?P<first>[^\W\d_]))"
)

_ABBREVIATION = re.compile(
    r"(?:^|[\s.(\"'“‘«])(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Rev|Gen|Col|Capt|Jr|Sr|Inc|Ltd|Co|No|Nr|MM|Mmes|Mgr|[eE]\.g|[iI]\.e|"
    r"cf|vs|p|pp|fig|art|vol|approx|ca|env|av|bd)\.$"
)

_LONGEST_ABBREVIATION = 8


def split_sentences(text: str, groups: Sequence[Group] = ()) -> list[tuple[str, str]]:
    """Return the sentences of a text, each with the white space after it. None ends inside of a protected span.

    A sentence starts with a capital letter, so a text without capital letters is one sentence.
    """
    sentences, begin = [], 0
    kept = [_range(group, groups) for group in groups]
    for stop, end in _borders(text):
        if not any(first < end and stop < last for first, last in kept):
            sentences.append((text[begin:stop], text[stop:end]))
            begin = end
    return [*sentences, (text[begin:], "")]


def _borders(text: str) -> Iterator[Range]:
    """Yield the range of the white space between two sentences."""
    for match in _BORDER.finditer(text):
        stop = match.start() + 1
        if match["first"].isupper() and not _ABBREVIATION.search(text, max(0, stop - _LONGEST_ABBREVIATION), stop):
            yield match.span("space")


def _range(group: Group, groups: Sequence[Group]) -> Range:
    """Return the range of a span, or that from an opening tag to its closing tag."""
    if group.partner is None:
        return group.begin, group.end
    other = groups[group.partner]
    return min(group.begin, other.begin), max(group.end, other.end)
