"""Read a Regard model folder without Regard, and rename its parameters for another system."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

# For names that only settings.json of format 1 has among the settings of the model, today's names.
FORMAT_1_NAMES = {"longest": ("max_positions",), "vocabulary": ("source_vocab_size", "target_vocab_size")}


def read_shape(folder: Path) -> dict[str, Any]:
    """Return the settings of the model and its kind, by today's names, from a settings.json of format 1 or 2."""
    contents = json.loads((folder / "settings.json").read_text("utf-8"))
    shape = {"kind": contents.get("kind", "transformer")}
    for name, value in contents["model"].items():
        shape |= dict.fromkeys(FORMAT_1_NAMES.get(name, (name,)), value)
    return shape


def read(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor], Tensor]:
    """Return the settings of the model, its parameters without positions, and the table of positions."""
    shape = read_shape(folder)
    weights = {name: tensor.float() for name, tensor in load_file(folder / "weights.safetensors").items()}
    learned = weights.pop("positions.weight", None)
    return shape, weights, sinusoids(shape["max_positions"], shape["width"]) if learned is None else learned


def renamed(
    weights: Mapping[str, Tensor], sublayers: Mapping[str, str], stacks: Mapping[str, str]
) -> dict[str, Tensor]:
    """Rename the parameters of all layers, such as `encoder.2.self.query.weight`, for a system that counts from 0.

    `stacks` replaces the first word and `sublayers` the words between the number and the last word. A name with a
    stack (`decoder.self_norm`) takes precedence over one without.
    """
    result = {}
    for name, tensor in weights.items():
        match name.split("."):
            case [stack, number, *inner, last] if number.isdigit():
                sublayer = ".".join(inner)
                sublayer = sublayers.get(f"{stack}.{sublayer}", sublayers.get(sublayer, sublayer))
                result[f"{stacks[stack]}.{int(number) - 1}.{sublayer}.{last}"] = tensor
    return result


def sinusoids(length: int, width: int) -> Tensor:
    position = torch.arange(length, dtype=torch.float64)[:, None]
    angle = position / 10_000 ** (torch.arange(0, width, 2, dtype=torch.float64) / width)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).float()
