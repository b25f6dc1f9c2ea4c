"""`regard measure`: measures what attention heads and layers do, over many sentences."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli.main import main
from regard.cli.options import LANGUAGES, MODEL, NEW_FILE
from regard.console import follow, say, show_lines, show_work
from regard.interpret.measure import sample_sizes
from regard.model_folder.bundled import is_bundled, resolve

if TYPE_CHECKING:
    from regard.interpret.measure.alignment_heads import AlignmentHeadResult


@main.group()
def measure() -> None:
    """Measure what attention heads and layers do."""


def count_option(default: int) -> Callable[[Any], Any]:
    """Return the option `--count` of one measurement."""
    smallest = click.IntRange(min=10)
    return click.option("--count", default=default, show_default=True, type=smallest, help="How many pairs.")


AS_JSON = click.option("--json", "as_json", is_flag=True, help="The results as JSON.")

HTML = click.option("--html", type=NEW_FILE, help="Write a self-contained web page.")

SVG = click.option("--svg", type=NEW_FILE, help="Write an SVG picture.")


@measure.command("heads")
@MODEL
@LANGUAGES
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@count_option(sample_sizes.HEADS)
@HTML
@SVG
@AS_JSON
def measure_heads(
    model: Path, files: tuple[Path, ...], count: int, html: Path | None, svg: Path | None, as_json: bool
) -> None:
    """Measure the role of every attention head.

    For each head: what it attends to, its role, and the effect of removing it. The sentence pairs come from FILES, or
    from the built-in synthetic language if no files are given.
    """
    from regard.api import load

    loaded = load(model, backend="torch")
    _show_report(show_work(loaded.iter_measure_heads(count=count, files=files)), html, svg, as_json)


@measure.command("pronouns")
@MODEL
@LANGUAGES
@count_option(sample_sizes.PRONOUNS)
@HTML
@SVG
@AS_JSON
def measure_pronouns(model: Path, count: int, html: Path | None, svg: Path | None, as_json: bool) -> None:
    """Measure whether heads attend from "it" to its antecedent.

    Also measure whether the French pronoun depends on these heads. The sentences are minimal pairs of the synthetic
    language: two sentences that differ only in the cue, the word that decides what "it" refers to.
    """
    from regard.api import load

    _show_report(show_work(load(model).iter_measure_pronouns(count)), html, svg, as_json)


@measure.command("probes")
@MODEL
@LANGUAGES
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@count_option(sample_sizes.PROBES)
@HTML
@SVG
@AS_JSON
def measure_probes(
    model: Path, files: tuple[Path, ...], count: int, html: Path | None, svg: Path | None, as_json: bool
) -> None:
    """Train linear probes, which show what each layer encodes.

    They show which properties of words and sentences can be read from the vectors of a layer. The sentence pairs come
    from FILES, for properties that need no annotations, or from the built-in synthetic language.
    """
    from regard.api import load

    loaded = load(model, backend="torch")
    _show_report(show_work(loaded.iter_measure_probes(count=count, files=files)), html, svg, as_json)


@measure.command("alignment")
@MODEL
@LANGUAGES
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@count_option(sample_sizes.ALIGNMENT)
@AS_JSON
def measure_alignment(model: Path, files: tuple[Path, ...], count: int, as_json: bool) -> None:
    """Find the attention head that aligns words best.

    The choice is stored in the model folder. Without FILES, the head is chosen on the synthetic language, where the
    alignment is known. With FILES, the word alignment of each pair is printed. If no head is stored yet, it is chosen
    on FILES, by words that occur exactly once in both the source and the target.
    """
    from regard.api import load
    from regard.interpret.measure.alignment_heads import align_files
    from regard.interpret.report.alignment_report import alignment_line, alignment_lines

    loaded = load(model, backend="torch")
    chosen = loaded.alignment_head
    if chosen is None or not files:
        result = show_work(loaded.iter_measure_alignment(count=count, files=files))
        chosen = result.chosen
        lines = [*alignment_lines(result), _store(resolve(model), result)]
        if files:
            say("\n".join(lines))
        elif as_json:
            click.echo(json.dumps(result.to_dict()))
            say(lines[-1])
        else:
            show_lines(lines)
    if files:
        pairs = follow(align_files(loaded.network, loaded.tokenizer, files, chosen), "pairs")
        show_lines(alignment_line(pair, links, as_json=as_json) for pair, links in pairs)


def _store(folder: Path, result: "AlignmentHeadResult") -> str:
    """Store the chosen alignment head in the model folder, and return a message for the user.

    Nothing is stored if a fixed offset aligns words better, or if the model is bundled or its folder cannot be written.
    """
    from regard.interchange.ctranslate2.export import ensure_export
    from regard.model_folder.writer import save_alignment_head

    if not result.usable:
        return "not stored: no head of this model aligns better than a rule that knows only positions"
    if is_bundled(folder):
        return f"not stored: {folder.name} is a bundled model and is not changed; copy it first"
    try:
        save_alignment_head(folder, result.chosen)
        ensure_export(folder)
    except OSError as error:
        return f"not stored: {folder} cannot be written ({error.strerror})"
    return "stored in the model folder"


def _show_report(report: Any, html: Path | None, svg: Path | None, as_json: bool) -> None:
    """Print a report as text or JSON; also write it as a web page or a picture if a path is given."""
    from regard.render.terminal import terminal_style
    from regard.storage.atomic_files import write_atomically

    style = terminal_style(os.environ, sys.stdout.isatty())
    show_lines([json.dumps(report.to_dict(), ensure_ascii=False)] if as_json else list(report.lines(style)))
    for path, text in ((html, report.html), (svg, report.svg)):
        if path is not None:
            write_atomically(path, text())
            say(f"wrote {path}")
