"""The command `regard` itself, and the options that several commands share."""

import os
from pathlib import Path
from typing import Any

import click

from regard import __version__, bundled
from regard.console import fail, listen
from regard.errors import UserError

SET = click.option(
    "--set", "overrides", multiple=True, metavar="SECTION.NAME=VALUE", help="Change a setting, e.g. decode.beams=1."
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
    found = bundled.chosen(languages)
    name = Path(found.name)
    # The name alone reads better wherever it is shown; but a folder here that is called so would be another model.
    shown = name if bundled.named(name) == found else found
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


class _Commands(click.Group):
    """Turns errors that a user can mend into one line and exit code 2."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except UserError as error:
            fail(str(error))
            context.exit(2)
        except KeyboardInterrupt:
            context.exit(130)
        except OSError as error:
            # A full disk, a folder that may not be written: nothing of ours is wrong, and nothing is half done.
            fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
            context.exit(2)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="regard")
def main() -> None:
    """Regard: two text files in, a translator out.

    \b
    regard translate "I am a student."
    regard check train.en train.fr
    regard train train.en train.fr --out my-model
    regard translate --model my-model "I am a student."
    regard evaluate --model my-model test.tsv
    regard look --model my-model "I am a student."
    """
    listen()
