"""Drawings of a model as text and as SVG, like Figure 1 of "Attention Is All You Need", with the model's own shapes."""

import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod

from regard.render.svg import svg
from regard.render.terminal import TerminalStyle
from regard.settings.anatomy import ENCODER_OUTPUT, Stack, Sublayer
from regard.settings.model import ModelSettings

_MIN_WIDTH = 78  # the minimum terminal width, in columns, to draw encoder and decoder side by side

_BOX = 36  # the width of a box in columns

_COLUMN = 340  # the distance of two stacks in the SVG drawing

_TOKENS = {"source": "source tokens", "target": "target tokens so far"}


def draw_model(settings: ModelSettings, shapes: Mapping[str, tuple[int, ...]], style: TerminalStyle) -> Iterator[str]:
    """Yield a drawing of the stacks, then every kind of parameter with its shape and number of elements."""
    stacks = settings.anatomy().stacks
    fits = len(stacks) == 2 and style.colours and style.width >= _MIN_WIDTH
    yield from (_side_by_side(settings, *stacks) if fits else _in_sequence(settings, stacks))
    yield f"{settings.describe()} At most {settings.max_positions} tokens."
    yield ""
    grouped = _grouped(shapes)
    name_width = max(42, *(len(name) + 1 for name in grouped))
    shape_width = max(18, *(len(shape) + 1 for shape, _, _ in grouped.values()))
    yield style.strong(f"{'parameters':<{name_width}}{'shape':>{shape_width}}{'times':>6}{'elements':>14}")
    for name, (shape, size, times) in grouped.items():
        yield f"{name:<{name_width}}{shape:>{shape_width}}{times:>6}{size * times:>14,}"
    yield f"{'total':<{name_width}}{sum(map(prod, shapes.values())):>{shape_width + 20},}"


def _in_sequence(settings: ModelSettings, stacks: Sequence[Stack]) -> Iterator[str]:
    for stack in stacks:
        yield f"input of the {stack.name}, {_TOKENS[stack.side]}: {stack.input}, {settings.width} numbers per token"
        after = f"; after the last layer: {'; '.join(map(_line, stack.after))}" if stack.after else ""
        yield f"{stack.name}, {stack.layers} layers, each with: {'; '.join(map(_line, stack.sublayers))}{after}"
    yield f"output: probabilities of {settings.target_vocab_size} tokens"


