"""Reads settings from TOML files and from options such as `--set train.steps=100`."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_origin, get_type_hints

from regard.errors import SettingsError
from regard.settings.decode import DecodeSettings
from regard.settings.fields import TYPE_NAMES, Overrides, check_type, nearest
from regard.settings.kinds import get_kind
from regard.settings.sections import (
    SECTIONS,
    check_name,
    check_section,
    kind_of,
    section_class,
    setting_names,
)


def user_overrides(overrides: Sequence[str] = (), file: Path | None = None) -> Overrides:
    """Return the settings that the user changes, by section; `overrides` take precedence over the TOML file."""
    merged: dict[str, dict[str, Any]] = {name: {} for name in SECTIONS}
    file_values = read_sections(file) if file else {}
    kind = _requested_kind(overrides) or kind_of(file_values)
    get_kind(kind)
    for section, values in file_values.items():
        for name in values:
            check_name(section, name, kind, f"{file}: ")
    for layer in (file_values, _parse(overrides, kind)):
        for section, values in layer.items():
            merged[section].update(values)
    return {section: values for section, values in merged.items() if values}


def _requested_kind(overrides: Sequence[str]) -> str | None:
    """Return the kind of model that overrides ask for; the names of all model settings depend on it.

    `--kind` is one of the overrides. Raise a `SettingsError` if the overrides ask for several kinds.
    """
    split = (one.partition("=") for one in overrides)
    kinds = list(dict.fromkeys(value.strip() for path, _, value in split if path == "model.kind"))
    if len(kinds) > 1:
        raise SettingsError(f"the kind of model is given as {' and as '.join(kinds)}; give it once, with --kind")
    return kinds[0] if kinds else None


def decode_overrides(overrides: Sequence[str], file: Path | None = None) -> dict[str, Any]:
    """Return the decode settings that the user changes, by name, after checking their types.

    Whether their values fit together depends on the settings of the model, which the caller changes by them. Raise a
    `SettingsError` for a setting of another section, because it would have no effect.
    """
    user = user_overrides(overrides, file)
    for section, values in user.items():
        if section != "decode":
            name = next(iter(values))
            raise SettingsError(
                f"{section}.{name} has no effect here{nearest(name, setting_names('decode'), 'decode.')}"
            )
    changes = dict(user.get("decode", {}))
    hints = get_type_hints(DecodeSettings)
    for name, value in changes.items():
        check_type(f"decode.{name}", value, hints[name])
    return changes


def extra_outputs(changes: Mapping[str, Any]) -> list[str]:
    """Return the decode settings among `changes` that ask for more than the text of the best translation."""
    asked = {"n_best": changes.get("n_best", 1) > 1}
    asked |= {name: changes.get(name, False) for name in ("scores", "log_probabilities", "alignment")}
    return [f"decode.{name}" for name, wanted in asked.items() if wanted]


def read_sections(path: Path, check: Callable[[str], None] = check_section) -> dict[str, dict[str, Any]]:
    """Return the sections of a TOML file; `check` raises an error if the name of one is not known."""
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise SettingsError(f"{path}: no such settings file") from None
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read ({error.strerror}); give a TOML file of settings") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: not valid TOML: {error}") from None
    for section, values in content.items():
        check(section)
        if not isinstance(values, dict):
            raise SettingsError(f"{path}: {section} must be a section, written [{section}]")
    return content


def _parse(overrides: Sequence[str], kind: str) -> dict[str, dict[str, Any]]:
    """Parse overrides: `["train.steps=100"]` becomes `{"train": {"steps": 100}}`."""
    result: dict[str, dict[str, Any]] = {}
    for override in overrides:
        path, equals, text = override.partition("=")
        section, dot, name = path.partition(".")
        if not (equals and dot):
            owners = [one for one in SECTIONS if equals and path in setting_names(one, kind)]
            form = f"{owners[0]}.{override}" if len(owners) == 1 else "section.name=value, for example train.steps=4000"
            raise SettingsError(f"--set {override}: write it as {form}")
        check_section(section)
        check_name(section, name, kind)
        hints = get_type_hints(section_class(section, kind))
        result.setdefault(section, {})[name] = typed(text, hints[name], f"{section}.{name}")
    return result


def typed(text: str, wanted: Any, where: str) -> Any:
    """Return the value that a text stands for; raise a `SettingsError` if it has the wrong type."""
    if wanted is str:
        return text  # not stripped, because the user may want the spaces
    text = text.strip()
    if get_origin(wanted) is Literal:
        return text
    if wanted is bool:
        if text not in ("true", "false"):
            raise SettingsError(f"{where} must be true or false, got {text!r}")
        return text == "true"
    try:
        return wanted(text.replace("_", "")) if wanted is int else wanted(text)
    except ValueError:
        raise SettingsError(f"{where} must be {TYPE_NAMES[wanted]}, got {text!r}") from None
