"""`regard look` and `regard measure`: inside a model."""

import json
import os
import sys
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli.group import MODEL, SET, main
from regard.console import follow, say, show_lines, show_work
from regard.errors import UserError
from regard.settings import assemble, user_layer

if TYPE_CHECKING:
    from regard.folder import ModelFolder
    from regard.inside.aligning import Aligning
    from regard.inside.sample import Sample


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
@click.option("--html", type=click.Path(path_type=Path), help="Write one self-contained page.")
@click.option("--svg", type=click.Path(path_type=Path), help="Write the map of --trace as a picture.")
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
    decode = assemble(user_layer(overrides)).decode
    from regard.inside.model import load
    from regard.inside.shown import model_lines, paper_of, save_svg, view_lines

    loaded = load(model)
    paper = paper_of(os.environ, sys.stdout.isatty())
    if text is None:
        if word or trace or target or without or html or as_json:
            raise UserError("give a text to look at; without one, the model is drawn")
        show_lines(model_lines(loaded, svg, paper))
        return
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
HTML = click.option("--html", type=click.Path(path_type=Path), help="Write one self-contained page.")
SVG = click.option("--svg", type=click.Path(path_type=Path), help="Write the picture.")


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
    from regard.folder import open_folder
    from regard.inside.measured import measure as run

    opened = open_folder(model)
    sample = _sample(opened, files, count)
    found = show_work(run(opened.build(), opened.tokenizer, sample, name=str(model)))
    _show_measured(found, html, svg, as_json)


@measure.command("it")
@MODEL
@click.option("--count", default=1000, show_default=True, type=click.IntRange(min=10), help="How many pairs.")
@AS_JSON
def measure_it(model: Path, count: int, as_json: bool) -> None:
    """The "it" laboratory: do heads follow what "it" stands for, and does the French pronoun depend on them?

    On COUNT pairs of sentences of the built-in language that differ in the deciding word alone.
    """
    from regard.data.language import flips
    from regard.folder import open_folder
    from regard.inside.findings import laboratory_lines
    from regard.inside.laboratory import measure_it as run
    from regard.inside.model import load
    from regard.inside.sample import SEED, SPLIT, check_languages
    from regard.inside.shown import paper_of

    check_languages(open_folder(model).languages)
    loaded = load(model)
    pairs = list(follow(islice(flips(SEED, SPLIT), count), "pairs", count))
    found = show_work(run(loaded.torch, loaded.pieces, pairs, lambda texts: (one.text for one in loaded.stream(texts))))
    if as_json:
        click.echo(json.dumps({**asdict(found), "verdict": found.verdict}, ensure_ascii=False))
    else:
        show_lines(list(laboratory_lines(found, paper_of(os.environ, sys.stdout.isatty()))))


@measure.command("layers")
@MODEL
@COUNT
@HTML
@SVG
@AS_JSON
def measure_layers(model: Path, count: int, html: Path | None, svg: Path | None, as_json: bool) -> None:
    """Measure what each layer of the encoder knows about words and sentences of the built-in language."""
    from regard.folder import open_folder
    from regard.inside.layerplot import Layers
    from regard.inside.probes import measure_layers as run

    opened = open_folder(model)
    sample = _sample(opened, (), count)
    found = Layers(str(model), len(sample), sample.name, show_work(run(opened.build(), sample)))
    _show_measured(found, html, svg, as_json)


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
    from regard.folder import open_folder
    from regard.inside.aligning import align_files
    from regard.inside.findings import alignment_lines, link_line

    opened = open_folder(model)
    chosen = opened.alignment
    if chosen is None or not files:
        found = _choose_head(opened, files, count)
        chosen = found.chosen
        if files:
            say("\n".join(alignment_lines(found)))
        elif as_json:
            click.echo(json.dumps(asdict(found)))
        else:
            show_lines(alignment_lines(found))
    if files:
        pairs = follow(align_files(opened.build(), opened.tokenizer, files, chosen), "pairs")
        show_lines(link_line(item, links, as_json=as_json) for item, links in pairs)


def _choose_head(opened: "ModelFolder", files: tuple[Path, ...], count: int) -> "Aligning":
    """Find the head, and store it if it is any good."""
    from regard.decoding.convert import make_fast
    from regard.folder import store_alignment
    from regard.inside.aligning import choose_head

    found = show_work(choose_head(opened.build(), _sample(opened, files, count)))
    if found.usable:
        try:
            store_alignment(opened.path, found.chosen)
            make_fast(opened.path)
        except OSError as error:
            say(f"the head is not stored: {opened.path} cannot be written ({error.strerror})")
    return found


def _sample(opened: "ModelFolder", files: tuple[Path, ...], count: int) -> "Sample":
    """Pairs of the user's, or of the built-in language."""
    from regard.inside.sample import check_languages, files_sample, language_sample

    if files:
        return files_sample(opened.tokenizer, files, count, opened.settings.longest)
    check_languages(opened.languages)
    return language_sample(opened.tokenizer, count)


def _show_measured(found: Any, html: Path | None, svg: Path | None, as_json: bool) -> None:
    """A measurement that has a page, a picture, JSON and lines."""
    from regard.files import write_atomically
    from regard.inside.shown import paper_of

    for path, text in ((html, found.html), (svg, found.svg)):
        if path is not None:
            write_atomically(path, text())
            say(f"wrote {path}")
    if as_json:
        click.echo(json.dumps(found.json(), ensure_ascii=False))
    elif html is None and svg is None:
        show_lines(list(found.lines(paper_of(os.environ, sys.stdout.isatty()))))
