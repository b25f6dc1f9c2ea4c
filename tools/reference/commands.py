"""Describes every command as Markdown, from the definitions that also print its --help."""

import inspect
import re
from collections.abc import Iterator

import click

from regard.cli import main

_INTRODUCTION = """\
# Commands

`regard COMMAND --help` prints the same. Every option that stands in several commands means the same in all of them.
Exit codes: 0 for success, 2 for an error that you can fix (its message says how), 130 if you interrupted the command;
other codes are bugs.
"""


def commands_page() -> str:
    return "\n".join([_INTRODUCTION, *_describe("regard", main)]).rstrip() + "\n"


def _describe(path: str, command: click.Command) -> Iterator[str]:
    if path != "regard":
        yield from (f"{'#' * len(path.split())} {path}", "")
        usage = command.get_usage(click.Context(command, info_name=path)).removeprefix("Usage: ")
        yield from (f"    {' '.join(usage.split())}", "")
        yield from (_as_markdown(command.help or ""), "")
        if rows := [_row(option) for option in command.params if isinstance(option, click.Option)]:
            yield from ("| option | value | meaning |", "|---|---|---|", *rows, "")
    if isinstance(command, click.Group):
        for name, inner in sorted(command.commands.items()):
            yield from _describe(f"{path} {name}", inner)


def _as_markdown(help_text: str) -> str:
    r"""Return a help text as Markdown. Click keeps the lines of a paragraph that starts with \b as they are."""
    paragraphs = inspect.cleandoc(help_text).split("\n\n")
    return "\n\n".join(
        "\n".join(f"    {line}" for line in paragraph.splitlines()[1:]) if paragraph.startswith("\b") else paragraph
        for paragraph in paragraphs
    )


def _row(option: click.Option) -> str:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    context = click.Context(click.Command("regard"))
    value = "" if option.is_flag else option.make_metavar(context).replace("|", r"\|")
    extra = option.get_help_extra(context)
    notes = [
        f"default: {extra['default']}" if "default" in extra else "",
        extra.get("range", ""),
        extra.get("required", ""),
    ]
    meaning = re.sub(r"\s+", " ", option.help or "")
    return f"| {names} | {value} | {meaning}{''.join(f' [{note}]' for note in notes if note)} |"
