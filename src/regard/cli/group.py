"""The command `regard` itself, and the options that several commands share."""

from pathlib import Path
from typing import Any

import click

from regard import __version__
from regard.console import fail
from regard.errors import UserError

SET = click.option(
    "--set", "overrides", multiple=True, metavar="SECTION.NAME=VALUE", help="Change any setting, e.g. decode.beams=1."
)
FAST = click.option(
    "--fast",
    type=click.Choice(["float32", "int8", "int16", "bfloat16"]),
    default="float32",
    show_default=True,
    help="How to compute; less precise is quicker.",
)
MODEL = click.option("--model", required=True, type=click.Path(path_type=Path), help="A model folder.")
MODELS = click.option(
    "--model",
    "models",
    required=True,
    multiple=True,
    type=click.Path(path_type=Path),
    help="A model folder; given several times, the models decide together.",
)


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
    regard check train.en train.fr
    regard train train.en train.fr --out my-model
    regard translate --model my-model "I am a student."
    regard evaluate --model my-model test.tsv
    regard look --model my-model "I am a student."
    """
