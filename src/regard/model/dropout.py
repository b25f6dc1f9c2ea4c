"""Dropout that does not wait for its random numbers.

Torch's CPU generator gives 64 random bits at a time, one after the other, and its own dropout spends a draw on each
number. Sixteen bits decide one number just as well, so a draw serves four.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LEVELS = 1 << 16


class Dropout(nn.Module):
    """While training, zero a share `rate` of the numbers and scale up the rest."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.rate == 0:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.rate)
        dropped = min(round(self.rate * LEVELS), LEVELS - 1)
        bits = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(torch.iinfo(torch.int64).min, None)
        kept = bits.view(torch.int16)[: x.numel()].view(x.shape) >= dropped - LEVELS // 2
        return x * kept.to(x.dtype).mul_(LEVELS / (LEVELS - dropped))
