"""`regard score`: prints how probable given translations are for a model."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.main import main
from regard.cli.options import BACKEND, COMPUTE_TYPE, CONFIG, LANGUAGES, MODELS, SET
from regard.console import follow, say, show_lines
from regard.errors import SettingsError
from regard.settings.parser import decode_overrides

if TYPE_CHECKING:
    from regard.inference.result import Translation


@main.command()
@MODELS
@LANGUAGES
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="A JSON object per line, with every token's log-probability.")
@COMPUTE_TYPE
@BACKEND
@CONFIG
@SET
def score(
    models: tuple[Path, ...],
    files: tuple[Path, ...],
    as_json: bool,
    compute_type: str,
    backend: str,
    config: Path | None,
    overrides: tuple[str, ...],
) -> None:
    """Print the log-probability of each pair in FILES.

    A line has the log-probability, the source and the reference, separated by tabs. FILES are a TSV (source, tab, one
    or more references), or a source file and one or more reference files. To find wrong translations, sort the output
    by the first column: they have the lowest log-probabilities.
    """
    changes = decode_overrides(overrides, config)
    for name in changes:
        if name not in ("length_penalty", "alignment"):
            raise SettingsError(f"decode.{name} has no effect on given translations; leave it out")
    from regard.evaluation.evaluator import score_references
    from regard.inference.translator_loader import load_translator

    translator = load_translator(*models, compute_type=compute_type, backend=backend)
    _show_scores(
        follow(score_references(translator, files, replace(translator.decode, **changes)), "pairs"), as_json=as_json
    )


def _show_scores(translations: Iterable["Translation"], *, as_json: bool) -> None:
    """Print one line for each pair to standard output, and the mean log-probability per token to standard error."""
    pairs = tokens = 0
    total = 0.0

    def lines() -> Iterator[str]:
        nonlocal pairs, tokens, total
        for one in translations:
            pairs, tokens, total = pairs + 1, tokens + len(one.log_probabilities), total + (one.log_probability or 0.0)
            plain = f"{one.log_probability:.4f}\t{one.source}\t{one.text}"
            yield json.dumps(one.to_dict(), ensure_ascii=False) if as_json else plain

    show_lines(lines())
    if tokens:
        say(f"{pairs:,} pairs, {tokens:,} tokens with EOS: mean log-probability of a token {total / tokens:.4f}")
