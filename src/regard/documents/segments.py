"""Divides the tokens of a document into segments, which are translated as one text each, and what is between them.

A tag separates segments if its element does, if its element has no end, or if its element has such a tag inside. So
all elements of a segment begin and end in it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from regard.documents.characters import decode
from regard.documents.elements import OPTIONAL_END, MarkupOptions, Splits, is_protected, splitting
from regard.documents.scanner import Format, Token

MAX_DEPTH = 32  # a tag that is inside of more elements separates segments

_MAX_SUPERSCRIPT = 8  # tokens


@dataclass(frozen=True, slots=True)
class Protected:
    """An element inside of a sentence that is not translated."""

    raw: str
    name: str
    content: tuple[Token, ...]  # without its tags


Item = Token | Protected


@dataclass(frozen=True)
class Segment:
    """Neighbouring tokens that are translated as one text."""

    items: tuple[Item, ...]
    is_preformatted: bool  # whether line breaks and repeated spaces are kept

    @property
    def raw(self) -> str:
        """The segment as it is written in the document."""
        return "".join(item.raw for item in self.items)


def divide(tokens: Sequence[Token], options: MarkupOptions) -> Iterator[Segment | str]:
    """Yield the segments of a document, and the markup between them."""
    keeps_space = options.format == "xml" if options.collapse_space is None else not options.collapse_space
    run: list[Item] = []
    open_pre = 0
    for item, separates in _separated(tokens, options):
        if separates and run:
            yield Segment(tuple(run), keeps_space or open_pre > 0)
            run = []
        if isinstance(item, Token) and item.name == "pre":
            open_pre = max(0, open_pre + {"start": 1, "end": -1}.get(item.kind, 0))
        if isinstance(item, Token) and item.kind == "cdata":
            yield item.raw[: len("<![CDATA[")]
            yield Segment((Token("cdata", item.raw[len("<![CDATA[") : -len("]]>")]),), keeps_space)
            yield item.raw[-len("]]>") :]
        elif separates:
            yield item.raw
        else:
            run.append(item)
    if run:
        yield Segment(tuple(run), keeps_space or open_pre > 0)


def _separated(tokens: Sequence[Token], options: MarkupOptions) -> Iterator[tuple[Item, bool]]:
    """Yield each token and each protected element, and whether it separates segments."""
    partners, ends = _match(tokens, options.format)
    splits = splitting(tokens, partners, options)
    items = list(_items(tokens, ends, options))
    separating = _separating(items, partners, splits)
    for index, item in items:
        yield item, index in separating


def _match(tokens: Sequence[Token], markup: Format) -> tuple[dict[int, int], dict[int, int]]:
    """Return the partner of each tag that has one, and for each start tag the index after its element."""
    partners: dict[int, int] = {}
    ends: dict[int, int] = {}
    open_tags: list[int] = []
    names: Counter[str] = Counter()  # of the open elements

    def close(index: int) -> int:
        start = open_tags.pop()
        names[tokens[start].name] -= 1
        ends[start] = index
        return start

    for index, token in enumerate(tokens):
        if token.kind == "start":
            is_optional = markup == "html" and token.name in OPTIONAL_END
            if is_optional and open_tags and tokens[open_tags[-1]].name == token.name:
                close(index)
            open_tags.append(index)
            names[token.name] += 1
        elif token.kind == "end" and names[token.name]:
            while tokens[open_tags[-1]].name != token.name:
                close(index)
            start = close(index + 1)
            partners[start], partners[index] = index, start
    while open_tags:
        close(len(tokens))
    return partners, ends


def _items(tokens: Sequence[Token], ends: dict[int, int], options: MarkupOptions) -> Iterator[tuple[int, Item]]:
    """Yield each token with its index; an element that is not translated becomes one item."""
    index = 0
    while index < len(tokens):
        token, end = tokens[index], index + 1
        item: Item = token
        if token.kind == "start":
            some = tokens[index : min(ends[index], index + _MAX_SUPERSCRIPT + 1)]
            if is_protected(token, options) or _is_superscript(some, options):
                end = ends[index]
                inside = tokens[index:end]
                content = inside[1:-1] if inside[-1].name == token.name else inside[1:]
                item = Protected("".join(one.raw for one in inside), token.name, tuple(content))
        elif token.kind == "empty" and token.name in options.ignore_tags:
            item = Protected(token.raw, token.name, ())
        yield index, item
        index = end


def _is_superscript(tokens: Sequence[Token], options: MarkupOptions) -> bool:
    """Return whether some tokens are an element with a number or a sign, such as that of a footnote or an exponent."""
    if options.format != "html" or tokens[0].name != "sup" or len(tokens) > _MAX_SUPERSCRIPT:
        return False
    return not any(map(str.isalpha, "".join(decode(one.raw, "html") for one in tokens if one.kind == "text")))


def _separating(items: Iterable[tuple[int, Item]], partners: dict[int, int], splits: Splits) -> set[int]:
    """Return the indices of the items that separate segments."""
    found: set[int] = set()
    open_tags: list[int] = []
    for index, item in items:
        if isinstance(item, Token) and item.kind in ("start", "end"):
            separates = index not in partners or partners[index] in found or splits(index, item.name)
            separates |= item.kind == "start" and len(open_tags) >= MAX_DEPTH
        else:
            separates = _is_separating(index, item, splits)
        if separates:
            found.add(index)
            found.update(open_tags)
            open_tags.clear()
        elif isinstance(item, Token) and item.kind == "start":
            open_tags.append(index)
        elif isinstance(item, Token) and item.kind == "end":
            open_tags.pop()
    return found


def _is_separating(index: int, item: Item, splits: Splits) -> bool:
    if isinstance(item, Token) and item.kind in ("text", "hidden"):
        return False
    return (isinstance(item, Token) and item.kind == "cdata") or splits(index, item.name)
