"""Divides a line into what is translated and what stays as it is: indentation, list markers, wide spaces, emoji, tags.

A model that was trained on plain sentences would lose most of this.
"""

import re
from collections.abc import Iterable, Iterator

from regard.spans.patterns import SYMBOL, SYMBOL_PART, find_spans

_FENCE = re.compile(r"\s*(`{3,}(?=[^`]*$)|~{3,})")  # before a block of code, as in Markdown

# The indentation of a line, and the signs of a list, a heading or a quotation.
_LINE_START = re.compile(r"\s*(?:(?:[-*+•‣◦–—]|>+|\d{1,3}[.)]|[a-z]\)|#{1,6}|\[[ xX]\])\s+)*")

# In a row of a Markdown table. A match begins only where white space begins, so the time is linear in the white space.
_CELL_BORDER = re.compile(r"(?<!\s)\s*+\|\s*|(?<=\s)\|\s*")

# White space that a model would not keep: a tab, several spaces after a sentence, still more spaces between columns, or
# a line break as it is written in programs.
_WIDE_SPACE = r"(?:\s*\\[nrt](?![a-z]))+\s*|(?:[^\S\n]*\t|(?<=[.!?…:;\"'»)])[^\S\n]{2}|[^\S\n]{3})[^\S\n]*"

_BORDER = re.compile(_WIDE_SPACE)

_SYMBOLS = re.compile(rf"[{SYMBOL}{SYMBOL_PART}\s]*+")

_NO_SMALL_LETTER = r"(?![a-zß-ÿ])"  # what follows may be a sentence of its own

_BORDER_OR_SYMBOLS = re.compile(rf"{_WIDE_SPACE}|(?<=[.!?…])\s*[{SYMBOL}][{SYMBOL}{SYMBOL_PART}\s]*+{_NO_SMALL_LETTER}")

_MAY_START_SENTENCE = re.compile(_NO_SMALL_LETTER)

_OPENING_TAG = re.compile(
    r"<(?!(?:keep|code|kbd|samp|var|pre|script|style)\b)([A-Za-z][\w:-]{0,50})(?:\s[^<>]*)?(?<!/)>\s*"
)

# A tag of HTML that stands around lines or between them. Its other half may be in another line.
_BLOCK_TAG = re.compile(
    r"\s*</?(?:p|div|h[1-6]|[uod]l|li|d[td]|t[drh]|table|blockquote|section|article|body|br|hr)\b[^<>]*>\s*",
    re.IGNORECASE,
)

# A tag without content that touches the text after it, or before it. After a space, it may stand for a word.
_EMPTY_TAG = r"<[A-Za-z][\w:-]{0,50}(?:\s[^<>]*)?/>"
_FIRST_TAG = re.compile(rf"{_EMPTY_TAG}{_NO_SMALL_LETTER}(?!\s)")
_LAST_TAG = re.compile(rf"(?<!\s){_EMPTY_TAG}")

_COMMAND = re.compile(r"\s*\$ [A-Za-z./~]")  # of a shell, after its prompt

_MAX_LAYERS = 8  # of tags and emoji around a text; what is further inside is treated as part of the sentence


def mark_code(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it belongs to a block of code, with the fences before and after the block."""
    fence = ""  # of the block of code around the line, if there is one
    for line in lines:
        opening = None if fence else _FENCE.match(line)
        yield line, bool(fence or opening)
        is_end = fence and line.strip().startswith(fence) and not line.strip().strip(fence[0])
        fence = opening[1] if opening else "" if is_end else fence


def divide_line(line: str, *, protect: bool = True) -> Iterator[tuple[str, str]]:
    """Yield the texts to translate, each with what stands after it; the first text may be empty.

    Without `protect`, emoji and tags are parts of the texts.
    """
    if not line.strip():
        yield line, ""
        return
    if protect and _COMMAND.match(line):
        yield "", line
        return
    begin = _LINE_START.match(line).end()  # type: ignore[union-attr]
    end = max(begin, len(line.rstrip()))
    if protect:
        begin, end = _without_edges(line, begin, end)
    if begin == end:
        yield "", line
        return
    if begin:
        yield "", line[:begin]
    is_row = line[begin] == "|" == line[end - 1]
    borders = _CELL_BORDER if is_row else _BORDER_OR_SYMBOLS if protect else _BORDER
    for border in _outside_of_spans(list(borders.finditer(line, begin, end)), line, protect=protect):
        yield line[begin : border.start()], border[0]
        begin = border.end()
    yield line[begin:end], line[end:]


def _outside_of_spans(borders: list[re.Match[str]], line: str, *, protect: bool) -> Iterator[re.Match[str]]:
    """Yield the borders that do not divide a protected span."""
    spans = iter(find_spans(line) if borders and protect else [])
    span = next(spans, None)
    for border in borders:
        while span is not None and span.end <= border.start():
            span = next(spans, None)
        # A border may itself consist of spans, such as emoji.
        if span is None or border.end() <= span.begin or (border.start() <= span.begin and span.end <= border.end()):
            yield border


def _without_edges(line: str, begin: int, end: int) -> tuple[int, int]:
    """Return the range of a line without the tags around all of it, and without emoji at its start and its end."""
    for _ in range(_MAX_LAYERS):
        before = begin, end
        begin, end = _without_tags(line, begin, end)
        symbols = _SYMBOLS.match(line, begin, end)
        if symbols and _MAY_START_SENTENCE.match(line, symbols.end(), end):
            begin = symbols.end()
        end -= len(_SYMBOLS.match(line[begin:end][::-1])[0])  # type: ignore[index]
        if (begin, end) == before or begin == end:
            break
    return begin, end


def _without_tags(line: str, begin: int, end: int) -> tuple[int, int]:
    if found := _BLOCK_TAG.match(line, begin, end):
        begin = found.end()
    if line[begin:end].endswith(">") and _BLOCK_TAG.fullmatch(line, last := line.rfind("<", begin, end), end):
        end = begin + len(line[begin:last].rstrip())
    if first := _FIRST_TAG.match(line, begin, end):
        begin = first.end()
    if line[begin:end].endswith("/>") and _LAST_TAG.fullmatch(line, last := line.rfind("<", begin, end), end):
        end = last
    opening = _OPENING_TAG.match(line, begin, end)
    if opening and line.endswith(closing := f"</{opening[1]}>", opening.end(), end):
        inner = line[opening.end() : end - len(closing)].rstrip()
        if f"<{opening[1]}" not in inner and closing not in inner:
            return opening.end(), opening.end() + len(inner)
    return begin, end
