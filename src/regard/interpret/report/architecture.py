"""The model drawn as the paper draws it (Figure 1), with its own shapes: as text, and as SVG."""

import re
from collections.abc import Iterator, Mapping
from math import prod

from regard.interpret.trace import head_width
from regard.render.svg import svg
from regard.render.terminal import TerminalStyle
from regard.settings.kinds.transformer import TransformerSettings

_WIDE = 78

_BOX = 36


def draw_model(
    settings: TransformerSettings, shapes: Mapping[str, tuple[int, ...]], paper: TerminalStyle
) -> Iterator[str]:
    """The stacks, then every kind of weight with its shape and how many numbers it holds."""
    yield from (_side_by_side if paper.colours and paper.width >= _WIDE else _one_by_one)(settings)
    norm = "layer norm before each part" if settings.norm == "pre" else "layer norm after each sum"
    yield f"around each part: a residual sum, and {norm}; at most {settings.max_positions} pieces"
    yield ""
    yield paper.strong(f"{'weights':<42}{'shape':>18}{'times':>6}{'numbers':>14}")
    for name, (shape, size, times) in _grouped(shapes).items():
        yield f"{name:<42}{shape:>18}{times:>6}{size * times:>14,}"
    yield f"{'together':<42}{sum(map(prod, shapes.values())):>38,}"


def _one_by_one(settings: TransformerSettings) -> Iterator[str]:
    encoder, decoder = _layers(settings)
    yield f"the text, in pieces, and what is written so far: embedding + position, {settings.width} numbers a piece"
    yield f"encoder, {settings.encoder_layers} layers, each of: {', '.join(reversed(encoder))}"
    yield f"decoder, {settings.decoder_layers} layers, each of: {', '.join(reversed(decoder))}"
    yield f"out: probabilities of {settings.vocab_size} pieces, by the matrix that also embeds them"


def _side_by_side(settings: TransformerSettings) -> Iterator[str]:
    encoder, decoder = _layers(settings)
    gap = 6
    shift = " " * (_BOX + gap)
    yield shift + f"probabilities of {settings.vocab_size} pieces".center(_BOX)
    yield shift + "▲".center(_BOX)
    left = _boxed(f"encoder, {settings.encoder_layers} layers", encoder)
    right = _boxed(f"decoder, {settings.decoder_layers} layers", decoder)
    for index, line in enumerate(right):
        between = "──▶" if index == 2 else ""  # where the decoder attends to the source
        beside = left[index] if index < len(left) else ("▲" if index == len(left) else "").center(_BOX)
        yield f"{beside}{between.center(gap)}{line}"
    yield f"{'│'.center(_BOX)}{' ' * gap}{'▲'.center(_BOX)}".rstrip()
    for words in (
        (f"embedding + position, {settings.width} wide",) * 2,
        ("the text, in pieces", "what is written so far"),
    ):
        yield f"{words[0].center(_BOX)}{' ' * gap}{words[1].center(_BOX)}".rstrip()
    yield ""


def _layers(settings: TransformerSettings) -> tuple[list[str], list[str]]:
    """What a layer of each stack is made of, the last part first."""
    heads = f"{settings.heads} heads of {head_width(settings)}"
    think = f"feed-forward {settings.width} → {settings.feedforward}"
    return (
        [think, f"self-attention, {heads}"],
        [think, f"to the source, {heads}"[: _BOX - 4], f"to itself, {heads}"[: _BOX - 4]],
    )


def _boxed(title: str, lines: list[str]) -> list[str]:
    top = f"┌ {title} " + "─" * (_BOX - len(title) - 4) + "┐"
    return [top, *(f"│ {line:<{_BOX - 4}} │" for line in lines), "└" + "─" * (_BOX - 2) + "┘"]


def _grouped(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[str, int, int]]:
    """Each kind of part once: the shapes of its weights, how many numbers these hold, and how often it is there."""
    parts: dict[str, list[tuple[int, ...]]] = {}
    for name, shape in shapes.items():
        parts.setdefault(name.rpartition(".")[0], []).append(shape)
    grouped: dict[str, tuple[str, int, int]] = {}
    for part, its in parts.items():
        kind = re.sub(r"\.\d+\.", ".N.", part)
        kind = re.sub(r"(query|key|value|output)$", "query, key, value, output", kind)
        kind = re.sub(r"\w+_norm$", "norms", kind)
        written = " + ".join(" × ".join(map(str, shape)) for shape in its)
        grouped[kind] = (written, sum(map(prod, its)), grouped.get(kind, ("", 0, 0))[2] + 1)
    return grouped


def model_svg(settings: TransformerSettings, source: int | None = None, target: int | None = None) -> str:
    """The two stacks. With lengths of a source and a target, the shapes are those of that pass."""
    rows_in, rows_out = (str(length) if length else name for length, name in ((source, "S"), (target, "T")))
    width = settings.width
    encoder = [
        ("Feed-forward", f"{width} → {settings.feedforward} → {width}"),
        ("Self-attention", f"{settings.heads} heads of {width // settings.heads}"),
    ]
    decoder = [encoder[0], ("Attention to the source", encoder[1][1]), ("Self-attention, masked", encoder[1][1])]
    parts = [
        *_stack(40, 300, "Encoder", settings.encoder_layers, encoder, f"{rows_in} × {width}"),
        *_stack(380, 300, "Decoder", settings.decoder_layers, decoder, f"{rows_out} × {width}"),
        # What the encoder made goes to every layer of the decoder.
        '<path d="M160 168 V112 H330 V196 H374" fill="none" stroke="#888" marker-end="url(#arrow)"/>',
        f'<text x="322" y="104" text-anchor="end">{rows_in} × {width}</text>',
        *_box(380, 18, "Probabilities", f"{rows_out} × {settings.vocab_size}"),
        '<path d="M500 110 V68" fill="none" stroke="#888" marker-end="url(#arrow)"/>',
    ]
    return svg(660, 470, "The model: encoder and decoder", parts)


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
    words = "the text, in pieces" if name == "Encoder" else "what is written so far"
    yield f'<text x="{x + 120}" y="{y + 140}" text-anchor="middle">{words}</text>'


def _box(x: int, y: int, title: str, detail: str) -> Iterator[str]:
    yield f'<rect x="{x}" y="{y}" width="240" height="46" rx="6" fill="#8080801f" stroke="#888"/>'
    yield f'<text x="{x + 120}" y="{y + 19}" text-anchor="middle" font-weight="bold">{title}</text>'
    yield f'<text x="{x + 120}" y="{y + 37}" text-anchor="middle">{detail}</text>'
