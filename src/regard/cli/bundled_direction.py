"""Chooses between the bundled models by the language of the text, for users who name neither a model nor languages."""

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

import click
from click.core import ParameterSource

from regard.language_id import Identification, LanguageIdentifier
from regard.model_folder import bundled
from regard.model_folder.language_profiles import read_bundled_profiles

_LINES = 100  # of the first group of lines, which decide the direction of all lines


def is_direction_open() -> bool:
    """Return whether the user of the current command chose neither a model nor languages."""
    context = click.get_current_context()
    return context.get_parameter_source("models") is ParameterSource.DEFAULT and not context.meta.get("languages")


def identify_language(
    groups: Iterable[Iterator[str]],
) -> tuple[Identification | None, Iterable[Iterator[str]]]:
    """Return the language of the first lines, and all groups of lines, as if nothing had been read from them.

    The result is None if there are no lines, or if the bundled models have no language profiles.
    """
    profiles = read_bundled_profiles()
    remaining = iter(groups)
    first = next(remaining, None)
    if first is None or not profiles:
        return None, groups if first is None else chain([first], remaining)
    lines: list[str] = []
    problem: Exception | None = None
    try:
        lines.extend(islice(first, _LINES))
    except Exception as error:
        problem = error
    found = LanguageIdentifier(profiles).identify("\n".join(lines)) if lines else None
    return found, chain([_again(lines, problem, first)], remaining)


def choose_direction(found: Identification) -> tuple[Path, str]:
    """Return the bundled model that translates a text of this language, and a message that says so."""
    name = bundled.from_language(found.language) or bundled.DEFAULT
    source, target = (bundled.LANGUAGE_NAMES[language] for language in name.split("-"))
    model = bundled.display_path(bundled.HERE / name)
    if found.language is None:
        return model, f"unknown language: translating from {source} to {target} ({name}); choose with --languages"
    return model, f"{source} text: translating to {target} ({name}); choose with --languages"


def _again(lines: list[str], problem: Exception | None, rest: Iterator[str]) -> Iterator[str]:
    """Yield lines that were read already, raise the error that ended the reading, if any, and yield the rest."""
    yield from lines
    if problem is not None:
        raise problem
    yield from rest
