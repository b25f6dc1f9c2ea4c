"""Builds a model from its settings. Nothing else calls the constructor of a model."""

from pkgutil import resolve_name
from typing import TypeVar, cast

import torch

from regard.models.interface import SequenceModel
from regard.settings.kinds import get_kind
from regard.settings.model import ModelSettings

AnyModel = TypeVar("AnyModel", bound=SequenceModel)


def build_model(settings: ModelSettings, dropout: float = 0.0) -> SequenceModel:
    """Return a model of the kind and shape that the settings describe, with random parameters."""
    model: SequenceModel = resolve_name(get_kind(settings.kind).model)(settings, dropout)
    return model


def parameter_shapes(settings: ModelSettings) -> dict[str, tuple[int, ...]]:
    """Return the name and shape of each parameter of a model, without allocating memory for them."""
    with torch.device("meta"):
        return {name: tuple(tensor.shape) for name, tensor in build_model(settings).state_dict().items()}


def build_untrained(model: AnyModel) -> AnyModel:
    """Return an untrained model with the settings of `model`. Its random parameters are the same in every call."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return cast(AnyModel, build_model(model.settings).eval().to(model.device))
