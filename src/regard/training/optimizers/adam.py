"""Creates the optimizer of a run, with its state allocated before the first step."""

from typing import Any

import torch
from torch import nn

from regard.settings.train import TrainSettings
from regard.training.optimizers.muon import Muon


def make_optimizer(model: nn.Module, settings: TrainSettings) -> torch.optim.Optimizer:
    """The optimizer; each step sets its learning rate."""
    adam: Any = {"lr": 0.0, "betas": (settings.beta1, settings.beta2), "eps": settings.epsilon, "fused": True}
    if settings.optimizer == "muon":
        return Muon(model, **adam)
    optimizer = torch.optim.Adam(model.parameters(), **adam)
    # Made here and not by the first step, in whose midst they would lie ever after, and in its way.
    for parameter in model.parameters():
        memories = {name: torch.zeros_like(parameter) for name in ("exp_avg", "exp_avg_sq")}
        optimizer.state[parameter] = {"step": torch.zeros((), device=parameter.device), **memories}
    return optimizer
