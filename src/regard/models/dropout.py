"""Dropout that does not wait for its random numbers, and that threads can draw side by side.

Torch's CPU generator gives 64 random bits at a time, one after the other, and its own dropout spends a draw on each
number. Sixteen bits decide one number just as well, so a draw serves four. That generator is one for all threads: what
one of them draws would depend on the others, so each can have its own.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LEVELS = 1 << 16

_this_thread = threading.local()


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Within, this thread's dropout follows from `seed`; on a processor nobody else's random numbers are touched."""
    if device.type != "cpu":
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(seed)
            yield
        return
    _this_thread.generator = torch.Generator().manual_seed(seed)
    try:
        yield
    finally:
        del _this_thread.generator


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
        generator = getattr(_this_thread, "generator", None)  # None is torch's own
        bits = torch.empty((x.numel() + 3) // 4, dtype=torch.int64)
        bits.random_(torch.iinfo(torch.int64).min, None, generator=generator)
        kept = bits.view(torch.int16)[: x.numel()].view(x.shape) >= dropped - LEVELS // 2
        return x * kept.to(x.dtype).mul_(LEVELS / (LEVELS - dropped))
