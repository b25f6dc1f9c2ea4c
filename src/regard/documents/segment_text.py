"""The text of a segment, and where in the text each of its elements is.

The text has the characters that a reader sees. What must stay is marked as protected for the translator: `<keep>` and
`</keep>` are around it.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from regard.documents.characters import DECLARED_REFERENCE, decode
from regard.documents.elements import MarkupOptions
from regard.documents.scanner import Token
from regard.documents.segments import Item, Protected, Segment
from regard.inference.result import Range
from regard.spans.patterns import MARK_CLOSE, MARK_OPEN

_SPACES = " \t\n\r\f"

_SPACE = re.compile(f"[{_SPACES}]+")

_MAX_LABEL = 200  # characters of a protected element that the translator sees


@dataclass(eq=False, slots=True)
class Element:
    """An element of a segment, or the segment itself. `begin` and `end` are indices of the text."""

    open_tag: str
    parent: "Element | None"
    depth: int
    begin: int
    end: int = 0
    close_tag: str = ""

    def ancestor(self, depth: int) -> "Element":
        """Return the element of this depth that contains this element, or this element itself."""
        element = self
        while element.depth > depth and element.parent is not None:
            element = element.parent
        return element

    def common(self, other: "Element") -> "Element":
        """Return the smallest element that contains both."""
        first, second = self.ancestor(other.depth), other.ancestor(self.depth)
        while first is not second:
            assert first.parent is not None and second.parent is not None
            first, second = first.parent, second.parent
        return first


@dataclass(frozen=True, slots=True)
class Point:
    """Markup without text, such as an image or a comment, at a place of the text."""

    raw: str
    parent: Element
    begin: int


@dataclass
class SegmentText:
    """What the translator gets of a segment, and what it must not change."""

    root: Element
    text: str = ""
    begins: list[int] = field(default_factory=list)  # of the runs of characters that are in the same element
    owners: list[Element] = field(default_factory=list)  # of these runs
    markup: list[Element | Point] = field(default_factory=list)  # without the root, in the order of the document
    kept: dict[Range, str] = field(default_factory=dict)  # what is put in the place of a protected part of the text
    space_before: str = ""  # white space of the document that does not belong to the text
    space_after: str = ""

    def owner(self, index: int) -> Element:
        """Return the smallest element that contains a character of the text."""
        return self.owners[bisect_right(self.begins, index) - 1]

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing to translate."""
        return not any(map(str.isalnum, "".join(text for text, kept in self.parts() if not kept)))

    def parts(self) -> Iterator[tuple[str, bool]]:
        """Yield the parts of the text, and whether they are protected."""
        end = 0
        for begin, stop in self.kept:
            yield self.text[end:begin], False
            yield self.text[begin:stop], True
            end = stop
        yield self.text[end:], False

    @property
    def visible(self) -> str:
        """The text without the signs that mark what is protected."""
        return "".join(text[len(MARK_OPEN) : -len(MARK_CLOSE)] if kept else text for text, kept in self.parts())


def segment_text(segment: Segment, options: MarkupOptions) -> SegmentText:
    """Return the text of a segment."""
    return _Reader(segment, options).read()


class _Reader:
    """Reads the items of a segment one after another."""

    def __init__(self, segment: Segment, options: MarkupOptions) -> None:
        self._segment = segment
        self._options = options
        self._element = Element("", None, 0, 0)
        self._result = SegmentText(self._element)
        self._parts: list[str] = []
        self._length = 0
        self._is_after_space = True  # also true at the start

    def read(self) -> SegmentText:
        for item in self._segment.items:
            self._add(item)
        result = self._result
        result.text = "".join(self._parts)
        if not self._segment.is_preformatted:
            first, last = self._segment.items[0], self._segment.items[-1]
            if isinstance(first, Token) and first.kind == "text":
                result.space_before = first.raw[: len(first.raw) - len(first.raw.lstrip(_SPACES))]
            if result.text.endswith(" "):
                result.text = result.text[:-1]
                is_text = isinstance(last, Token) and last.kind == "text"
                result.space_after = last.raw[len(last.raw.rstrip(_SPACES)) :] if is_text else ""
        result.root.end = len(result.text)
        return result

    def _add(self, item: Item) -> None:
        if isinstance(item, Protected):
            shown = "".join(decode(one.raw, self._options.format) for one in item.content if one.kind == "text")
            if item.name == "sup":
                shown = ""  # the number of a footnote, or an exponent
            elif not shown and item.name in self._options.ignore_tags:
                shown = item.raw  # the model should see that a program puts something here
            self._protect(item.raw, shown)
        elif item.kind == "text":
            self._text(item.raw)
        elif item.kind == "cdata":
            self._write(item.raw)
        elif item.kind == "start":
            self._element = Element(item.raw, self._element, self._element.depth + 1, self._length)
            self._result.markup.append(self._element)
        elif item.kind == "end":
            self._element.end, self._element.close_tag = self._length, item.raw
            assert self._element.parent is not None
            self._element = self._element.parent
        else:
            self._result.markup.append(Point(item.raw, self._element, self._length))

    def _text(self, raw: str) -> None:
        end = 0
        if self._options.format == "xml":
            for match in DECLARED_REFERENCE.finditer(raw):
                self._write(decode(raw[end : match.start()], "xml"))
                self._protect(match[0], match[0])
                end = match.end()
        self._write(decode(raw[end:], self._options.format))

    def _write(self, text: str) -> None:
        if not self._segment.is_preformatted:
            text = _SPACE.sub(" ", text)
            if self._is_after_space:
                text = text.removeprefix(" ")
        if text:
            self._append(text)
            self._is_after_space = text.endswith(" ")

    def _append(self, text: str) -> None:
        self._result.begins.append(self._length)
        self._result.owners.append(self._element)
        self._parts.append(text)
        self._length += len(text)

    def _protect(self, raw: str, shown: str) -> None:
        label = " ".join(re.sub("[<>]", " ", shown).split())[:_MAX_LABEL]
        if not label:
            self._result.markup.append(Point(raw, self._element, self._length))
            return
        spaced = not self._segment.is_preformatted
        self._write(" " if spaced and shown[0].isspace() else "")
        begin = self._length
        self._append(f"{MARK_OPEN}{label}{MARK_CLOSE}")
        self._result.kept[begin, self._length] = raw
        self._is_after_space = False
        self._write(" " if spaced and shown[-1].isspace() else "")
