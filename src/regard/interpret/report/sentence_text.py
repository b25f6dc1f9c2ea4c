"""An inspection as text for a terminal of a given width, with or without colours.

Without colours, an attention map has one line for each query, such as `it: animal 0.41, tired 0.22`, which also suits a
screen reader. With colours, a map is a table of coloured cells. The functions yield lines and do not print.
"""

from collections.abc import Iterator

import numpy as np
import wcwidth

from regard.interpret.look.attention_map import AttentionMap, attention_map
from regard.interpret.look.inspection import Inspection
from regard.interpret.trace import Array
from regard.render.terminal import TerminalStyle
from regard.render.text import escape_control_characters, pad
from regard.settings.anatomy import Side

_COLUMNS_PER_LINE = 5  # the maximum number of keys listed for a query; those with the largest weights are chosen

LABEL_WIDTH = 22  # the maximum width of a token in a list, in terminal columns; longer tokens are cut

_THUMBNAIL_SIZE = 18  # the maximum number of queries and of keys in a small picture; larger maps are max-pooled


def heading(view: Inspection, style: TerminalStyle) -> Iterator[str]:
    """Yield the source, the target, the number of tokens of each, and the size of the model."""
    yield f"{style.strong('source')}  {escape_control_characters(view.source)}"
    origin = "given target" if view.score is None else f"score {view.score:.3f}"
    yield f"{style.strong('target')}  {escape_control_characters(view.text)}  ({origin})"
    if view.torch_text is not None:
        torch_text = escape_control_characters(view.torch_text)
        yield f"CTranslate2 and torch gave different translations. Shown: CTranslate2's. Torch's: {torch_text}"
    yield from show_intervention(view)
    anatomy = view.trace.anatomy
    layers = " and ".join(f"{stack.layers} {stack.name}" for stack in anatomy.stacks)
    heads = f" with {anatomy.attentions[0].heads} heads each" if anatomy.attentions else ", without attention"
    if len(anatomy.heads) == 1:
        heads = ", one attention with one head"
    yield (
        f"{len(view.trace.source.ids)} source and {len(view.trace.written.ids)} target tokens; {layers} layers{heads}"
    )


def show_intervention(view: Inspection) -> Iterator[str]:
    """Yield what was changed in the model and where the target comes from, if anything was changed."""
    intervention = view.trace.intervention
    if intervention is None:
        return
    yield f"Computed without {intervention.name}: {intervention.description}."
    if view.full_model_text is not None:
        full_model_text = escape_control_characters(view.full_model_text)
        yield f"Translated without {intervention.name}. Translation of the full model: {full_model_text}"
    elif view.search is not None:
        yield "The target is the translation of the full model."


