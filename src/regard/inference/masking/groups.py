"""Groups of protected spans: spans with nothing but punctuation between them get one stand-in."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from regard.inference.result import PlacedBy, PlacedSpan
from regard.spans.glossary import TERM
from regard.spans.patterns import Span

_JOINABLE = re.compile(r"[^\w\n.!?]{0,3}")

_TAG_NAME = re.compile(r"</?([A-Za-z][^\s/>]*)")

_EMPHASIS = ("*", "**")  # of Markdown; the same sign opens and closes it

_AROUND = {"(": ")", '"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "„": "“"}

_BRACKETS = {**_AROUND, "[": "]"}


@dataclass(frozen=True)
class Group:
    """One span, or several with nothing but punctuation between them.

    Quotation marks and brackets around the group belong to it.
    """

    begin: int
    end: int
    text: str  # as it stands in the translation
    spans: tuple[Span, ...]
    partner: int | None = None  # of an opening tag, the index of the group of its closing tag, and the other way round

    @property
    def is_tag(self) -> bool:
        return self.spans[0].kind == "tag"

    @property
    def is_closing(self) -> bool:
        return self.is_tag and self.spans[0].text.startswith(("</", "]("))

    def placed(self, begin: int, placed_by: PlacedBy) -> Iterable[PlacedSpan]:
        """Return the place of each span, if the text of the group begins at this index of the translation."""
        end = self.begin
        for span in self.spans:
            begin += span.begin - end
            yield PlacedSpan(span.kind, span.text, (span.begin, span.end), (begin, begin + len(span.text)), placed_by)
            begin += len(span.text)
            end = span.end


def find_groups(text: str, spans: list[Span]) -> list[Group]:
    """Return the spans of a text in groups, from left to right."""
    groups: list[list[Span]] = []
    for span in spans:
        if groups and not {TERM, "tag"} & {span.kind, groups[-1][-1].kind} and _may_join(text, groups[-1][-1], span):
            groups[-1].append(span)
        else:
            groups.append([span])
    return _with_partners([_group(text, group) for group in groups])


def _may_join(text: str, last: Span, span: Span) -> bool:
    """Return whether there is only punctuation between two spans, and no bracket that is closed elsewhere."""
    between = _JOINABLE.fullmatch(text, last.end, span.begin)
    return between is not None and all(
        text.startswith(_AROUND[sign], span.end) for sign in between[0] if sign in _AROUND
    )


def _group(text: str, spans: list[Span]) -> Group:
    begin, end = spans[0].begin, spans[-1].end
    between = "".join(text[first.end : second.begin] for first, second in pairwise(spans))
    if any(
        between.count(opening) > between.count(closing) for opening, closing in _BRACKETS.items() if opening != closing
    ):
        end += 1  # a bracket that was opened between the spans and is closed after them
    before, after = text[max(0, begin - 1) : begin], text[end : end + 1]
    if before and _AROUND.get(before) == after and spans[0].kind not in (TERM, "tag"):
        begin, end = begin - 1, end + 1
    return Group(begin, end, _group_text(text, begin, end, spans), tuple(spans))


def _with_partners(groups: list[Group]) -> list[Group]:
    """Connect each opening tag with its closing tag."""
    open_tags: list[tuple[str, int]] = []
    for number, group in enumerate(groups):
        if not group.is_tag or group.text.endswith("/>"):
            continue
        name = _tag_name(group.text)
        opens = open_tags[-1][0] != name if name in _EMPHASIS and open_tags else not group.is_closing
        if opens:
            open_tags.append((name, number))
        elif open_tags and open_tags[-1][0] == name:
            _, other = open_tags.pop()
            groups[number] = replace(group, partner=other)
            groups[other] = replace(groups[other], partner=number)
    return groups


def _tag_name(tag: str) -> str:
    """Return the name that an opening tag and its closing tag have in common."""
    found = _TAG_NAME.match(tag)
    return found[1] if found else tag if tag in _EMPHASIS else "["


def _group_text(text: str, begin: int, stop: int, spans: list[Span]) -> str:
    end, parts = begin, []
    for span in spans:
        parts += [text[end : span.begin], span.text]
        end = span.end
    return "".join([*parts, text[end:stop]])
