"""The four sections of settings: model, tokenizer, train and decode.

Each setting is declared once, with its default, type and meaning; help and documentation are generated from the
declarations. This package imports only the standard library, so that `--help` is fast.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from regard.errors import SettingsError
from regard.settings.decode import DecodeSettings
from regard.settings.fields import nearest
from regard.settings.kinds.transformer import TransformerSettings
from regard.settings.renamed import RENAMED
from regard.settings.tokenizer import TokenizerSettings
from regard.settings.train import TrainSettings


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of all sections."""

    model: TransformerSettings = field(default_factory=TransformerSettings)
    tokenizer: TokenizerSettings = field(default_factory=TokenizerSettings)
    train: TrainSettings = field(default_factory=TrainSettings)
    decode: DecodeSettings = field(default_factory=DecodeSettings)


Overrides = Mapping[str, Mapping[str, Any]]


def assemble(*layers: Overrides) -> Settings:
    """Return the default settings, changed by each layer of overrides in turn; later layers take precedence."""
    merged: dict[str, dict[str, Any]] = {name: {} for name in SECTIONS}
    for layer in layers:
        for section, values in layer.items():
            merged[section].update(values)
        if "micro_batch_tokens" in layer.get("train", {}):
            _check_micro_batch(merged["train"])
    return Settings(**{name: from_dict(SECTIONS[name], merged[name]) for name in SECTIONS})


def _check_micro_batch(train: Mapping[str, Any]) -> None:
    """Raise a `SettingsError` if a layer sets a micro-batch above the batch of this layer and the layers before it."""
    batch, micro_batch = train.get("batch_tokens", TrainSettings.batch_tokens), train["micro_batch_tokens"]
    if isinstance(batch, int) and isinstance(micro_batch, int) and micro_batch > batch:
        raise SettingsError(
            f"train.micro_batch_tokens is {micro_batch:,}, but a step has only {batch:,} tokens (train.batch_tokens): "
            "lower train.micro_batch_tokens, or raise train.batch_tokens too"
        )


T = TypeVar("T", TransformerSettings, TokenizerSettings, TrainSettings, DecodeSettings)

SECTIONS: dict[str, Any] = {
    kind.section: kind for kind in (TransformerSettings, TokenizerSettings, TrainSettings, DecodeSettings)
}


def from_dict(kind: type[T], values: Mapping[str, Any]) -> T:
    """Create a section of settings from a dictionary; raise a `SettingsError` if it contains an unknown name."""
    for name in values:
        check_name(kind.section, name)
    return kind(**values)


def check_name(section: str, name: str, where: str = "") -> None:
    if new_name := RENAMED.get(f"{section}.{name}"):
        raise SettingsError(f"{where}{section}.{name} is now {new_name}")
    names = setting_names(section)
    if name not in names:
        raise SettingsError(f"{where}unknown setting {section}.{name}{nearest(name, names, section + '.')}")


def setting_names(section: str) -> list[str]:
    return [field.name for field in dataclasses.fields(SECTIONS[section])]


def check_section(section: str) -> None:
    if section not in SECTIONS:
        raise SettingsError(f"unknown section {section!r}; the sections are {', '.join(SECTIONS)}")