def _side_by_side(settings: ModelSettings, source: Stack, target: Stack) -> Iterator[str]:
    gap = 6
    shift = " " * (_BOX + gap)
    yield shift + f"probabilities of {settings.target_vocab_size} tokens".center(_BOX)
    yield shift + "▲".center(_BOX)
    above = [line for one in reversed(target.after) for line in (*_boxed("", [one]), "▲".center(_BOX))]
    left, right = (
        _boxed(f"{stack.name}, {stack.layers} layers", list(reversed(stack.sublayers))) for stack in (source, target)
    )
    receiving = [None, *(one for after in reversed(target.after) for one in (after, None, None, None))]
    receiving += [*reversed(target.sublayers), None]
    for index, line in enumerate([*above, *right]):
        one = receiving[index]
        arrow = "──▶" if one and one.receives else ""  # from the encoder to the decoder
        below = index - len(above)
        source_line = left[below] if 0 <= below < len(left) else ("▲" if below == len(left) else "").center(_BOX)
        if below < 0 and one and one.receives:
            source_line = f"┌{'─' * (_BOX // 2)}".rjust(_BOX)
            arrow = arrow.rjust(gap - 1, "─")
        elif below < 0 and any(earlier and earlier.receives for earlier in receiving[:index]):
            source_line = " " * (_BOX // 2 - 1) + "│" + " " * (_BOX // 2)
        yield f"{source_line}{arrow.ljust(gap) if arrow.startswith('────') else arrow.center(gap)}{line}"
    yield f"{'│'.center(_BOX)}{' ' * gap}{'▲'.center(_BOX)}".rstrip()
    for left_text, right_text in (
        (f"{source.input}, width {settings.width}", f"{target.input}, width {settings.width}"),
        (_TOKENS["source"], _TOKENS["target"]),
    ):
        yield f"{left_text.center(_BOX)}{' ' * gap}{right_text.center(_BOX)}".rstrip()
    yield ""


def _line(sublayer: Sublayer) -> str:
    """Return a description of a sublayer in one line."""
    title = sublayer.title if sublayer.title.isupper() else sublayer.title.lower()
    return f"{title}, {sublayer.detail}"


def _boxed(title: str, sublayers: Sequence[Sublayer]) -> list[str]:
    top = f"┌ {title} " + "─" * (_BOX - len(title) - 4) + "┐" if title else "┌" + "─" * (_BOX - 2) + "┐"
    lines = [_line(one)[: _BOX - 4] for one in sublayers]
    return [top, *(f"│ {line:<{_BOX - 4}} │" for line in lines), "└" + "─" * (_BOX - 2) + "┘"]


def _grouped(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[str, int, int]]:
    """Return, for each kind of module, its parameter shapes, its number of parameters, and how often it occurs."""
    modules: dict[str, list[tuple[int, ...]]] = {}
    for name, shape in shapes.items():
        modules.setdefault(name.rpartition(".")[0], []).append(shape)
    by_kind: dict[str, dict[str, tuple[str, int]]] = {}
    for module, module_shapes in modules.items():
        kind = re.sub(r"\.\d+\.", ".N.", module)
        kind = re.sub(r"(query|key|value|output)$", "query, key, value, output", kind)
        kind = re.sub(r"\w+_norm$", "norms", kind)
        text = " + ".join(" × ".join(map(str, shape)) for shape in module_shapes)
        by_kind.setdefault(kind, {})[module] = (text, sum(map(prod, module_shapes)))
    grouped: dict[str, tuple[str, int, int]] = {}
    for kind, sizes in by_kind.items():
        if len(set(sizes.values())) == 1:
            grouped[kind] = (*next(iter(sizes.values())), len(sizes))
        else:
            grouped |= {module: (*size, 1) for module, size in sizes.items()}
    return grouped


def model_svg(settings: ModelSettings, source: int | None = None, target: int | None = None) -> str:
    """Return an SVG drawing of the stacks with the shapes of their vectors.

    `source` and `target` are the lengths in tokens; without them, the shapes have the letters S and T.
    """
    lengths = {"source": str(source or "S"), "target": str(target or "T")}
    stacks = settings.anatomy().stacks
    last = stacks[-1]
    arrows = [one for one in (*last.sublayers, *last.after) if one.receives]
    column = _COLUMN + 90 * (len(stacks) == 2 and any(one.receives != ENCODER_OUTPUT for one in arrows))
    bottom = 126 + 58 * len(last.sublayers) + 74 * len(last.after)
    elements: list[str] = []
    for number, stack in enumerate(stacks):
        elements += _stack(40 + column * number, bottom, stack, f"{lengths[stack.side]} × {settings.width}")
    right = 40 + column * (len(stacks) - 1)
    if len(stacks) == 2:
        elements += _arrows(right, bottom, *stacks, f"{lengths['source']} × {settings.width}")
    elements += [
        *_box(right, 18, "Probabilities", f"{lengths[last.side]} × {settings.target_vocab_size}"),
        f'<path d="M{right + 120} 110 V68" fill="none" stroke="#888" marker-end="url(#arrow)"/>',
    ]
    title = f"The model: {' and '.join(stack.name for stack in stacks)}"
    return svg(right + 280, bottom + 170, title, elements)


def _arrows(right: int, bottom: int, source: Stack, target: Stack, shape: str) -> Iterator[str]:
    """Yield an arrow from the first stack to each part of the second that receives something from it."""
    top = _top(source, bottom)
    heights = {one: y for y, one in _heights(target, bottom) if one.receives}
    for one, y in heights.items():
        # The encoder output leaves at the top, because all layers have been computed; final states leave at the side.
        if one.receives == ENCODER_OUTPUT:
            rise = min(top - 56, y + 16)
            path, label = f"M160 {top} V{rise} H{right - 50} V{y + 16} H{right - 6}", (right - 58, rise - 8, shape)
        else:
            path, label = f"M296 {y + 23} H{right - 22}", (right - 28, y + 15, one.receives)
        yield f'<path d="{path}" fill="none" stroke="#888" marker-end="url(#arrow)"/>'
        yield f'<text x="{label[0]}" y="{label[1]}" text-anchor="end">{label[2]}</text>'


def _top(stack: Stack, bottom: int) -> int:
    """Return the y coordinate of the upper edge of the layers of a stack."""
    return bottom - 58 * len(stack.sublayers) - 16


def _heights(stack: Stack, bottom: int) -> Iterator[tuple[int, Sublayer]]:
    """Yield the parts of a stack from top to bottom, each with the y coordinate of its box."""
    top = _top(stack, bottom)
    for index, sublayer in enumerate(reversed(stack.after)):
        yield top - 74 * (len(stack.after) - index), sublayer
    for index, sublayer in enumerate(reversed(stack.sublayers)):
        yield top + 12 + 58 * index, sublayer


def _stack(x: int, y: int, stack: Stack, shape: str) -> Iterator[str]:
    top = _top(stack, y)
    yield (
        f'<rect x="{x - 16}" y="{top}" width="272" height="{y - top + 8}" rx="12" fill="none" stroke="#888" '
        'stroke-dasharray="4 3"/>'
    )
    yield f'<text x="{x - 16}" y="{top - 8}" font-weight="bold">{stack.name.capitalize()}, {stack.layers} layers</text>'
    for box_y, sublayer in _heights(stack, y):
        yield from _box(x, box_y, sublayer.title, sublayer.detail)
        if sublayer in stack.after:
            arrow = f"M{x + 120} {box_y + 74} V{box_y + 50}"
            yield f'<path d="{arrow}" fill="none" stroke="#888" marker-end="url(#arrow)"/>'
    yield from _box(x, y + 60, stack.input.capitalize(), shape)
    yield f'<path d="M{x + 120} {y + 60} V{y + 12}" fill="none" stroke="#888" marker-end="url(#arrow)"/>'
    yield f'<text x="{x + 128}" y="{y + 40}">{shape}</text>'
    yield f'<text x="{x + 120}" y="{y + 140}" text-anchor="middle">{_TOKENS[stack.side]}</text>'


def _box(x: int, y: int, title: str, detail: str) -> Iterator[str]:
    yield f'<rect x="{x}" y="{y}" width="240" height="46" rx="6" fill="#8080801f" stroke="#888"/>'
    yield f'<text x="{x + 120}" y="{y + 19}" text-anchor="middle" font-weight="bold">{title}</text>'
    yield f'<text x="{x + 120}" y="{y + 37}" text-anchor="middle">{detail}</text>'
