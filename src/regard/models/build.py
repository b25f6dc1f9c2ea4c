"""Building of models from their settings."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.models.kinds.transformer import Transformer


def build_untrained(model: "Transformer") -> "Transformer":
    """Return a model of the same architecture with random parameters, which are always the same."""
    import torch

    from regard.models.kinds.transformer import Transformer

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return Transformer(model.settings).eval().to(next(model.parameters()).device)
