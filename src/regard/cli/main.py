"""The command `regard`, which contains all other commands, and turns errors into messages and exit codes."""

from typing import Any

import click

from regard import __version__
from regard.cli.renamed import new_name
from regard.console import fail, show_log_messages
from regard.errors import UserError
from regard.machine.process import tune


class _Command(click.Command):
    """A command that refuses an option given twice, if only the last value would be used."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        _, _, order = self.make_parser(ctx).parse_args(list(args))
        for option in order:
            single = isinstance(option, click.Option) and not option.multiple and not option.is_flag
            if single and order.count(option) > 1:
                raise click.UsageError(f"{max(option.opts, key=len)} was given twice; give it once", ctx)
        return super().parse_args(ctx, args)


class _Group(click.Group):
    """A group of commands, such as `regard measure`."""

    command_class = _Command


class _Commands(_Group):
    """A group of commands that prints a message for a user error, without a traceback, and exits with code 2."""

    group_class = _Group

    def main(self, *args: Any, **extra: Any) -> Any:
        tune()  # must happen before any command imports torch or CTranslate2
        return super().main(*args, **extra)

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except click.UsageError as error:
            if replacement := new_name(error):
                raise click.UsageError(replacement, error.ctx) from None
            raise
        except UserError as error:
            fail(str(error))
            context.exit(2)
        except KeyboardInterrupt:
            context.exit(130)
        except OSError as error:
            # For example, the disk is full, or the user may not write to a folder.
            fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
            context.exit(2)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="regard")
def main() -> None:
    """Train, use and inspect translation models.

    \b
    regard translate "I am a student."
    regard check train.en train.fr
    regard train train.en train.fr --out my-model
    regard translate --model my-model "I am a student."
    regard evaluate --model my-model test.tsv
    regard look --model my-model "I am a student."
    """
    show_log_messages()
