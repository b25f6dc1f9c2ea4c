"""Helper functions to declare and check settings."""

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from regard.errors import SettingsError

AUTO = -1  # value that means "choose automatically", for settings in which 0 has another meaning

Overrides = Mapping[str, Mapping[str, Any]]  # values of settings by section and name

TYPE_NAMES: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "text",
    tuple[str, ...]: "a list of texts",
}


def setting(default: Any, help: str) -> Any:
    """Declare a setting with its default and its help text."""
    return field(default=default, metadata={"help": help})


def nearest(name: str, names: Mapping[str, Any] | Sequence[str], prefix: str = "") -> str:
    """Return the end of an error message about an unknown name: it suggests the most similar of the known `names`."""
    close = difflib.get_close_matches(name, list(names), n=1)
    if close:
        return f"; did you mean {prefix}{close[0]}?"
    return "; `regard settings` lists all settings" if prefix else ""


@cache
def _type_hints(settings: Any) -> dict[str, Any]:
    return get_type_hints(settings)


def check_types(settings: Any) -> None:
    """Raise a `SettingsError` if a setting has a value of the wrong type, or a value that is not one of its choices."""
    hints = _type_hints(type(settings))  # type: ignore[arg-type]  # mypy says that a class is not hashable
    for name in [one.name for one in fields(settings)]:
        value = getattr(settings, name)
        check_type(f"{settings.section}.{name}", value, hints[name])
        if hints[name] is float:
            object.__setattr__(settings, name, float(value))


def check_type(where: str, value: Any, wanted: Any) -> None:
    """Raise a `SettingsError` if the value of a setting has the wrong type; `where` is its section and name."""
    if get_origin(wanted) is Literal:
        if value not in get_args(wanted):
            raise SettingsError(f"{where} must be one of {', '.join(map(str, get_args(wanted)))}, got {value!r}")
    elif type(value) is not (get_origin(wanted) or wanted) and not (wanted is float and type(value) is int):
        raise SettingsError(f"{where} must be {TYPE_NAMES[wanted]}, got {value!r}")
    elif wanted is float and not math.isfinite(value):
        raise SettingsError(f"{where} must be a finite number, got {value}")


def check_limits(settings: Any) -> None:
    """Raise a `SettingsError` if a setting exceeds its maximum value, which is in `settings.limits`."""
    for name, limit in settings.limits.items():
        if getattr(settings, name) > limit:
            raise SettingsError(f"{settings.section}.{name} must be at most {limit:,}, got {getattr(settings, name):,}")


def check_at_least(settings: Any, name: str, least: int) -> None:
    if getattr(settings, name) < least:
        raise SettingsError(f"{settings.section}.{name} must be at least {least}, got {getattr(settings, name)}")
