"""Views for a terminal: text of a given width, in colour or plain.

Plain text is made to be read, or read aloud, line by line: `it → animal 0.41, tired 0.22`. In colour a map is a map.
These functions only make lines; who prints them is no concern of theirs.
"""

from collections.abc import Iterator

import numpy as np
import wcwidth

from regard.interpret.look.attention_map import AttentionMap, attention_map
from regard.interpret.look.inspection import Inspection
from regard.interpret.trace import Array
from regard.render.terminal import TerminalStyle
from regard.render.text import escape_control_characters, pad

_MOST = 5  # columns named in a line of plain text

LABEL = 22

_THUMBNAIL = 18


def heading(view: Inspection, paper: TerminalStyle) -> Iterator[str]:
    """The text, what it became, and what there is to see."""
    yield f"{paper.strong('source')}  {escape_control_characters(view.source)}"
    said = "target given" if view.score is None else f"score {view.score:.3f}"
    yield f"{paper.strong('target')}  {escape_control_characters(view.text)}  ({said})"
    if view.torch_text is not None:
        other = escape_control_characters(view.torch_text)
        yield f"CTranslate2 and torch gave different translations. Shown: CTranslate2's. Torch's: {other}"
    if view.whole_text is not None:
        yield f"Translated without {view.without}. The whole model writes: {escape_control_characters(view.whole_text)}"
    elif view.without is not None:
        yield f"Computed without {view.without}; the target is the one of the whole model."
    settings = view.trace.settings
    yield (
        f"{len(view.trace.source.ids)} source and {len(view.trace.written.ids)} target pieces; "
        f"{settings.encoder_layers} encoder and {settings.decoder_layers} decoder layers, {settings.heads} heads each"
    )


def show_map(found: AttentionMap, paper: TerminalStyle) -> Iterator[str]:
    """A map: coloured cells with their numbers, or a line for each row."""
    yield paper.strong(found.title)
    if not paper.colours:
        for index, row in enumerate(found.rows):
            yield f"{row.sentence}: {_ranked(found, index)}"
        return
    label = min(LABEL + 8, max(wcwidth.width(row.label) for row in found.rows)) + 1
    cell = max(4, min(8, (paper.width - label) // len(found.columns)))
    fit = max(1, (paper.width - label) // cell)
    for start in range(0, len(found.columns), fit):
        columns = range(start, min(start + fit, len(found.columns)))
        yield " " * label + "".join(pad(" " + found.columns[j], cell) for j in columns)
        for i, row in enumerate(found.rows):
            cells = (_cell(found, i, j, cell, paper) for j in columns)
            yield pad(row.label, label) + "".join(cells)


def _cell(found: AttentionMap, i: int, j: int, cell: int, paper: TerminalStyle) -> str:
    if found.masked[i, j]:
        return "·".center(cell)
    value = float(found.values[i, j])
    return paper.paint((f"{value:.2f}"[1:] if value < 0.995 else "1.0").center(cell), value)


def _ranked(found: AttentionMap, row: int) -> str:
    return ", ".join(f"{text} {value:.2f}" for text, value in found.ranked(row)[:_MOST])


def show_word(view: Inspection, row: int, paper: TerminalStyle, *, decoder: bool, pieces: bool) -> Iterator[str]:
    """Where one word looks: in each layer over all heads, and in each head."""
    for attention in view.trace.attentions:
        if attention.address.startswith("decoder") != decoder:
            continue
        mean = attention_map(view.trace, f"{attention.address}.mean", pieces=pieces)
        yield ""
        yield paper.strong(f"{attention.address}, mean of {view.trace.settings.heads} heads: {mean.rows[row].sentence}")
        yield from _bars(mean, row, paper)
        for head in range(1, view.trace.settings.heads + 1):
            one = attention_map(view.trace, f"{attention.address}.{head}", pieces=pieces)
            top = ", ".join(f"{text} {value:.2f}" for text, value in one.ranked(row)[:3])
            yield f"  {one.address}: {top}"


def show_row(found: AttentionMap, row: int, paper: TerminalStyle) -> Iterator[str]:
    """One row of a map."""
    yield paper.strong(f"{found.title}; {found.rows[row].sentence}")
    yield from _bars(found, row, paper)


def _bars(found: AttentionMap, row: int, paper: TerminalStyle) -> Iterator[str]:
    ranked = found.ranked(row)[:_MOST]
    if not paper.colours:
        yield f"  {', '.join(f'{text} {value:.2f}' for text, value in ranked)}"
        return
    longest = max(8, paper.width - LABEL - 12)
    for text, value in ranked:
        bar = " " * max(1, round(value * longest))
        yield f"  {pad(text, LABEL)} {value:.2f} {paper.paint(bar, 0.25 + 0.75 * value)}"


def show_all_heads(view: Inspection, paper: TerminalStyle) -> Iterator[str]:
    """Every head of every layer: small pictures, or a line each."""
    for attention in view.trace.attentions:
        heads = [view.attention(f"{attention.address}.{n}") for n in range(1, view.trace.settings.heads + 1)]
        if not paper.colours:
            yield from (_summary(one) for one in heads)
            continue
        yield paper.strong(attention.address)
        pictures = [_picture(one, paper) for one in heads]
        per_line = max(1, paper.width // (_THUMBNAIL + 2))
        for start in range(0, len(pictures), per_line):
            shown = pictures[start : start + per_line]
            yield "  ".join(f"head {start + i + 1}".ljust(width) for i, (width, _) in enumerate(shown))
            for lines in zip(*(lines for _, lines in shown), strict=True):
                yield "  ".join(lines)
        yield ""


def _summary(found: AttentionMap) -> str:
    row, column = np.unravel_index(int(np.argmax(found.values)), found.values.shape)
    sharpest = float(found.values.max(axis=1).mean())
    return (
        f"{found.address}: mean of the largest weights {sharpest:.2f}; strongest: "
        f"{found.rows[int(row)].label} looks at {found.columns[int(column)]} {found.values[row, column]:.2f}"
    )


def _picture(found: AttentionMap, paper: TerminalStyle) -> tuple[int, list[str]]:
    """A width, and lines of that width with two rows of the map in each; a large map shows the largest of its cells."""
    small = _pooled(_pooled(found.values, _THUMBNAIL).T, _THUMBNAIL).T
    if len(small) % 2:
        small = np.vstack([small, np.zeros((1, small.shape[1]), dtype=small.dtype)])
    lines = [
        "".join(paper.pixel(float(a), float(b)) for a, b in zip(small[i], small[i + 1], strict=True))
        for i in range(0, len(small), 2)
    ]
    extra = max(0, 6 - small.shape[1])  # room for the words "head 1"
    return small.shape[1] + extra, [line + " " * extra for line in lines]


def _pooled(values: Array, most: int) -> Array:
    if len(values) <= most:
        return values
    starts = np.arange(most) * len(values) // most
    return np.asarray(np.maximum.reduceat(values, starts, axis=0))
