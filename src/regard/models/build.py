"""Builds models from their settings."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.models.kinds.transformer import Transformer


def build_untrained(model: "Transformer") -> "Transformer":
    """The same architecture before it learnt anything; always the same one."""
    import torch

    from regard.models.kinds.transformer import Transformer

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return Transformer(model.settings).eval().to(next(model.parameters()).device)
