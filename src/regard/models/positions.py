"""Positional encodings (section 3.5), added to the embeddings because attention itself ignores the order of tokens."""

import torch
from torch import Tensor, nn


def sinusoids(length: int, width: int) -> Tensor:
    """Return the sinusoidal encodings of the positions from 0 to `length` - 1.

    PE(pos, 2i) = sin(pos / 10000^(2i/width)) and PE(pos, 2i+1) = cos(pos / 10000^(2i/width)).
    """
    position = torch.arange(length, dtype=torch.float64)[:, None]
    angle = position / 10_000 ** (torch.arange(0, width, 2, dtype=torch.float64) / width)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).float()


class Positions(nn.Module):
    """A table of `max_positions` positional encodings.

    The encodings are learned (Table 3, row E) if `kind` is "learned"; otherwise, they are fixed sinusoids.
    """

    def __init__(self, kind: str, max_positions: int, width: int) -> None:
        super().__init__()
        self.weight: Tensor
        if kind == "learned":
            self.weight = nn.Parameter(torch.randn(max_positions, width) * width**-0.5)
        else:
            self.register_buffer("weight", sinusoids(max_positions, width), persistent=False)

    def compute_sinusoids(self) -> None:
        """Compute fixed encodings on the CPU, for a model that was built on the meta device and then loaded.

        They are not saved with the parameters. Learned encodings do not change.
        """
        if not isinstance(self.weight, nn.Parameter):
            self.weight = sinusoids(*self.weight.shape)

    def forward(self, start: int, length: int) -> Tensor:
        """Return the encodings of `length` positions from `start` on."""
        if start + length > len(self.weight):
            raise ValueError(
                f"position {start + length} exceeds the maximum of {len(self.weight)}: split the text first"
            )
        return self.weight[start : start + length]
