"""Describes the public interface as lines of text: Python names, commands with their flags, and settings."""

import dataclasses
import inspect
import re
from collections.abc import Iterator
from typing import Any

import click

import regard
from regard.cli import main
from regard.settings.reference import find_settings


def interface_lines() -> Iterator[str]:
    yield "# Python"
    for name in regard.__all__:
        yield from _python_lines(f"regard.{name}", getattr(regard, name))
    yield "# Commands"
    yield from _command_lines("regard", main)
    yield "# Settings"
    for setting in find_settings():
        yield f"{setting.name}: {setting.type} = {setting.default}"


def _python_lines(name: str, value: Any) -> Iterator[str]:
    if not inspect.isclass(value):
        yield name + _signature(value)
        return
    yield f"class {name}({', '.join(base.__name__ for base in value.__bases__)})"
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield f"{name}.{field.name}: {field.type}"
    for member, defined in _public_members(value):
        yield f"{name}.{member}" + (_signature(defined) if callable(defined) else "")


def _signature(function: Any) -> str:
    """Return the signature of a function, without the address of a default that is a function."""
    return re.sub(r"<function .*? at 0x[0-9a-f]+>", "<function>", str(inspect.signature(function)))


def _public_members(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield public methods and properties, inherited ones of Regard included."""
    own = [base for base in kind.__mro__ if base.__module__.startswith("regard")]
    names = {name: vars(base)[name] for base in reversed(own) for name in vars(base) if not name.startswith("_")}
    for name in sorted(names):
        defined = names[name]
        if callable(defined) or isinstance(defined, property):
            yield name, defined


def _command_lines(path: str, command: click.Command) -> Iterator[str]:
    for parameter in command.params:
        names = " ".join((*parameter.opts, *parameter.secondary_opts))
        yield f"{path} {names}" + (f" {parameter.type.name}" if isinstance(parameter, click.Option) else "")
    if isinstance(command, click.Group):
        for name, inner in sorted(command.commands.items()):
            yield f"{path} {name}"
            yield from _command_lines(f"{path} {name}", inner)
