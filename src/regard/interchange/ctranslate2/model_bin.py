"""What the engine's file of a model must hold: names, types, shapes and switches, checked without loading it.

The engine believes its file, and one made to do harm can end the process. So one that came with a folder is used only
if it is, but for the values of its weights, the file that we would write.
"""

import math
from pathlib import Path
from typing import BinaryIO

from regard.settings.kinds.transformer import TransformerSettings

_HEADER = (6, "TransformerSpec", 7)

_FLOAT, _BYTE, _SHORT = 0, 1, 2

_SIZES = {_FLOAT: 4, _BYTE: 1, _SHORT: 2}

_MOST = 100_000  # variables

Shape = tuple[int, ...]

Content = dict[str, tuple[int, Shape, int | None]]  # type, shape, and the value of what is a single number


def matches_export(path: Path, settings: TransformerSettings, alignment: int | None = None) -> bool:
    """Whether a `model.bin` is one of a model of these settings, aligned by a layer, in single precision."""
    try:
        with path.open("rb") as file:
            return _read(file, path.stat().st_size) == _wanted(settings, alignment)
    except (OSError, ValueError):
        return False


def _read(file: BinaryIO, size: int) -> Content:
    if (_number(file, 4), _name(file), _number(file, 4)) != _HEADER:
        raise ValueError("another kind of file")
    content: Content = {}
    for _ in range(_count(file)):
        name = _name(file)
        shape = tuple(_number(file, 4) for _ in range(_number(file, 1)))
        kind, length = _number(file, 1), _number(file, 4)
        if name in content or kind not in _SIZES or length != math.prod(shape) * _SIZES[kind]:
            raise ValueError("a variable twice, or not of its size")
        content[name] = (kind, shape, _number(file, length) if not shape else None)
        if shape:
            file.seek(length, 1)
    for _ in range(_count(file)):
        alias, name = _name(file), _name(file)
        if alias in content or name not in content:
            raise ValueError("an alias twice, or of nothing")
        content[alias] = content[name]
    if file.tell() != size:
        raise ValueError("another size than it says")
    return content


def _number(file: BinaryIO, size: int) -> int:
    data = file.read(size)
    if len(data) != size:
        raise ValueError("cut off")
    return int.from_bytes(data, "little")


def _count(file: BinaryIO) -> int:
    if (count := _number(file, 4)) > _MOST:
        raise ValueError("too many variables")
    return count


def _name(file: BinaryIO) -> str:
    length = _number(file, 2)
    data = file.read(length)
    if len(data) != length or not data.endswith(b"\0"):
        raise ValueError("cut off")
    return data[:-1].decode("ascii")


def _wanted(settings: TransformerSettings, alignment: int | None) -> Content:
    width, table = settings.width, (settings.max_positions, settings.width)
    shapes: dict[str, Shape] = {
        "decoder/projection/weight": (settings.vocab_size, width),
        "decoder/projection/bias": (settings.vocab_size,),
    }
    for side, name in (("encoder", "embeddings_0"), ("decoder", "embeddings")):
        shapes[f"{side}/{name}/weight"] = (settings.vocab_size, width)
        shapes[f"{side}/position_encodings/encodings"] = table
        if settings.norm == "pre":
            shapes |= _norm(side, width)
        for layer in range(settings.encoder_layers if side == "encoder" else settings.decoder_layers):
            shapes |= _layer(f"{side}/layer_{layer}", settings, crosses=side == "decoder")
    content: Content = {name: (_FLOAT, shape, None) for name, shape in shapes.items()}
    for name, value in _switches(settings, alignment).items():
        kind = _SHORT if name.endswith(("num_heads", "alignment_heads", "alignment_layer")) else _BYTE
        content[name] = (kind, (), value)
    return content


def _switches(settings: TransformerSettings, alignment: int | None) -> dict[str, int]:
    """The single numbers: how the engine is to compute."""
    off = ["decoder/alibi", "decoder/alibi_use_positive_positions", "decoder/scale_alibi", "encoder/embeddings_merge"]
    off += ["decoder/start_from_zero_embedding", "encoder/multi_query_attention"]
    off += ["decoder/activation", "encoder/activation"]  # the first kind, ReLU
    both = {"num_heads": settings.heads, "pre_norm": int(settings.norm == "pre"), "scale_embeddings": 1}
    return {
        **dict.fromkeys(off, 0),
        **{f"{side}/{name}": value for side in ("encoder", "decoder") for name, value in both.items()},
        "decoder/alignment_heads": 1,
        "decoder/alignment_layer": 0xFFFF if alignment is None else alignment - 1,  # -1 for none
    }


def _layer(name: str, settings: TransformerSettings, *, crosses: bool) -> dict[str, Shape]:
    width, inner = settings.width, settings.feedforward
    parts = {"self_attention": [(3 * width, width), (width, width)], "ffn": [(inner, width), (width, inner)]}
    if crosses:
        parts["attention"] = [(width, width), (2 * width, width), (width, width)]
    shapes: dict[str, Shape] = {}
    for part, matrices in parts.items():
        shapes |= _norm(f"{name}/{part}", width)
        for number, (rows, columns) in enumerate(matrices):
            shapes[f"{name}/{part}/linear_{number}/weight"] = (rows, columns)
            shapes[f"{name}/{part}/linear_{number}/bias"] = (rows,)
    return shapes


def _norm(name: str, width: int) -> dict[str, Shape]:
    return {f"{name}/layer_norm/gamma": (width,), f"{name}/layer_norm/beta": (width,)}
