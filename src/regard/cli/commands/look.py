"""`regard look`: shows the attention weights and other numbers behind one translation."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import click

from regard.cli.main import main
from regard.cli.options import BEAM_SIZE, CONFIG, LANGUAGES, MODEL, NEW_FILE, SET
from regard.console import say, show_lines
from regard.errors import SettingsError, UserError
from regard.settings.parser import decode_overrides, extra_outputs


@main.command()
@MODEL
@LANGUAGES
@click.argument("text", required=False)
@click.option("--word", help="What this word attends to; the second occurrence of a word is word:2.")
@click.option(
    "--trace",
    multiple=True,
    metavar="ADDRESS",
    help="A head (encoder.2.self.5; with --word, its arithmetic); a map over heads (decoder.cross.mean, .max, "
    ".rollout); a recurrent layer (decoder.1; with --word, its gates); search; or encoder or decoder, to follow --word "
    "through the layers.",
)
@click.option("--target", help="Inspect this translation instead of the model's own.")
@click.option("--without", metavar="COMPONENT", help="Remove positions, scaling, or a head (encoder.2.self.5).")
@click.option(
    "--instead",
    metavar="WEIGHTS",
    help="What replaces the weights of the head of --without: uniform, or a pair of tokens (8:2: the eighth looks only "
    "at the second).",
)
@click.option("--tokens", is_flag=True, help="Show tokens instead of words.")
@click.option("--html", type=NEW_FILE, help="Write a self-contained web page.")
@click.option("--svg", type=NEW_FILE, help="Write the map of --trace as an SVG picture.")
@click.option("--json", "as_json", is_flag=True, help="The numbers as JSON, with all numbers of --trace.")
@BEAM_SIZE
@CONFIG
@SET
def look(
    model: Path,
    text: str | None,
    word: str | None,
    trace: tuple[str, ...],
    target: str | None,
    without: str | None,
    instead: str | None,
    tokens: bool,
    html: Path | None,
    svg: Path | None,
    as_json: bool,
    config: Path | None,
    overrides: tuple[str, ...],
) -> None:
    """Translate TEXT and show its attention weights. Without TEXT, draw the model."""
    changes = decode_overrides(overrides, config)
    if extra := extra_outputs(changes):
        raise SettingsError(f"{', '.join(extra)} has no effect on `regard look`; leave it out")
    if text is None:
        about_text = {"--word": word, "--trace": trace, "--target": target, "--without": without,
                      "--instead": instead, "--tokens": tokens, "--html": html, "--json": as_json}  # fmt: skip
        for option, given in about_text.items():
            if given:
                raise UserError(f"{option} needs a TEXT; without TEXT, `regard look` draws the model")
    from regard.api import load
    from regard.cli.look_output import model_lines, save_svg, view_lines
    from regard.inference.sentences import split_sentences
    from regard.render.terminal import terminal_style
    from regard.spans.patterns import find_spans

    loaded = load(model)
    decode = replace(loaded.decode, **changes)
    style = terminal_style(os.environ, sys.stdout.isatty())
    if text is None:
        show_lines(model_lines(loaded, svg, style))
        return
    if word and (html or svg or as_json):
        raise UserError("--word is for the terminal; --html and --json contain every word; leave it out")
    if tokens and svg is None and (html or as_json):
        raise UserError("--tokens is for the terminal and --svg; --html shows both, --json has tokens; leave it out")
    if decode.protect and (spans := find_spans(text)):
        say(
            f"the model gets the text as it is here; `regard translate` puts a stand-in in the place of {spans[0].text}"
        )
    view = loaded.look(text, decode, target=target, without=without, instead=instead)
    if target is None and len(split_sentences(view.text)) < len(split_sentences(text)):
        say("the translation has fewer sentences than the text; `regard translate` translates each sentence by itself")
    if html is not None:
        view.save(html, trace)
        say(f"wrote {html}, a page that needs no other file")
    if svg is not None:
        say(save_svg(view, trace, svg, by_token=tokens))
    if as_json:
        show_lines([json.dumps(view.to_dict(trace), ensure_ascii=False)])
    elif html is None and svg is None:
        # Create all lines before printing, so that nothing is printed if there is an error.
        show_lines(list(view_lines(loaded, view, trace, word, style, by_token=tokens)))
