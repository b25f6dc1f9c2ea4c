"""Reads the configuration of the server: flag, else environment variable, else file, else default.

A variable such as REGARD_SERVE_PORT sets `serve.port`. The file is TOML with the sections `[serve]` and `[decode]`; the
second changes how all served models translate. Nothing in the configuration is secret: keys are in a file of their own.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_type_hints

from regard.errors import SettingsError
from regard.settings.decode import DecodeSettings
from regard.settings.fields import check_type, nearest
from regard.settings.parser import read_sections, typed
from regard.settings.serve import ServeSettings

_PREFIX = "REGARD_SERVE_"

_TYPES = get_type_hints(ServeSettings)
_NAMES = [field.name for field in fields(ServeSettings)]
_DECODE_NAMES = [field.name for field in fields(DecodeSettings) if field.name not in DecodeSettings.per_call]


@dataclass(frozen=True)
class Configuration:
    """The settings of the server, where each of them comes from, and changes to the decode settings of all models."""

    settings: ServeSettings
    sources: Mapping[str, str]
    decode: Mapping[str, Any]

    def lines(self) -> list[str]:
        """Return all effective values as TOML, each with its source as a comment."""
        values = [f"{name} = {_toml(getattr(self.settings, name))}  # {self.sources[name]}" for name in _NAMES]
        decode = [f"{name} = {_toml(value)}" for name, value in self.decode.items()]
        return ["[serve]", *values, *(["", "[decode]", *decode] if decode else [])]


def read_configuration(
    flags: Mapping[str, Any], overrides: Sequence[str], file: Path | None, environment: Mapping[str, str]
) -> Configuration:
    """Return the configuration; raise a `SettingsError` that says which value is wrong, and where it is."""
    content = _read(file) if file else {}
    serve, decode = content.get("serve", {}), content.get("decode", {})
    values: dict[str, Any] = {}
    sources = dict.fromkeys(_NAMES, "default")
    for name, value in serve.items():
        values[name], sources[name] = tuple(value) if isinstance(value, list) else value, str(file)
    for variable, text in environment.items():
        if variable.startswith(_PREFIX):
            name = variable.removeprefix(_PREFIX).lower()
            _check_known(name, _NAMES, f"{variable}: ", "serve")
            values[name], sources[name] = _typed(name, text, variable), variable
    for override in overrides:
        name, value = _override(override)
        values[name], sources[name] = value, "--set"
    for name, value in flags.items():
        values[name], sources[name] = value, f"--{_FLAGS.get(name, name).replace('_', '-')}"
    for name, value in values.items():
        check_type(f"{sources[name]}: serve.{name}", value, _TYPES[name])
    return Configuration(ServeSettings(**values), sources, decode)


_FLAGS = {"models": "model", "allow_hosts": "allow-host"}  # flags that can be repeated are in the singular


def _read(file: Path) -> dict[str, dict[str, Any]]:
    known = {"serve": _NAMES, "decode": _DECODE_NAMES}

    def check(section: str) -> None:
        if section not in known:
            raise SettingsError(f"{file}: unknown section {section!r}; the sections of a server are serve and decode")

    content = read_sections(file, check)
    for section, values in content.items():
        for name in values:
            _check_known(name, known[section], f"{file}: ", section)
    hints = get_type_hints(DecodeSettings)
    for name, value in content.get("decode", {}).items():
        check_type(f"{file}: decode.{name}", value, hints[name])
    return content


def _override(override: str) -> tuple[str, Any]:
    path, equals, text = override.partition("=")
    section, _, name = path.partition(".")
    if section != "serve" or not equals:
        raise SettingsError(f"--set {override}: write it as serve.name=value, for example serve.char_limit=10000")
    _check_known(name, _NAMES, "--set: ", "serve")
    return name, _typed(name, text, f"serve.{name}")


def _check_known(name: str, known: list[str], where: str, section: str) -> None:
    if name not in known:
        raise SettingsError(f"{where}unknown setting {section}.{name}{nearest(name, known, section + '.')}")


def _typed(name: str, text: str, where: str) -> Any:
    if _TYPES[name] == tuple[str, ...]:
        return tuple(each.strip() for each in text.split(",") if each.strip())
    return typed(text, _TYPES[name], where)


def _toml(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)  # a text of JSON is one of TOML
    return str(value).lower() if isinstance(value, bool) else str(value)
