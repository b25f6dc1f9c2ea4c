"""A Regard model folder read without Regard, and its weights under another program's names."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor


def read(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor], Tensor]:
    """What shapes the model, its weights without those of the positions, and the table of positions."""
    settings = json.loads((folder / "settings.json").read_text("utf-8"))["model"]
    weights = {name: tensor.float() for name, tensor in load_file(folder / "weights.safetensors").items()}
    learned = weights.pop("positions.weight", None)
    return settings, weights, sinusoids(settings["longest"], settings["width"]) if learned is None else learned


def renamed(weights: Mapping[str, Tensor], parts: Mapping[str, str], stacks: Mapping[str, str]) -> dict[str, Tensor]:
    """The weights of all layers: `encoder.2.self.query.weight`, with `stacks` for its first part and `parts` for
    what stands between the layer's number (they count from 0) and the last part. `decoder.self` goes before `self`."""
    found = {}
    for name, tensor in weights.items():
        match name.split("."):
            case [side, number, *inner, last] if number.isdigit():
                part = ".".join(inner)
                part = parts.get(f"{side}.{part}", parts.get(part, part))
                found[f"{stacks[side]}.{int(number) - 1}.{part}.{last}"] = tensor
    return found


def sinusoids(length: int, width: int) -> Tensor:
    position = torch.arange(length, dtype=torch.float64)[:, None]
    angle = position / 10_000 ** (torch.arange(0, width, 2, dtype=torch.float64) / width)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).float()
