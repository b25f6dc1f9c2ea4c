"""Finds the protected spans of texts, and chooses stand-ins for them.

The stand-ins are the placeholders of the vocabulary, if the model was trained with them, and otherwise names that most
models copy, such as "Tom". If a translation does not have each stand-in exactly once, other stand-ins are tried.
"""

import re
from collections.abc import Iterator, Sequence

from regard.inference.masking.edited_text import Edited
from regard.inference.masking.groups import Group, find_groups
from regard.inference.masking.mask import Mask
from regard.spans.glossary import TERM, Glossary
from regard.spans.patterns import find_spans

# Names that models of European languages copy, in the order in which they are tried. They start with a consonant, so
# that the words before them keep their form in French and Italian.
_NAMES = ("Tom", "Boston", "Mary", "Tokyo", "John", "Berlin", "Bob", "Madrid", "Jim", "London", "Ken", "Peter")

MAX_SPANS = len(_NAMES) // 2  # a text with more spans is divided, if the vocabulary has no placeholders

_ATTEMPTS = 4

_LETTER = re.compile(r"[^\W\d_]")


class Masker:
    """Finds the spans of texts and chooses stand-ins for them."""

    def __init__(self, placeholders: Sequence[str], *, has_alignment: bool) -> None:
        """Make a masker for a model with these placeholders, and perhaps with an alignment head.

        With an alignment head, pairs of tags and terms of a glossary are placed by the alignment, because the words
        around them need no change then.
        """
        self._placeholders = placeholders
        self._has_alignment = has_alignment
        self.max_groups = len(placeholders) or MAX_SPANS

    def groups(self, text: str, glossary: Glossary | None = None, *, protect: bool = True) -> list[Group]:
        """Return the spans of a text, in groups that get one stand-in each."""
        spans = find_spans(text) if protect else []
        if glossary is not None:
            spans = sorted([*spans, *glossary.find(text, spans)], key=lambda span: span.begin)
        return find_groups(text, spans)

    def mask(self, text: str, glossary: Glossary | None = None, *, protect: bool = True) -> Mask | None:
        """Return the mask of a text, or None if it has nothing to protect."""
        groups = self.groups(text, glossary, protect=protect)
        if not groups:
            return None
        if _LETTER.search(_outside(text, groups)) is None:
            return Mask(text, tuple(groups), ())
        return Mask(text, tuple(groups), tuple(self._stand_ins(text, groups)))

    def _stand_ins(self, text: str, groups: list[Group]) -> Iterator[tuple[str | None, ...]]:
        """Yield the stand-ins of each attempt."""
        for attempt, names in enumerate(self._names(text, len(groups))):
            yield tuple(
                None if self._is_aligned(group, attempt) else name for name, group in zip(names, groups, strict=True)
            )

    def _is_aligned(self, group: Group, attempt: int) -> bool:
        """Return whether a group gets no stand-in: a tag, and a term in the first attempt."""
        if not self._has_alignment:
            return False
        return group.partner is not None or (attempt == 0 and group.spans[0].kind == TERM)

    def _names(self, text: str, count: int) -> Iterator[Sequence[str]]:
        if count <= len(self._placeholders):
            yield self._placeholders[:count]
            yield self._placeholders[-count:]
        free = [name for name in _NAMES if name not in text]
        free += [first + second.lower() for first in free for second in free][: max(0, count - len(free))]
        for attempt in range(_ATTEMPTS):
            names = [*free[attempt:], *free[:attempt]][:count]
            if len(names) == count:
                yield names


def _outside(text: str, groups: list[Group]) -> str:
    """Return the text outside of the groups."""
    return Edited.of(text, (((group.begin, group.end), " ") for group in groups)).text
