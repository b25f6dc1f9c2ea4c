"""`regard look` and `regard measure`: inside a model."""

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli.main import main
from regard.cli.options import MODEL, NEW_FILE
from regard.console import follow, say, show_lines, show_work
from regard.model_folder.bundled import is_bundled, resolve

if TYPE_CHECKING:
    from regard.interpret.measure.alignment_heads import AlignmentHeadResult


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
    from regard.api import load

    loaded = load(model, fast=None)
    found = show_work(loaded.iter_measure_heads(count=count, files=files))
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
    from regard.api import load

    _show_measured(show_work(load(model).iter_measure_pronouns(count)), html, svg, as_json)


@measure.command("layers")
@MODEL
@COUNT
@HTML
@SVG
@AS_JSON
def measure_layers(model: Path, count: int, html: Path | None, svg: Path | None, as_json: bool) -> None:
    """Measure what each layer knows about words and sentences of the built-in language."""
    from regard.api import load

    loaded = load(model, fast=None)
    _show_measured(show_work(loaded.iter_measure_probes(count)), html, svg, as_json)


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
    from regard.api import load
    from regard.interpret.measure.alignment_heads import align_files
    from regard.interpret.report.alignment_report import alignment_lines, link_line

    loaded = load(model, fast=None)
    chosen = loaded.alignment_head
    if chosen is None or not files:
        found = show_work(loaded.iter_measure_alignment(count=count, files=files))
        chosen = found.chosen
        told = [*alignment_lines(found), _store(resolve(model), found)]
        if files:
            say("\n".join(told))
        elif as_json:
            click.echo(json.dumps(asdict(found)))
            say(told[-1])
        else:
            show_lines(told)
    if files:
        pairs = follow(align_files(loaded.network, loaded.tokenizer, files, chosen), "pairs")
        show_lines(link_line(item, links, as_json=as_json) for item, links in pairs)


def _store(folder: Path, found: "AlignmentHeadResult") -> str:
    """Store the head if it is any good and the folder the user's own; say so."""
    from regard.interchange.ctranslate2.export import ensure_export
    from regard.model_folder.writer import save_alignment_head

    if not found.usable:
        return "not stored: no head of this model aligns better than a fixed offset does"
    if is_bundled(folder):
        return f"not stored: {folder.name} comes with Regard and stays as it is; a copy of it can be changed"
    try:
        save_alignment_head(folder, found.chosen)
        ensure_export(folder)
    except OSError as error:
        return f"not stored: {folder} cannot be written ({error.strerror})"
    return "stored in the model folder"


def _show_measured(found: Any, html: Path | None, svg: Path | None, as_json: bool) -> None:
    """A measurement that has a page, a picture, JSON and lines."""
    from regard.render.terminal import terminal_style
    from regard.storage.atomic_files import write_atomically

    paper = terminal_style(os.environ, sys.stdout.isatty())
    show_lines([json.dumps(found.json(), ensure_ascii=False)] if as_json else list(found.lines(paper)))
    for path, text in ((html, found.html), (svg, found.svg)):
        if path is not None:
            write_atomically(path, text())
            say(f"wrote {path}")
