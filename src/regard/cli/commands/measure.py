"""`regard look` and `regard measure`: inside a model."""

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.bundled import is_bundled, named
from regard.cli.group import MODEL, NEW_FILE, SET, main
from regard.console import follow, say, show_lines, show_work
from regard.errors import UserError
from regard.settings import decode_settings

if TYPE_CHECKING:
    from regard.inside.aligning import Aligning


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
    from regard.inside.model import load
    from regard.inside.shown import model_lines, paper_of, save_svg, view_lines

    loaded = load(model)
    paper = paper_of(os.environ, sys.stdout.isatty())
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


@main.group()
def measure() -> None:
    """Measure what heads and layers do, and what they are worth."""


COUNT = click.option("--count", default=500, show_default=True, type=click.IntRange(min=10), help="How many pairs.")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Everything as JSON.")
HTML = click.option("--html", type=NEW_FILE, help="Write one self-contained page.")
SVG = click.option("--svg", type=NEW_FILE, help="Write the picture.")


@measure.command("heads")
@MODEL
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@COUNT
@HTML
@SVG
@AS_JSON
def measure_heads(
    model: Path, files: tuple[Path, ...], count: int, html: Path | None, svg: Path | None, as_json: bool
) -> None:
    """Measure every head: where it looks, its role, and what is lost without it.

    On pairs of FILES, or, without any, of the built-in language, where also the truth is known.
    """
    from regard.inside.measuring import heads_measured, sample_for
    from regard.inside.model import load

    loaded = load(model, fast=None)
    found = show_work(heads_measured(loaded, sample_for(loaded, count, files=files)))
    _show_measured(found, html, svg, as_json)


@measure.command("it")
@MODEL
@click.option("--count", default=1000, show_default=True, type=click.IntRange(min=10), help="How many pairs.")
@HTML
@SVG
@AS_JSON
def measure_it(model: Path, count: int, html: Path | None, svg: Path | None, as_json: bool) -> None:
    """The "it" laboratory: do heads follow what "it" stands for, and does the French pronoun depend on them?

    On COUNT pairs of sentences of the built-in language that differ in the deciding word alone.
    """
    from regard.inside.measuring import it_measured
    from regard.inside.model import load

    _show_measured(show_work(it_measured(load(model), count)), html, svg, as_json)


@measure.command("layers")
@MODEL
@COUNT
@HTML
@SVG
@AS_JSON
def measure_layers(model: Path, count: int, html: Path | None, svg: Path | None, as_json: bool) -> None:
    """Measure what each layer knows about words and sentences of the built-in language."""
    from regard.inside.measuring import layers_measured, sample_for
    from regard.inside.model import load

    loaded = load(model, fast=None)
    _show_measured(show_work(layers_measured(loaded, sample_for(loaded, count))), html, svg, as_json)


@measure.command("alignment")
@MODEL
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@COUNT
@AS_JSON
def measure_alignment(model: Path, files: tuple[Path, ...], count: int, as_json: bool) -> None:
    """Find the head that aligns words best, and store it in the model folder; align the pairs of FILES by it.

    The head is found on the built-in language. A model of other languages finds it on FILES, by words that stand once
    on both sides.
    """
    from regard.inside.aligning import align_files
    from regard.inside.findings import alignment_lines, link_line
    from regard.inside.measuring import alignment_measured, alignment_sample
    from regard.inside.model import load

    loaded = load(model, fast=None)
    chosen = loaded.aligning
    if chosen is None or not files:
        found = show_work(alignment_measured(loaded, alignment_sample(loaded, count, files=files)))
        chosen = found.chosen
        told = [*alignment_lines(found), _store(named(model), found)]
        if files:
            say("\n".join(told))
        elif as_json:
            click.echo(json.dumps(asdict(found)))
            say(told[-1])
        else:
            show_lines(told)
    if files:
        pairs = follow(align_files(loaded.torch, loaded.pieces, files, chosen), "pairs")
        show_lines(link_line(item, links, as_json=as_json) for item, links in pairs)


def _store(folder: Path, found: "Aligning") -> str:
    """Store the head if it is any good and the folder the user's own; say so."""
    from regard.decoding.convert import make_fast
    from regard.folder import store_alignment

    if not found.usable:
        return "not stored: no head of this model aligns better than a fixed offset does"
    if is_bundled(folder):
        return f"not stored: {folder.name} comes with Regard and stays as it is; a copy of it can be changed"
    try:
        store_alignment(folder, found.chosen)
        make_fast(folder)
    except OSError as error:
        return f"not stored: {folder} cannot be written ({error.strerror})"
    return "stored in the model folder"


def _show_measured(found: Any, html: Path | None, svg: Path | None, as_json: bool) -> None:
    """A measurement that has a page, a picture, JSON and lines."""
    from regard.files import write_atomically
    from regard.inside.shown import paper_of

    paper = paper_of(os.environ, sys.stdout.isatty())
    show_lines([json.dumps(found.json(), ensure_ascii=False)] if as_json else list(found.lines(paper)))
    for path, text in ((html, found.html), (svg, found.svg)):
        if path is not None:
            write_atomically(path, text())
            say(f"wrote {path}")
