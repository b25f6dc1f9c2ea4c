"""`regard check`: a report on data."""

import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.main import main
from regard.cli.options import SET
from regard.console import show_lines, show_work
from regard.render.units import format_duration
from regard.settings.parser import user_overrides

if TYPE_CHECKING:
    from regard.data.check.corpus_report import CorpusReport
    from regard.training.planning.forecast import Forecast


def show_report(report: "CorpusReport", forecast: "Forecast") -> None:
    """A report on data for people, on standard output."""
    lines = []
    for corpus in report.corpora:
        weight = f", weight {corpus.weight:g}" if corpus.weight != 1 else ""
        lines.append(f"{corpus.split}: {corpus.name}, {corpus.pairs:,} pairs{weight}")
    lines += ["", f"{'Lengths':17}" + f"{'mean':>16}{'median':>8}{'1 in 20 over':>14}{'longest':>9}"]
    for part in report.splits:
        for side, units in part.lengths.items():
            lines += [
                f"{part.name:10} {side:6} {unit:10}{size.mean:6.1f}{size.median:8,}{size.p95:14,}{size.maximum:9,}"
                for unit, size in units.items()
            ]
    lines += ["", "Seen" if report.findings else "Nothing odd was seen."]
    pairs = {part.name: part.pairs for part in report.splits}
    for found in report.findings:
        share = f"{found.count / pairs[found.split]:.1%}" if pairs.get(found.split) else "all"
        lines.append(f"  {found.split}: {found.count:,} {found.kind} ({share}): {found.meaning}")
        lines += [f"      {example.file}:{example.line}  {example.text}" for example in found.examples]
    show_lines([*lines, "", *_forecast_lines(forecast)])


def _forecast_lines(forecast: "Forecast") -> Iterator[str]:
    yield f"regard train would keep {forecast.kept:,} pairs"
    for reason, count in forecast.left_out.items():
        yield f"  and leave out {count:,}: {reason}"
    pieces = forecast.tokens
    per_word = ", ".join(
        f"{side} {count:.2f} a word (at most {pieces.maximum[side]:,} a text)"
        for side, count in pieces.per_word.items()
    )
    yield f"Pieces: {pieces.vocab_size:,}, found in {pieces.pairs:,} pairs; {per_word}; {pieces.by_bytes:.2%} are bytes"
    yield f"  such as {' '.join(pieces.example)}"
    yield f"Time on this machine ({forecast.reason}):"
    for one in forecast.expected:
        about = "" if one.measured else " (estimated from the size before)"
        yield (
            f"  --size {one.size:5}  {one.parameters / 1e6:6.1f} million weights, {one.steps:,} steps: about "
            f"{format_duration(one.seconds)}{about}"
        )


@main.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--valid", multiple=True, type=click.Path(path_type=Path), help="A validation file, as for train.")
@click.option("--test", multiple=True, type=click.Path(path_type=Path), help="A test file; for two: give it twice.")
@click.option("--languages", nargs=2, metavar="SOURCE TARGET", help="Which to read where a file has several.")
@click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
@SET
def check(
    files: tuple[Path, ...],
    valid: tuple[Path, ...],
    test: tuple[Path, ...],
    languages: tuple[str, str] | None,
    as_json: bool,
    overrides: tuple[str, ...],
) -> None:
    """Report on FILES before anyone trains on them: what is odd, what would be left out, how long it would take."""
    user = user_overrides(overrides)
    from regard.data.check.corpus_report import check_corpora as look
    from regard.data.formats.corpus import check_direction, corpora
    from regard.data.formats.stdin_corpus import keep_stream, reads_standard_input
    from regard.training.planning.forecast import forecast

    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "standard-input.tsv"
        if reads_standard_input(files):
            keep_stream(sys.stdin.buffer, kept)
        train, *others = (
            corpora(paths, languages=languages, standard_input=kept if paths is files else None)
            for paths in (files, valid, test)
        )
        if languages is None:
            check_direction([*train, *others[0], *others[1]])
        report = show_work(look(train, *others))
        expected = show_work(forecast(train, report, user))
    if as_json:
        show_lines([json.dumps({**asdict(report), "forecast": asdict(expected)}, ensure_ascii=False, indent=2)])
    else:
        show_report(report, expected)
