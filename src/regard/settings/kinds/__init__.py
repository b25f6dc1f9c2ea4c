"""The kinds of models: one dictionary that gives, for each kind, its settings, its model class and how it is trained.

A new kind needs a file of settings in this package, a file with the model in `regard.models.kinds`, and an entry here.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from regard.errors import SettingsError
from regard.settings.fields import Overrides, nearest
from regard.settings.kinds import recurrent, transformer
from regard.settings.model import ModelSettings


@dataclass(frozen=True)
class Kind:
    """One kind of model.

    `model` names a class and `objective` an `Objective`, both as `module:name`. They are texts, because importing them
    would import torch, which takes seconds and which `--help` does not need.
    """

    settings: type[ModelSettings]
    sizes: Mapping[str, Overrides]
    model: str
    objective: str = "regard.training.objectives:translation"


KINDS = {
    "transformer": Kind(
        settings=transformer.TransformerSettings,
        sizes=transformer.SIZES,
        model="regard.models.kinds.transformer:Transformer",
    ),
    **{
        kind: Kind(settings=recurrent.RecurrentSettings, sizes=sizes, model="regard.models.kinds.recurrent:Recurrent")
        for kind, sizes in recurrent.SIZES.items()
    },
}

DEFAULT_KIND = "transformer"


def get_kind(name: str) -> Kind:
    """Return the kind with a name, and raise a `SettingsError` if there is none."""
    if name not in KINDS:
        raise SettingsError(f"unknown kind {name!r}; the kinds are {', '.join(KINDS)}{nearest(name, KINDS)}")
    return KINDS[name]
