"""The command `regard` itself, and the options that several commands share."""

from typing import Any

import click

from regard import __version__
from regard.console import fail, listen
from regard.errors import UserError


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
