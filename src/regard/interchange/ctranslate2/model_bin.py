"""Checks names, types, shapes and options in a CTranslate2 `model.bin` without loading the model.

CTranslate2 does not check the file, and a malicious file can crash the process. So a `model.bin` from a model folder is
used only if it equals the file that Regard would write, except for the values of the parameters.
"""

import math
from pathlib import Path
from typing import BinaryIO

from regard.settings.kinds.transformer import TransformerSettings
from regard.settings.model import ModelSettings

_HEADER = (6, "TransformerSpec", 7)

_FLOAT, _BYTE, _SHORT = 0, 1, 2

_SIZES = {_FLOAT: 4, _BYTE: 1, _SHORT: 2}

_MAX_VARIABLES = 100_000

Shape = tuple[int, ...]

Content = dict[str, tuple[int, Shape, int | None]]  # by variable: type, shape, and the value if it is a single number


def matches_export(path: Path, settings: ModelSettings, alignment: int | None = None) -> bool:
    """Return whether a `model.bin` has the structure of a float32 export with these settings and alignment layer."""
    if not isinstance(settings, TransformerSettings):
        return False
    try:
        with path.open("rb") as file:
            return _read(file, path.stat().st_size) == _expected(settings, alignment)
    except (OSError, ValueError):
        return False


def _read(file: BinaryIO, size: int) -> Content:
    if (_number(file, 4), _name(file), _number(file, 4)) != _HEADER:
        raise ValueError("not a CTranslate2 model")
    content: Content = {}
    for _ in range(_count(file)):
        name = _name(file)
        shape = tuple(_number(file, 4) for _ in range(_number(file, 1)))
        kind, length = _number(file, 1), _number(file, 4)
        if name in content or kind not in _SIZES or length != math.prod(shape) * _SIZES[kind]:
            raise ValueError("a variable occurs twice or has the wrong size")
        content[name] = (kind, shape, _number(file, length) if not shape else None)
        if shape:
            file.seek(length, 1)
    for _ in range(_count(file)):
        alias, name = _name(file), _name(file)
        if alias in content or name not in content:
            raise ValueError("an alias occurs twice or has no variable")
        content[alias] = content[name]
    if file.tell() != size:
        raise ValueError("the file has the wrong size")
    return content


def _number(file: BinaryIO, size: int) -> int:
    data = file.read(size)
    if len(data) != size:
        raise ValueError("the file is truncated")
    return int.from_bytes(data, "little")


def _count(file: BinaryIO) -> int:
    if (count := _number(file, 4)) > _MAX_VARIABLES:
        raise ValueError("too many variables")
    return count


def _name(file: BinaryIO) -> str:
    length = _number(file, 2)
    data = file.read(length)
    if len(data) != length or not data.endswith(b"\0"):
        raise ValueError("the file is truncated")
    return data[:-1].decode("ascii")


def _expected(settings: TransformerSettings, alignment: int | None) -> Content:
    width, table = settings.width, (settings.max_positions, settings.width)
    shapes: dict[str, Shape] = {
        "decoder/projection/weight": (settings.source_vocab_size, width),
        "decoder/projection/bias": (settings.source_vocab_size,),
    }
    for side, name in (("encoder", "embeddings_0"), ("decoder", "embeddings")):
        shapes[f"{side}/{name}/weight"] = (settings.source_vocab_size, width)
        shapes[f"{side}/position_encodings/encodings"] = table
        if settings.norm == "pre":
            shapes |= _norm(side, width)
        for layer in range(settings.encoder_layers if side == "encoder" else settings.decoder_layers):
            shapes |= _layer(f"{side}/layer_{layer}", settings, has_cross=side == "decoder")
    content: Content = {name: (_FLOAT, shape, None) for name, shape in shapes.items()}
    for name, value in _options(settings, alignment).items():
        kind = _SHORT if name.endswith(("num_heads", "alignment_heads", "alignment_layer")) else _BYTE
        content[name] = (kind, (), value)
    return content


def _options(settings: TransformerSettings, alignment: int | None) -> dict[str, int]:
    """Return the expected options by name. Each is a variable with a single number."""
    off = ["decoder/alibi", "decoder/alibi_use_positive_positions", "decoder/scale_alibi", "encoder/embeddings_merge"]
    off += ["decoder/start_from_zero_embedding", "encoder/multi_query_attention"]
    off += ["decoder/activation", "encoder/activation"]  # 0 stands for ReLU
    shared = {"num_heads": settings.heads, "pre_norm": int(settings.norm == "pre"), "scale_embeddings": 1}
    return {
        **dict.fromkeys(off, 0),
        **{f"{side}/{name}": value for side in ("encoder", "decoder") for name, value in shared.items()},
        "decoder/alignment_heads": 1,
        # Without an alignment head, the export writes the layer -1, which is 0xFFFF in 16 bits.
        "decoder/alignment_layer": 0xFFFF if alignment is None else alignment - 1,
    }


def _layer(name: str, settings: TransformerSettings, *, has_cross: bool) -> dict[str, Shape]:
    width, inner = settings.width, settings.feedforward
    sublayers = {"self_attention": [(3 * width, width), (width, width)], "ffn": [(inner, width), (width, inner)]}
    if has_cross:
        sublayers["attention"] = [(width, width), (2 * width, width), (width, width)]
    shapes: dict[str, Shape] = {}
    for sublayer, matrices in sublayers.items():
        shapes |= _norm(f"{name}/{sublayer}", width)
        for number, (rows, columns) in enumerate(matrices):
            shapes[f"{name}/{sublayer}/linear_{number}/weight"] = (rows, columns)
            shapes[f"{name}/{sublayer}/linear_{number}/bias"] = (rows,)
    return shapes


def _norm(name: str, width: int) -> dict[str, Shape]:
    return {f"{name}/layer_norm/gamma": (width,), f"{name}/layer_norm/beta": (width,)}
