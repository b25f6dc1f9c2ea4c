"""`regard check`: checks training data, and prints a report and a forecast of the training run."""

import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.main import main
from regard.cli.options import CONFIG, KIND, TRAIN_SET
from regard.console import show_lines, show_work
from regard.machine.process import tune_for_training
from regard.render.units import format_count, format_duration
from regard.settings.parser import user_overrides

if TYPE_CHECKING:
    from regard.data.check.corpus_report import CorpusReport
    from regard.training.planning.forecast import Forecast


def show_report(report: "CorpusReport", forecast: "Forecast") -> None:
    """Print a report on the data, and a forecast of a training run."""
    lines = []
    for corpus in report.corpora:
        weight = f", weight {corpus.weight:g}" if corpus.weight != 1 else ""
        lines.append(f"{corpus.split}: {corpus.name}, {format_count(corpus.pairs, 'pair')}{weight}")
    lines += ["", f"{'Lengths':28}{'mean':>8}{'median':>8}{'p95':>8}{'longest':>9}"]
    for split in report.splits:
        for side, units in split.lengths.items():
            lines += [
                f"{split.name:10} {side:6} {unit:10}{size.mean:8,.1f}{size.median:8,}{size.p95:8,}{size.maximum:9,}"
                for unit, size in units.items()
            ]
    lines += ["", "Findings" if report.findings else "No findings."]
    pairs = {split.name: split.pairs for split in report.splits}
    for finding in report.findings:
        share = f"{finding.count / pairs[finding.split]:.1%}" if pairs.get(finding.split) else "all"
        lines.append(f"  {finding.split}: {finding.amount()} ({share}): {finding.meaning}")
        lines += [f"      {example.file}:{example.line}  {example.text}" for example in finding.examples]
    show_lines([*lines, "", *_forecast_lines(forecast)])


def _forecast_lines(forecast: "Forecast") -> Iterator[str]:
    from regard.training.planning.choices import DEFAULT_MAX_SECONDS

    yield f"regard train would keep {format_count(forecast.kept, 'pair')}"
    for reason, count in forecast.left_out.items():
        yield f"  and leave out {count:,}: {reason}"
    tokens = forecast.tokens
    per_word = "; ".join(
        f"{side} {count:.2f} tokens per word, at most {tokens.maximum[side]:,} per text"
        for side, count in tokens.per_word.items()
    )
    yield f"Vocabulary: {tokens.vocab_size:,} tokens, from {format_count(tokens.pairs, 'pair')}; {per_word}"
    yield f"  {tokens.by_bytes:.2%} of all tokens stand for a byte of a rare character"
    yield f"  a source text in tokens: {' '.join(tokens.example)}"
    yield f"Time on this machine ({forecast.reason}):"
    for one in forecast.expected:
        about = "" if one.measured else " (estimated from the previous size)"
        if one.steps < one.wanted_steps:
            hours = DEFAULT_MAX_SECONDS // 3600
            about += f" (limited to {hours} hours; --steps {one.wanted_steps} would be better)"
        yield (
            f"  --size {one.size:5}  {one.parameters / 1e6:6.1f} million parameters "
            f"({one.parameters_without_embeddings / 1e6:.1f} without embeddings), {one.steps:,} steps: about "
            f"{format_duration(one.seconds)}{about}"
        )


@main.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--valid", multiple=True, type=click.Path(path_type=Path), help="A validation file, as for train.")
@click.option(
    "--test", multiple=True, type=click.Path(path_type=Path), help="A test file; give it twice for two files."
)
@click.option(
    "--languages", nargs=2, metavar="SOURCE TARGET", help="Which languages to read from a file that has several."
)
@KIND
@click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
@CONFIG
@TRAIN_SET
def check(
    files: tuple[Path, ...],
    valid: tuple[Path, ...],
    test: tuple[Path, ...],
    languages: tuple[str, str] | None,
    as_json: bool,
    config: Path | None,
    overrides: tuple[str, ...],
) -> None:
    """Check FILES before training.

    Show suspicious pairs, pairs that would be left out, and the training time.
    """
    user = user_overrides(overrides, config)
    tune_for_training()  # the forecast measures training steps
    from regard.data.check.corpus_report import check_corpora
    from regard.data.formats.corpus import check_direction, corpora
    from regard.data.formats.lines import STANDARD_INPUT_COPY
    from regard.data.formats.stdin_corpus import reads_standard_input, save_stream
    from regard.training.planning.forecast import forecast

    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / STANDARD_INPUT_COPY
        if reads_standard_input(files):
            save_stream(sys.stdin.buffer, kept)
        train, *others = (
            corpora(paths, languages=languages, standard_input=kept if paths is files else None)
            for paths in (files, valid, test)
        )
        if languages is None:
            check_direction([*train, *others[0], *others[1]])
        report = show_work(check_corpora(train, *others))
        expected = show_work(forecast(train, report, user))
    if as_json:
        show_lines([json.dumps({**asdict(report), "forecast": asdict(expected)}, ensure_ascii=False, indent=2)])
    else:
        show_report(report, expected)
