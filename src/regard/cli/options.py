"""Options that several commands share."""

import os
from pathlib import Path
from typing import Any

import click

from regard.errors import UserError
from regard.model_folder import bundled

SET = click.option(
    "--set", "overrides", multiple=True, metavar="SECTION.NAME=VALUE", help="Change a setting, e.g. decode.beam_size=1."
)

FAST = click.option(
    "--fast",
    type=click.Choice(["float32", "int8", "int16", "bfloat16"]),
    default="float32",
    show_default=True,
    help="How to compute; less precise is quicker.",
)


def _or_bundled(context: click.Context, parameter: click.Parameter, given: Any) -> Any:
    """What was given; else the bundled model, of the languages that were asked for."""
    languages = context.meta.get("languages")
    if given and languages:
        raise UserError("--languages chooses among the bundled models, and --model names one; leave one of them out")
    if given or context.resilient_parsing:
        return given
    found = bundled.for_languages(languages)
    name = Path(found.name)
    # The name alone reads better wherever it is shown; but a folder here that is called so would be another model.
    shown = name if bundled.resolve(name) == found else found
    return (shown,) if parameter.multiple else shown


def _remember(context: click.Context, parameter: click.Parameter, given: tuple[str, str] | None) -> None:
    context.meta["languages"] = given


_MODEL = "A model folder, or a bundled model's name; without it, the bundled en-fr"

MODEL = click.option("--model", callback=_or_bundled, type=click.Path(path_type=Path), help=f"{_MODEL}.")

MODELS = click.option(
    "--model",
    "models",
    callback=_or_bundled,
    multiple=True,
    type=click.Path(path_type=Path),
    help=f"{_MODEL}. Given several times, the models decide together.",
)

LANGUAGES = click.option(
    "--languages",
    nargs=2,
    metavar="SOURCE TARGET",
    is_eager=True,  # known before --model, which asks for it
    expose_value=False,
    callback=_remember,
    help="Instead of --model: the bundled model of these languages.",
)


class _NewFile(click.Path):
    """A file to write; whether there is a place for it is asked before the work for it begins."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if not path.parent.is_dir():
            raise UserError(f"{path}: there is no folder {path.parent}; make it first")
        if path.is_dir():
            raise UserError(f"{path} is a folder; give the name of a file")
        return path


NEW_FILE = _NewFile(path_type=Path)
