"""`regard settings`: lists all settings."""

import json
from dataclasses import asdict

import click

from regard.cli.main import main
from regard.settings.reference import as_markdown, find_settings


@main.command()
@click.argument("word", default="")
@click.option("--json", "as_json", is_flag=True, help="The settings as JSON.")
def settings(word: str, as_json: bool) -> None:
    """List all settings, with default, type and meaning.

    With WORD, list only those whose name or meaning contains it. The list ends with the settings that each model size
    changes.
    """
    if as_json:
        click.echo(json.dumps([asdict(one) for one in find_settings(word)], indent=2))
    else:
        click.echo(as_markdown(word), nl=False)
