"""The four sections of settings: model, tokenizer, train and decode.

Each setting is declared once, with its default, type and meaning; help and documentation are generated from the
declarations. The settings of the section `model` depend on the kind of model. This package imports only the standard
library, so that `--help` is fast.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from regard.errors import SettingsError
from regard.settings.decode import DecodeSettings
from regard.settings.fields import Overrides, nearest
from regard.settings.kinds import DEFAULT_KIND, KINDS, get_kind
from regard.settings.model import ModelSettings
from regard.settings.renamed import RENAMED
from regard.settings.tokenizer import TokenizerSettings
from regard.settings.train import TrainSettings


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of all sections."""

    model: ModelSettings = field(default_factory=KINDS[DEFAULT_KIND].settings)
    tokenizer: TokenizerSettings = field(default_factory=TokenizerSettings)
    train: TrainSettings = field(default_factory=TrainSettings)
    decode: DecodeSettings = field(default_factory=DecodeSettings)


SECTIONS = tuple(one.name for one in dataclasses.fields(Settings))

_CLASSES: dict[str, Any] = {one.section: one for one in (TokenizerSettings, TrainSettings, DecodeSettings)}


def assemble(*layers: Overrides) -> Settings:
    """Return the default settings, changed by each layer of overrides in turn; later layers take precedence."""
    merged: dict[str, dict[str, Any]] = {name: {} for name in SECTIONS}
    for layer in layers:
        for section, values in layer.items():
            merged[section].update(values)
        if "micro_batch_tokens" in layer.get("train", {}):
            _check_micro_batch(merged["train"])
    return settings_from_dict(merged)


def _check_micro_batch(train: Mapping[str, Any]) -> None:
    """Raise a `SettingsError` if a layer sets a micro-batch above the batch of this layer and the layers before it."""
    batch, micro_batch = train.get("batch_tokens", TrainSettings.batch_tokens), train["micro_batch_tokens"]
    if isinstance(batch, int) and isinstance(micro_batch, int) and micro_batch > batch:
        raise SettingsError(
            f"train.micro_batch_tokens is {micro_batch:,}, but a step has only {batch:,} tokens (train.batch_tokens): "
            "lower train.micro_batch_tokens, or raise train.batch_tokens too"
        )


def settings_from_dict(sections: Overrides) -> Settings:
    """Create the settings of all sections from one dictionary for each section."""
    classes = {name: section_class(name, kind_of(sections)) for name in SECTIONS}
    return Settings(**{name: from_dict(classes[name], sections[name]) for name in SECTIONS})


def kind_of(overrides: Overrides) -> str:
    """Return the kind of model that settings are about."""
    kind = overrides.get("model", {}).get("kind", DEFAULT_KIND)
    return str(kind)


def section_class(section: str, kind: str) -> Any:
    """Return the class of the settings of a section, for a kind of model."""
    return get_kind(kind).settings if section == ModelSettings.section else _CLASSES[section]


T = TypeVar("T", bound=ModelSettings | TokenizerSettings | TrainSettings | DecodeSettings)


def from_dict(section_class: type[T], values: Mapping[str, Any]) -> T:
    """Create a section of settings from a dictionary; raise a `SettingsError` if it contains an unknown name."""
    known = [one.name for one in dataclasses.fields(section_class)]
    for name in values:
        if name not in known:
            raise SettingsError(unknown_name(section_class.section, name, known))
    return section_class(**values)


def check_name(section: str, name: str, kind: str, where: str = "") -> None:
    """Raise a `SettingsError` if a section has no setting of this name; `kind` is the kind of model."""
    known = setting_names(section, kind)
    if name not in known:
        raise SettingsError(where + unknown_name(section, name, known))


def unknown_name(section: str, name: str, known: list[str]) -> str:
    """Return the error message about a name that is not a setting: the new name, the right kind or a similar name."""
    if new_name := RENAMED.get(f"{section}.{name}"):
        return f"{section}.{name} is now {new_name}"
    owners = [kind for kind in KINDS if name in setting_names(section, kind)]
    if owners:
        return f"{section}.{name} is a setting of {' and '.join(owners)} models only"
    return f"unknown setting {section}.{name}{nearest(name, known, section + '.')}"


def setting_names(section: str, kind: str = DEFAULT_KIND) -> list[str]:
    return [field.name for field in dataclasses.fields(section_class(section, kind))]


def check_section(section: str) -> None:
    if section not in SECTIONS:
        raise SettingsError(f"unknown section {section!r}; the sections are {', '.join(SECTIONS)}")
