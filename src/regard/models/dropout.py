"""Dropout with fewer random numbers, and with an independent random generator for each thread.

On the CPU, torch generates 64 random bits at a time, sequentially, and its dropout uses 64 bits for each element.
Sixteen bits suffice, so this module uses 64 bits for four elements. All threads share torch's default generator, so the
dropout of one thread would depend on the other threads. Here each thread can have its own generator.
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
    """Within the context, use this seed for the dropout of this thread. On the CPU, no other generator is affected."""
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
    """A dropout layer: in training, it sets a fraction `rate` of the elements to zero and scales up the rest."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.rate == 0:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.rate)
        dropped = min(round(self.rate * LEVELS), LEVELS - 1)
        generator = getattr(_this_thread, "generator", None)  # torch treats None as its default generator
        bits = torch.empty((x.numel() + 3) // 4, dtype=torch.int64)
        bits.random_(torch.iinfo(torch.int64).min, None, generator=generator)
        kept = bits.view(torch.int16)[: x.numel()].view(x.shape) >= dropped - LEVELS // 2
        return x * kept.to(x.dtype).mul_(LEVELS / (LEVELS - dropped))
