"""Lists all settings, for `regard settings` and docs/reference/settings.md."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

from regard.errors import SettingsError
from regard.settings.fields import TYPE_NAMES, Overrides
from regard.settings.kinds import DEFAULT_KIND, KINDS
from regard.settings.sections import SECTIONS, section_class
from regard.settings.serve import ServeSettings

_HOW = """\
Change a setting with `--set section.name=value`, or several in a TOML file with `--config`. Commands that use a model
take the settings of `decode` only. `regard serve` takes those of `serve`, and its TOML file those of `decode` too
([serving.md](../how-to/serving.md))."""


@dataclass(frozen=True)
class Setting:
    """The description of one setting."""

    name: str  # section and name, such as "train.steps"
    default: Any
    type: str
    meaning: str


def find_settings(word: str = "") -> list[Setting]:
    """Return all settings whose name or meaning contains a word; with an empty word, return all settings."""
    found = [one for _, _, settings in _tables(word) for one in settings]
    if not found:
        raise SettingsError(f"no setting has {word!r} in its name or meaning; `regard settings` lists all settings")
    return list(dict.fromkeys(found))


def _tables(word: str) -> Iterator[tuple[str, Any, list[Setting]]]:
    """Yield the title, the class and the matching settings of each section, and of the models of all kinds."""
    for section in (*SECTIONS, ServeSettings.section):
        kinds = KINDS if section == "model" else (DEFAULT_KIND,)
        for settings_class in dict.fromkeys(_section_class(section, kind) for kind in kinds):
            hints = get_type_hints(settings_class)
            every = [
                Setting(f"{section}.{field.name}", field.default, _type_name(hints[field.name]), field.metadata["help"])
                for field in dataclasses.fields(settings_class)
            ]
            title = section
            if section == "model" and len(KINDS) > 1:
                title += f" of {', '.join(kind for kind in KINDS if KINDS[kind].settings is settings_class)}"
            yield (
                title,
                settings_class,
                [one for one in every if word.casefold() in f"{one.name} {one.meaning}".casefold()],
            )


def _section_class(section: str, kind: str) -> Any:
    return ServeSettings if section == ServeSettings.section else section_class(section, kind)


def as_markdown(word: str = "") -> str:
    """Return Markdown tables of the settings that match a word, and of the values that each model size changes."""
    names = {one.name for one in find_settings(word)}
    lines = ["# Settings", "", _HOW, ""]
    for title, settings_class, settings in _tables(word):
        rows = [(f"`{one.name}`", _as_typed(one.default), one.type, one.meaning) for one in settings]
        if rows:
            table = _table(("name", "default", "type", "meaning"), *rows)
            lines += [f"## {title}", "", settings_class.__doc__, "", *table, ""]
    for kind in KINDS:
        changes = [(f"`{size}`", _changes(values, names)) for size, values in KINDS[kind].sizes.items()]
        if any(settings for _, settings in changes):
            lines += [
                f"## Sizes of {kind} models" if len(KINDS) > 1 else "## Sizes",
                "",
                "The defaults that each size changes.",
                "",
                *_table(("size", "settings"), *(change for change in changes if change[1])),
                "",
            ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _changes(size: Overrides, names: set[str]) -> str:
    """Return, as a text, the settings among `names` that a model size changes."""
    return ", ".join(
        f"`{section}.{name}={_as_typed(value)}`"
        for section, values in size.items()
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
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