def show_map(map_: AttentionMap, style: TerminalStyle) -> Iterator[str]:
    """Yield a map as coloured cells with weights or, without colours, as a line of text for each query."""
    yield style.strong(map_.title)
    if not style.colours:
        for index, row in enumerate(map_.rows):
            yield f"{row.description}: {_top_columns(map_, index)}"
        return
    label_width = min(LABEL_WIDTH + 8, max(wcwidth.width(row.label) for row in map_.rows)) + 1
    cell_width = max(4, min(8, (style.width - label_width) // len(map_.columns)))
    per_line = max(1, (style.width - label_width) // cell_width)
    for start in range(0, len(map_.columns), per_line):
        columns = range(start, min(start + per_line, len(map_.columns)))
        yield " " * label_width + "".join(pad(" " + map_.columns[j], cell_width) for j in columns)
        for i, row in enumerate(map_.rows):
            cells = (_cell(map_, i, j, cell_width, style) for j in columns)
            yield pad(row.label, label_width) + "".join(cells)


def _cell(map_: AttentionMap, i: int, j: int, width: int, style: TerminalStyle) -> str:
    if map_.masked[i, j]:
        return "·".center(width)
    weight = float(map_.values[i, j])
    return style.paint((f"{weight:.2f}"[1:] if weight < 0.995 else "1.0").center(width), weight)


def _top_columns(map_: AttentionMap, row: int, count: int = _COLUMNS_PER_LINE) -> str:
    return ", ".join(f"{text} {weight:.2f}" for text, weight in map_.ranked(row)[:count])


def show_word(view: Inspection, row: int, style: TerminalStyle, *, side: Side, tokens: bool) -> Iterator[str]:
    """Yield what one word of the source or target attends to.

    Each attention is shown in turn: the mean of its heads, then each head. If no attention has queries on this side,
    show which words attend to it.
    """
    attentions = [attention for attention in view.trace.attentions if attention.anatomy.queries == side]
    if not attentions:
        yield from _attended_by(view, row, style, side=side, tokens=tokens)
    for attention in attentions:
        if attention.anatomy.heads == 1:
            yield ""
            yield from show_row(view.attention(attention.anatomy.head_addresses[0], tokens=tokens), row, style)
            continue
        mean = attention_map(view.trace, f"{attention.address}.mean", tokens=tokens)
        yield ""
        yield style.strong(
            f"{attention.address}, mean of {attention.anatomy.heads} heads: {mean.rows[row].description}"
        )
        yield from _bars(mean, row, style)
        for head in attention.anatomy.head_addresses:
            map_ = attention_map(view.trace, head, tokens=tokens)
            yield f"  {map_.address}: {_top_columns(map_, row, 3)}"


def _attended_by(view: Inspection, column: int, style: TerminalStyle, *, side: Side, tokens: bool) -> Iterator[str]:
    """Yield which words attend most to one word."""
    main = view.trace.anatomy.main_attention
    yield ""
    if main is None or main.keys != side:
        yield "This model has no attention from this word and none to it."
        return
    map_ = view.attention(f"{main.address}.mean", tokens=tokens)
    weights = map_.values[:, column]
    order = np.argsort(-weights, kind="stable")[:_COLUMNS_PER_LINE]
    yield style.strong(f"{main.address}: attention to {map_.columns[column]}")
    yield from (f"  {map_.rows[row].description}: {weights[row]:.2f}" for row in order)


def show_row(map_: AttentionMap, row: int, style: TerminalStyle) -> Iterator[str]:
    """Yield what one query of a map attends to most."""
    yield style.strong(f"{map_.title}; {map_.rows[row].description}")
    yield from _bars(map_, row, style)


def _bars(map_: AttentionMap, row: int, style: TerminalStyle) -> Iterator[str]:
    if not style.colours:
        yield f"  {_top_columns(map_, row)}"
        return
    longest = max(8, style.width - LABEL_WIDTH - 12)
    for text, weight in map_.ranked(row)[:_COLUMNS_PER_LINE]:
        bar = " " * max(1, round(weight * longest))
        yield f"  {pad(text, LABEL_WIDTH)} {weight:.2f} {style.paint(bar, 0.25 + 0.75 * weight)}"


def show_all_heads(view: Inspection, style: TerminalStyle) -> Iterator[str]:
    """Yield every head of every layer as a small picture or, without colours, as a line of text."""
    for attention in view.trace.attentions:
        maps = [view.attention(head) for head in attention.anatomy.head_addresses]
        if not style.colours:
            yield from (_summary(map_) for map_ in maps)
            continue
        yield style.strong(attention.address)
        thumbnails = [_thumbnail(map_, style) for map_ in maps]
        per_line = max(1, style.width // (_THUMBNAIL_SIZE + 2))
        for start in range(0, len(thumbnails), per_line):
            shown = thumbnails[start : start + per_line]
            yield "  ".join(f"head {start + i + 1}".ljust(width) for i, (width, _) in enumerate(shown))
            for lines in zip(*(lines for _, lines in shown), strict=True):
                yield "  ".join(lines)
        yield ""


def _summary(map_: AttentionMap) -> str:
    row, column = np.unravel_index(int(np.argmax(map_.values)), map_.values.shape)
    sharpness = float(map_.values.max(axis=1).mean())
    return (
        f"{map_.address}: mean of the largest weights {sharpness:.2f}; strongest: "
        f"{map_.rows[int(row)].label} attends to {map_.columns[int(column)]} {map_.values[row, column]:.2f}"
    )


def _thumbnail(map_: AttentionMap, style: TerminalStyle) -> tuple[int, list[str]]:
    """Return the width and the lines of a small picture of a map.

    Each line shows two queries, one above the other.
    """
    small = _max_pooled(_max_pooled(map_.values, _THUMBNAIL_SIZE).T, _THUMBNAIL_SIZE).T
    if len(small) % 2:
        small = np.vstack([small, np.zeros((1, small.shape[1]), dtype=small.dtype)])
    lines = [
        "".join(style.pixel(float(a), float(b)) for a, b in zip(small[i], small[i + 1], strict=True))
        for i in range(0, len(small), 2)
    ]
    extra = max(0, 6 - small.shape[1])  # space for the heading "head 1"
    return small.shape[1] + extra, [line + " " * extra for line in lines]


def _max_pooled(values: Array, size: int) -> Array:
    if len(values) <= size:
        return values
    starts = np.arange(size) * len(values) // size
    return np.asarray(np.maximum.reduceat(values, starts, axis=0))
