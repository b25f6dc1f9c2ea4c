"""`regard bench`, `regard doctor` and `regard settings`: this machine, and what can be set."""

import json
import sys
from dataclasses import asdict
from itertools import chain
from pathlib import Path

import click

from regard.cli.group import FAST, MODEL, SET, main
from regard.cli.standard_input import turns
from regard.console import fail, say, show_lines, show_pace, show_speed, show_work
from regard.errors import UserError
from regard.listing import as_markdown, listed
from regard.settings import SIZES, decode_settings, user_layer


@main.group()
def bench() -> None:
    """Measure a model on this machine."""


@bench.command("translate")
@MODEL
@click.option("--json", "as_json", is_flag=True, help="The figures as JSON.")
@FAST
@SET
def bench_translate(model: Path, as_json: bool, fast: str, overrides: tuple[str, ...]) -> None:
    """Measure how fast a model translates lines of standard input; it takes about a minute."""
    decode_settings(overrides)
    if sys.stdin.isatty():
        raise UserError(f"give it lines to translate: regard bench translate --model {model} < lines.txt")
    from regard.decoding.speed import Speed, measure

    for found in measure(model, list(chain.from_iterable(turns(sys.stdin.buffer))), overrides, fast=fast):
        if not isinstance(found, Speed):
            say(f"measuring: {found}")
        elif as_json:
            click.echo(json.dumps(asdict(found)))
        else:
            show_speed(found)


@bench.command("train")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--size", type=click.Choice(list(SIZES)), help="Instead of the size chosen by the data.")
@click.option("--json", "as_json", is_flag=True, help="The figures as JSON.")
@SET
def bench_train(files: tuple[Path, ...], size: str | None, as_json: bool, overrides: tuple[str, ...]) -> None:
    """Measure how fast this machine learns from FILES; it takes about a minute, and keeps nothing."""
    user = user_layer(overrides)
    from regard.data.check import check as look
    from regard.data.pairs import corpora
    from regard.training.pace import measure

    train = corpora(files)
    found = show_work(measure(train, show_work(look(train)), size, user))
    if as_json:
        click.echo(json.dumps(asdict(found)))
    else:
        show_pace(found)


@main.command()
@click.argument("word", default="")
@click.option("--json", "as_json", is_flag=True, help="The settings as JSON.")
def settings(word: str, as_json: bool) -> None:
    """List every setting, or those about WORD: default, type, meaning, and what each size changes."""
    if as_json:
        click.echo(json.dumps([asdict(one) for one in listed(word)], indent=2))
    else:
        click.echo(as_markdown(word), nl=False)


@main.command()
@click.option("--views", is_flag=True, help="Check the views and measures on heads planted into a model instead.")
@click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
def doctor(views: bool, as_json: bool) -> None:
    """See whether all works here: versions, devices, paths, bundled models, and one trained for ten steps and used."""
    if views:
        _check_views(as_json)
        return
    from regard.doctor.examine import examine
    from regard.doctor.findings import Report

    for found in examine():
        if not isinstance(found, Report):
            say(f"looking at {found}")
            continue
        show_lines([json.dumps(found.facts(), indent=2)] if as_json else found.lines())
        if found.wrong:
            fail(f"not all is well: {', '.join(found.wrong)}")
            sys.exit(1)


def _check_views(as_json: bool) -> None:
    from regard.inside.checked import check_views

    found = check_views()
    lines = [f"{'right' if one.passed else 'WRONG':6} {one.name}: {one.found}" for one in found]
    show_lines([json.dumps([asdict(one) for one in found], indent=2)] if as_json else lines)
    if wrong := [one.name for one in found if not one.passed]:
        fail(f"views tell what is not so: {', '.join(wrong)}")
        sys.exit(1)
