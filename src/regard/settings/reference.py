"""Lists all settings, for `regard settings` and docs/settings.md."""

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

from regard.errors import SettingsError
from regard.settings.fields import TYPE_NAMES
from regard.settings.sections import Settings
from regard.settings.sizes import SIZES

_HOW = """\
Change a setting with `--set section.name=value`, or several in a TOML file with `--config`. Commands that use a model
take the settings of `decode` only."""

SECTIONS: dict[str, Any] = {field.name: field.default_factory for field in dataclasses.fields(Settings)}


@dataclass(frozen=True)
class Setting:
    """The description of one setting."""

    name: str  # section and name, such as "train.steps"
    default: Any
    type: str
    meaning: str


def find_settings(word: str = "") -> list[Setting]:
    """Return all settings whose name or meaning contains a word; with an empty word, return all settings."""
    every = [
        Setting(
            f"{section}.{field.name}",
            field.default,
            _type_name(get_type_hints(kind)[field.name]),
            field.metadata["help"],
        )
        for section, kind in SECTIONS.items()
        for field in dataclasses.fields(kind)
    ]
    found = [one for one in every if word.casefold() in f"{one.name} {one.meaning}".casefold()]
    if not found:
        raise SettingsError(f"no setting has {word!r} in its name or meaning; `regard settings` lists all settings")
    return found


def as_markdown(word: str = "") -> str:
    """Return Markdown tables of the settings that match a word, and of the values that each model size changes."""
    found = find_settings(word)
    lines = ["# Settings", "", _HOW, ""]
    for section, kind in SECTIONS.items():
        rows = [
            (f"`{one.name}`", _as_typed(one.default), one.type, one.meaning)
            for one in found
            if one.name.startswith(f"{section}.")
        ]
        if rows:
            lines += [f"## {section}", "", kind.__doc__, "", *_table(("name", "default", "type", "meaning"), *rows), ""]
    names = {one.name for one in found}
    changes = [(f"`{size}`", _changes(size, names)) for size in SIZES if _changes(size, names)]
    if changes:
        lines += [
            "## Sizes",
            "",
            "The defaults that each size changes.",
            "",
            *_table(("size", "settings"), *changes),
        ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _changes(size: str, names: set[str]) -> str:
    """Return, as a text, the settings among `names` that a model size changes."""
    return ", ".join(
        f"`{section}.{name}={_as_typed(value)}`"
        for section, values in SIZES[size].items()
        for name, value in values.items()
        if f"{section}.{name}" in names
    )


def _table(*rows: tuple[str, ...]) -> list[str]:
    """Return a Markdown table that is also readable on a terminal."""
    widths = [*(max(map(len, column)) for column in list(zip(*rows, strict=True))[:-1]), 0]
    padded = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    rule = "|".join("-" * (width + 2 if width else 3) for width in widths)
    return [f"| {padded[0]} |", f"|{rule}|", *(f"| {row} |" for row in padded[1:])]


def _type_name(wanted: Any) -> str:
    if get_origin(wanted) is Literal:
        *others, last = get_args(wanted)
        return f"{', '.join(others)} or {last}" if others else last
    return TYPE_NAMES[wanted].removeprefix("a ")


def _as_typed(value: Any) -> str:
    """Return a value as the user would type it after `--set`."""
    return str(value).lower() if isinstance(value, bool) else str(value)
