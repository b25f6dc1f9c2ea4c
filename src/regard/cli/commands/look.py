"""`regard look`: one translation inspected."""

import os
import sys
from pathlib import Path

import click

from regard.cli.main import main
from regard.cli.options import MODEL, NEW_FILE, SET
from regard.console import say, show_lines
from regard.errors import UserError
from regard.settings.parser import decode_settings


@main.command()
@MODEL
@click.argument("text", required=False)
@click.option("--word", help="Where this word looks; the second such word is word:2.")
@click.option(
    "--trace",
    multiple=True,
    metavar="ADDRESS",
    help="One head (encoder.2.self.5), with --word its arithmetic; a map over heads (decoder.cross.mean, .max, "
    ".rollout); search; or encoder or decoder, to follow --word through it.",
)
@click.option("--target", help="Look at this translation instead of the model's own.")
@click.option("--without", metavar="PART", help="Without positions, scaling, or a head (encoder.2.self.5).")
@click.option("--pieces", is_flag=True, help="Pieces instead of words.")
@click.option("--html", type=NEW_FILE, help="Write one self-contained page.")
@click.option("--svg", type=NEW_FILE, help="Write the map of --trace as a picture.")
@click.option("--json", "as_json", is_flag=True, help="The numbers as JSON; all numbers of the heads of --trace.")
@SET
def look(
    model: Path,
    text: str | None,
    word: str | None,
    trace: tuple[str, ...],
    target: str | None,
    without: str | None,
    pieces: bool,
    html: Path | None,
    svg: Path | None,
    as_json: bool,
    overrides: tuple[str, ...],
) -> None:
    """Look inside: every number of translating TEXT. Without TEXT, draw the model."""
    decode = decode_settings(overrides)
    from regard.api import load
    from regard.cli.look_output import model_lines, save_svg, view_lines
    from regard.render.terminal import terminal_style

    loaded = load(model)
    paper = terminal_style(os.environ, sys.stdout.isatty())
    if text is None:
        if word or trace or target or without or html or as_json:
            raise UserError("give a text to look at; without one, the model is drawn")
        show_lines(model_lines(loaded, svg, paper))
        return
    if word and (html or svg or as_json):
        raise UserError("--word is for the terminal; the page shows every word, and --json has all; leave it out")
    if pieces and svg is None and (html or as_json):
        raise UserError("--pieces is for the terminal and --svg; the page has both, --json pieces; leave it out")
    view = loaded.look(text, decode, target=target, without=without)
    if html is not None:
        view.save(html, trace)
        say(f"the page is in {html}; it needs nothing else")
    if svg is not None:
        say(save_svg(view, trace, svg, pieces=pieces))
    if as_json:
        show_lines([view.json(trace).rstrip("\n")])
    elif html is None and svg is None:
        # All of it first: an error should not come after half an answer.
        show_lines(list(view_lines(loaded, view, trace, word, paper, pieces=pieces)))
