"""The input of a model: a batch of sequences of token ids or of vectors, and a mask of the real positions.

The mask is made once, when a padded batch becomes an `Inputs`, from the lengths of its sequences. No model derives it
from the padding token.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor


@dataclass(frozen=True)
class Inputs:
    """A batch of sequences, padded on the right.

    `values` are token ids (B, S) or vectors (B, S, F). `mask_BS` is True at real positions and False at padding; None
    means that there is no padding, with which attention is faster.
    """

    values: Tensor
    mask_BS: Tensor | None = None

    @classmethod
    def from_lengths(cls, values: Tensor, lengths: Any) -> Self:
        """Return padded sequences with the mask that follows from the length of each sequence."""
        lengths_B = torch.as_tensor(lengths)
        if bool((lengths_B == values.size(1)).all()):
            return cls(values)
        return cls(values, (torch.arange(values.size(1)) < lengths_B[:, None]).to(values.device))

    @classmethod
    def from_ids(cls, rows: Sequence[Sequence[int]], *, pad: int, device: torch.device | str = "cpu") -> Self:
        """Return sequences of token ids, padded to the length of the longest."""
        lengths = [len(row) for row in rows]
        longest = max(lengths)
        values_BS = torch.tensor([[*row] + [pad] * (longest - len(row)) for row in rows], device=device)
        return cls.from_lengths(values_BS, lengths)

    @property
    def lengths(self) -> Tensor:
        """The length of each sequence without padding."""
        if self.mask_BS is None:
            return torch.full((len(self.values),), self.values.size(1))
        return self.mask_BS.sum(dim=1)

    def real(self, tensor: Tensor) -> Tensor:
        """Return the rows of a tensor (B, S, …) at real positions, without padding (N, …)."""
        return tensor.flatten(0, 1) if self.mask_BS is None else tensor[self.mask_BS]
