"""Drawings of a model as text and as SVG, like Figure 1 of "Attention Is All You Need", with the model's own shapes."""

import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod

from regard.render.svg import svg
from regard.render.terminal import TerminalStyle
from regard.settings.anatomy import Stack
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
    yield style.strong(f"{'parameters':<42}{'shape':>18}{'times':>6}{'elements':>14}")
    for name, (shape, size, times) in _grouped(shapes).items():
        yield f"{name:<42}{shape:>18}{times:>6}{size * times:>14,}"
    yield f"{'total':<42}{sum(map(prod, shapes.values())):>38,}"


def _in_sequence(settings: ModelSettings, stacks: Sequence[Stack]) -> Iterator[str]:
    for stack in stacks:
        yield f"input of the {stack.name}, {_TOKENS[stack.side]}: {stack.input}, {settings.width} numbers per token"
        yield f"{stack.name}, {stack.layers} layers, each with: {'; '.join(_lines(stack))}"
    yield f"output: probabilities of {settings.target_vocab_size} tokens"


def _side_by_side(settings: ModelSettings, source: Stack, target: Stack) -> Iterator[str]:
    gap = 6
    shift = " " * (_BOX + gap)
    yield shift + f"probabilities of {settings.target_vocab_size} tokens".center(_BOX)
    yield shift + "▲".center(_BOX)
    left, right = (
        _boxed(f"{stack.name}, {stack.layers} layers", list(reversed(_lines(stack)))) for stack in (source, target)
    )
    for index, line in enumerate(right):
        arrow = "──▶" if index == 2 else ""  # from the encoder to the decoder
        source_line = left[index] if index < len(left) else ("▲" if index == len(left) else "").center(_BOX)
        yield f"{source_line}{arrow.center(gap)}{line}"
    yield f"{'│'.center(_BOX)}{' ' * gap}{'▲'.center(_BOX)}".rstrip()
    for left_text, right_text in (
        (f"{source.input}, width {settings.width}", f"{target.input}, width {settings.width}"),
        (_TOKENS["source"], _TOKENS["target"]),
    ):
        yield f"{left_text.center(_BOX)}{' ' * gap}{right_text.center(_BOX)}".rstrip()
    yield ""


def _lines(stack: Stack) -> list[str]:
    """Return a description of each sublayer of a layer, in the order of computation."""
    return [f"{one.title.lower()}, {one.detail}"[: _BOX - 4] for one in stack.sublayers]


def _boxed(title: str, lines: list[str]) -> list[str]:
    top = f"┌ {title} " + "─" * (_BOX - len(title) - 4) + "┐"
    return [top, *(f"│ {line:<{_BOX - 4}} │" for line in lines), "└" + "─" * (_BOX - 2) + "┘"]


def _grouped(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[str, int, int]]:
    """Return, for each kind of module, its parameter shapes, its number of parameters, and how often it occurs."""
    modules: dict[str, list[tuple[int, ...]]] = {}
    for name, shape in shapes.items():
        modules.setdefault(name.rpartition(".")[0], []).append(shape)
    grouped: dict[str, tuple[str, int, int]] = {}
    for module, module_shapes in modules.items():
        kind = re.sub(r"\.\d+\.", ".N.", module)
        kind = re.sub(r"(query|key|value|output)$", "query, key, value, output", kind)
        kind = re.sub(r"\w+_norm$", "norms", kind)
        text = " + ".join(" × ".join(map(str, shape)) for shape in module_shapes)
        grouped[kind] = (text, sum(map(prod, module_shapes)), grouped.get(kind, ("", 0, 0))[2] + 1)
    return grouped


def model_svg(settings: ModelSettings, source: int | None = None, target: int | None = None) -> str:
    """Return an SVG drawing of the stacks with the shapes of their vectors.

    `source` and `target` are the lengths in tokens; without them, the shapes have the letters S and T.
    """
    lengths = {"source": str(source or "S"), "target": str(target or "T")}
    stacks = settings.anatomy().stacks
    elements: list[str] = []
    for number, stack in enumerate(stacks):
        elements += _stack(40 + _COLUMN * number, 300, stack, f"{lengths[stack.side]} × {settings.width}")
    right = 40 + _COLUMN * (len(stacks) - 1)
    if len(stacks) == 2:
        # The output of the first stack goes to every layer of the second.
        elements += [
            '<path d="M160 168 V112 H330 V196 H374" fill="none" stroke="#888" marker-end="url(#arrow)"/>',
            f'<text x="322" y="104" text-anchor="end">{lengths["source"]} × {settings.width}</text>',
        ]
    elements += [
        *_box(right, 18, "Probabilities", f"{lengths[stacks[-1].side]} × {settings.target_vocab_size}"),
        f'<path d="M{right + 120} 110 V68" fill="none" stroke="#888" marker-end="url(#arrow)"/>',
    ]
    title = f"The model: {' and '.join(stack.name for stack in stacks)}"
    return svg(right + 280, 470, title, elements)


def _stack(x: int, y: int, stack: Stack, shape: str) -> Iterator[str]:
    top = y - 58 * len(stack.sublayers) - 16
    yield (
        f'<rect x="{x - 16}" y="{top}" width="272" height="{y - top + 8}" rx="12" fill="none" stroke="#888" '
        'stroke-dasharray="4 3"/>'
    )
    yield f'<text x="{x - 16}" y="{top - 8}" font-weight="bold">{stack.name.capitalize()}, {stack.layers} layers</text>'
    for index, sublayer in enumerate(reversed(stack.sublayers)):
        yield from _box(x, top + 12 + 58 * index, sublayer.title, sublayer.detail)
    yield from _box(x, y + 60, stack.input.capitalize(), shape)
    yield f'<path d="M{x + 120} {y + 60} V{y + 12}" fill="none" stroke="#888" marker-end="url(#arrow)"/>'
    yield f'<text x="{x + 128}" y="{y + 40}">{shape}</text>'
    yield f'<text x="{x + 120}" y="{y + 140}" text-anchor="middle">{_TOKENS[stack.side]}</text>'


def _box(x: int, y: int, title: str, detail: str) -> Iterator[str]:
    yield f'<rect x="{x}" y="{y}" width="240" height="46" rx="6" fill="#8080801f" stroke="#888"/>'
    yield f'<text x="{x + 120}" y="{y + 19}" text-anchor="middle" font-weight="bold">{title}</text>'
    yield f'<text x="{x + 120}" y="{y + 37}" text-anchor="middle">{detail}</text>'
