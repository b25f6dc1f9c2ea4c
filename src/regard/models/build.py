"""Builds a model from its settings. Nothing else calls the constructor of a model."""

import threading
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TypeVar, cast

import torch
from torch import Tensor, nn

from regard.models.interface import SequenceModel
from regard.settings.kinds import get_kind
from regard.settings.model import ModelSettings

AnyModel = TypeVar("AnyModel", bound=SequenceModel)


# The constructors of torch's layers draw random numbers from the default generator, which all threads share.
_default_generator = threading.RLock()


def build_model(settings: ModelSettings, dropout: float = 0.0, *, seed: int = 0) -> SequenceModel:
    """Return a model of the kind and shape that the settings describe, with random parameters.

    The parameters depend only on the settings and the seed. The random generator of the caller does not change,
    and several threads may call this function at the same time.
    """
    with _default_generator, torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # `torch.manual_seed` would seed the generators of GPUs too
        model: SequenceModel = resolve_name(get_kind(settings.kind).model)(settings, dropout)
    return model


def build_with_parameters(settings: ModelSettings, parameters: dict[str, Tensor]) -> SequenceModel:
    """Return a model with these parameters, which it does not copy. Random parameters are never computed."""
    with torch.device("meta"):
        model = build_model(settings)
    model.load_state_dict(parameters, assign=True)
    if model.positions is not None:
        model.positions.compute_sinusoids()
    if unsaved := [name for name, buffer in model.named_buffers() if buffer.is_meta]:
        raise TypeError(f"buffers of {settings.kind} models are not saved: {', '.join(unsaved)}; make them persistent")
    return model.eval()


def parameter_shapes(settings: ModelSettings) -> dict[str, tuple[int, ...]]:
    """Return the name and shape of each parameter of a model, without allocating memory for them."""
    with torch.device("meta"):
        return {name: tuple(tensor.shape) for name, tensor in build_model(settings).state_dict().items()}


@dataclass(frozen=True)
class ParameterCount:
    """The number of parameters of a model, and how many of them are not token embeddings."""

    total: int
    without_embeddings: int


def count_parameters(settings: ModelSettings) -> ParameterCount:
    """Count the parameters of a model, without allocating memory for them."""
    with torch.device("meta"):
        model = build_model(settings)
    embeddings = {module.weight for module in model.modules() if isinstance(module, nn.Embedding)}
    total = sum(parameter.numel() for parameter in model.parameters())
    return ParameterCount(total, total - sum(matrix.numel() for matrix in embeddings))


def build_untrained(model: AnyModel, *, seed: int = 1) -> AnyModel:
    """Return an untrained model with the settings of `model`. Its random parameters depend only on the seed."""
    return cast(AnyModel, build_model(model.settings, seed=seed).eval().to(model.device))
