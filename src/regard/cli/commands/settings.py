"""`regard settings`: the reference of all settings."""

import json
from dataclasses import asdict

import click

from regard.cli.main import main
from regard.settings.reference import as_markdown, find_settings


@main.command()
@click.argument("word", default="")
@click.option("--json", "as_json", is_flag=True, help="The settings as JSON.")
def settings(word: str, as_json: bool) -> None:
    """List every setting, or those whose name or meaning contains WORD: default, type, meaning, and size presets."""
    if as_json:
        click.echo(json.dumps([asdict(one) for one in find_settings(word)], indent=2))
    else:
        click.echo(as_markdown(word), nl=False)
