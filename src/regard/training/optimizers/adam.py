"""Creates the optimizer of a run: Adam or Muon."""

from typing import Any

import torch

from regard.models.interface import SequenceModel
from regard.settings.train import TrainSettings
from regard.training.optimizers.muon import Muon


def make_optimizer(model: SequenceModel, settings: TrainSettings) -> torch.optim.Optimizer:
    """Return the optimizer that the settings ask for; its learning rate is 0 until the first step sets it."""
    adam: Any = {"lr": 0.0, "betas": (settings.beta1, settings.beta2), "eps": settings.epsilon, "fused": True}
    if settings.optimizer == "muon":
        return Muon(model, **adam)
    optimizer = torch.optim.Adam(model.parameters(), **adam)
    # Allocate the optimizer state now. The first step would allocate it between the activations, which would fragment
    # the heap.
    for parameter in model.parameters():
        moments = {name: torch.zeros_like(parameter) for name in ("exp_avg", "exp_avg_sq")}
        optimizer.state[parameter] = {"step": torch.zeros((), device=parameter.device), **moments}
    return optimizer
