"""Builds an untrained model, for comparison with a trained one."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.models.kinds.transformer import Transformer


def build_untrained(model: "Transformer") -> "Transformer":
    """Return an untrained model with the architecture of `model`. Its random parameters are the same in every call."""
    import torch

    from regard.models.kinds.transformer import Transformer

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return Transformer(model.settings).eval().to(next(model.parameters()).device)
