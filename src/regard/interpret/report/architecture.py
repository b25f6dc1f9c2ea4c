"""Drawings of a model as text and as SVG, like Figure 1 of "Attention Is All You Need", with the model's own shapes."""

import re
from collections.abc import Iterator, Mapping
from math import prod

from regard.interpret.trace import head_width
from regard.render.svg import svg
from regard.render.terminal import TerminalStyle
from regard.settings.kinds.transformer import TransformerSettings

_MIN_WIDTH = 78  # the minimum terminal width, in columns, to draw encoder and decoder side by side

_BOX = 36  # the width of a box in columns


def draw_model(
    settings: TransformerSettings, shapes: Mapping[str, tuple[int, ...]], style: TerminalStyle
) -> Iterator[str]:
    """Yield a drawing of encoder and decoder, then every kind of parameter with its shape and number of elements."""
    yield from (_side_by_side if style.colours and style.width >= _MIN_WIDTH else _in_sequence)(settings)
    norm = "layer norm before it" if settings.norm == "pre" else "layer norm after the residual sum"
    yield f"each sublayer has a residual connection and {norm}; at most {settings.max_positions} tokens"
    yield ""
    yield style.strong(f"{'parameters':<42}{'shape':>18}{'times':>6}{'elements':>14}")
    for name, (shape, size, times) in _grouped(shapes).items():
        yield f"{name:<42}{shape:>18}{times:>6}{size * times:>14,}"
    yield f"{'total':<42}{sum(map(prod, shapes.values())):>38,}"


def _in_sequence(settings: TransformerSettings) -> Iterator[str]:
    encoder, decoder = _layers(settings)
    yield f"input, source tokens and target tokens so far: embedding + position, {settings.width} numbers per token"
    yield f"encoder, {settings.encoder_layers} layers, each with: {'; '.join(reversed(encoder))}"
    yield f"decoder, {settings.decoder_layers} layers, each with: {'; '.join(reversed(decoder))}"
    yield f"output: probabilities of {settings.vocab_size} tokens, computed with the embedding matrix"


def _side_by_side(settings: TransformerSettings) -> Iterator[str]:
    encoder, decoder = _layers(settings)
    gap = 6
    shift = " " * (_BOX + gap)
    yield shift + f"probabilities of {settings.vocab_size} tokens".center(_BOX)
    yield shift + "▲".center(_BOX)
    left = _boxed(f"encoder, {settings.encoder_layers} layers", encoder)
    right = _boxed(f"decoder, {settings.decoder_layers} layers", decoder)
    for index, line in enumerate(right):
        arrow = "──▶" if index == 2 else ""  # from the encoder to the cross-attention
        encoder_line = left[index] if index < len(left) else ("▲" if index == len(left) else "").center(_BOX)
        yield f"{encoder_line}{arrow.center(gap)}{line}"
    yield f"{'│'.center(_BOX)}{' ' * gap}{'▲'.center(_BOX)}".rstrip()
    for left_text, right_text in (
        (f"embedding + position, width {settings.width}",) * 2,
        ("source tokens", "target tokens so far"),
    ):
        yield f"{left_text.center(_BOX)}{' ' * gap}{right_text.center(_BOX)}".rstrip()
    yield ""


def _layers(settings: TransformerSettings) -> tuple[list[str], list[str]]:
    """Return descriptions of the sublayers of an encoder layer and of a decoder layer, last sublayer first."""
    heads = f"{settings.heads} heads of {head_width(settings)}"
    feedforward = f"feed-forward {settings.width} → {settings.feedforward}"
    return (
        [feedforward, f"self-attention, {heads}"],
        [feedforward, f"cross-attention, {heads}"[: _BOX - 4], f"self-attention, {heads}"[: _BOX - 4]],
    )


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


def model_svg(settings: TransformerSettings, source: int | None = None, target: int | None = None) -> str:
    """Return an SVG drawing of encoder and decoder with the shapes of their vectors.

    `source` and `target` are the lengths in tokens; without them, the shapes have the letters S and T.
    """
    rows_in, rows_out = (str(length) if length else name for length, name in ((source, "S"), (target, "T")))
    width = settings.width
    encoder = [
        ("Feed-forward", f"{width} → {settings.feedforward} → {width}"),
        ("Self-attention", f"{settings.heads} heads of {width // settings.heads}"),
    ]
    decoder = [encoder[0], ("Cross-attention", encoder[1][1]), ("Masked self-attention", encoder[1][1])]
    elements = [
        *_stack(40, 300, "Encoder", settings.encoder_layers, encoder, f"{rows_in} × {width}"),
        *_stack(380, 300, "Decoder", settings.decoder_layers, decoder, f"{rows_out} × {width}"),
        # The encoder output goes to every layer of the decoder.
        '<path d="M160 168 V112 H330 V196 H374" fill="none" stroke="#888" marker-end="url(#arrow)"/>',
        f'<text x="322" y="104" text-anchor="end">{rows_in} × {width}</text>',
        *_box(380, 18, "Probabilities", f"{rows_out} × {settings.vocab_size}"),
        '<path d="M500 110 V68" fill="none" stroke="#888" marker-end="url(#arrow)"/>',
    ]
    return svg(660, 470, "The model: encoder and decoder", elements)


def _stack(x: int, y: int, name: str, layers: int, boxes: list[tuple[str, str]], shape: str) -> Iterator[str]:
    top = y - 58 * len(boxes) - 16
    yield (
        f'<rect x="{x - 16}" y="{top}" width="272" height="{y - top + 8}" rx="12" fill="none" stroke="#888" '
        'stroke-dasharray="4 3"/>'
    )
    yield f'<text x="{x - 16}" y="{top - 8}" font-weight="bold">{name}, {layers} layers</text>'
    for index, (title, detail) in enumerate(boxes):
        yield from _box(x, top + 12 + 58 * index, title, detail)
    yield from _box(x, y + 60, "Embedding + position", shape)
    yield f'<path d="M{x + 120} {y + 60} V{y + 12}" fill="none" stroke="#888" marker-end="url(#arrow)"/>'
    yield f'<text x="{x + 128}" y="{y + 40}">{shape}</text>'
    tokens = "source tokens" if name == "Encoder" else "target tokens so far"
    yield f'<text x="{x + 120}" y="{y + 140}" text-anchor="middle">{tokens}</text>'


def _box(x: int, y: int, title: str, detail: str) -> Iterator[str]:
    yield f'<rect x="{x}" y="{y}" width="240" height="46" rx="6" fill="#8080801f" stroke="#888"/>'
    yield f'<text x="{x + 120}" y="{y + 19}" text-anchor="middle" font-weight="bold">{title}</text>'
    yield f'<text x="{x + 120}" y="{y + 37}" text-anchor="middle">{detail}</text>'
