"""An evaluation as lines for people, and as facts for programs."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from regard.evaluation.breakdown import Breakdown, Bucket
from regard.evaluation.comparison import CLEAR, Comparison, Difference
from regard.evaluation.evaluator import Evaluation
from regard.evaluation.scores import METRICS
from regard.evaluation.significance import SignificanceTest

SHOWN = 10  # sentences that differ; JSON has all

_CUT = " ."  # how a text ends whose words were cut apart by spaces


def names_of(models: Sequence[Path], against: Path | None) -> tuple[str, str]:
    """What to call two systems: their folders' names, or the whole ways to them where the names are the same."""
    name = " + ".join(model.resolve().name for model in models)
    other = against.resolve().name if against is not None else ""
    return (name, other) if name != other else (" + ".join(map(str, models)), str(against))


def facts(evaluation: Evaluation, name: str, other: str) -> dict[str, Any]:
    """All but the test set itself."""
    compared = evaluation.against
    return {
        **asdict(evaluation.scores),
        "by_length": asdict(evaluation.by_length),
        "by_rarity": asdict(evaluation.by_rarity),
        "against": compared
        and {
            "verdict": compared.verdict(name, other),
            **asdict(compared),
            "metrics": [
                {**asdict(one), "difference": one.difference, "better": one.better} for one in compared.metrics
            ],
        },
    }


def evaluation_lines(evaluation: Evaluation, name: str, other: str) -> Iterator[str]:
    """The scores, the tables and, beside another model, the verdict and the sentences that differ most."""
    scores = evaluation.scores
    several = f" against up to {scores.references} references each" if scores.references > 1 else ""
    yield f"{scores.sentences:,} sentences{several}"
    for metric, title in METRICS.items():
        yield f"{title:4} {getattr(scores, metric):.2f}   {getattr(scores, f'{metric}_signature')}"
    cut = sum(text.endswith(_CUT) for text in evaluation.translations)
    if 2 * cut > scores.sentences and "|tok:none|" not in scores.bleu_signature:
        yield f"{cut:,} translations end in {_CUT!r}, as cut text does; scores compare with others' on raw text only"
    for table in (evaluation.by_length, evaluation.by_rarity):
        yield ""
        yield from _table_lines(table)
    if evaluation.against is not None:
        yield ""
        yield from _comparison_lines(evaluation.against, name, other)


def _table_lines(table: Breakdown) -> Iterator[str]:
    both = table.groups[0].against is not None
    yield f"By {table.by}"
    yield f"{'':12}{'sentences':>10}" + "".join(
        f"{title:>8}{'differs' if both else '':>8}" for title in METRICS.values()
    )
    for group in table.groups:
        yield f"{group.name:12}{group.sentences:10,}" + "".join(_cell(group, metric) for metric in METRICS)


def _cell(group: Bucket, metric: str) -> str:
    """A figure and, beside another model, how much it is above that one's."""
    difference = f"{group.scores[metric] - group.against[metric]:+8.2f}" if group.against else " " * 8
    return f"{group.scores[metric]:8.2f}{difference}"


def _comparison_lines(compared: Comparison, name: str, other: str) -> Iterator[str]:
    wide = max(len(name), len(other), 8)
    yield f"{'':5}{name:>{wide}}  {other:>{wide}}  difference  p, bootstrap  p, randomisation"
    for one in compared.metrics:
        yield (
            f"{METRICS[one.metric]:5}{one.score:{wide}.2f}  {one.against:{wide}.2f}  {one.difference:+10.2f}  "
            f"{one.bootstrap.p:12.4f}  {one.randomisation.p:16.4f}"
        )
    yield compared.verdict(name, other)
    yield f"p is how often chance alone would part two equal models so far; clear is below {CLEAR} in both tests."
    bootstrap, randomisation = map(_own_part, (compared.metrics[0].bootstrap, compared.metrics[0].randomisation))
    yield f"signatures go on: {bootstrap} (bootstrap), {randomisation} (randomisation)"
    yield f"{compared.alike:,} sentences are written alike, {len(compared.differences):,} are not"
    if compared.differences:
        yield ""
        yield "Those that differ most, by the chrF of each"
    for found in compared.differences[:SHOWN]:
        yield from _difference_lines(found, name, other, wide)


def _own_part(chance: SignificanceTest) -> str:
    """What a test adds to the signature of a score."""
    return "|".join(part for part in chance.signature.split("|") if part.startswith(("bs:", "ar:", "seed:")))


def _difference_lines(found: Difference, name: str, other: str, wide: int) -> Iterator[str]:
    wide = max(wide, len("reference"))
    yield f"{found.chrf - found.against_chrf:+.1f}  sentence {found.sentence:,}"
    yield f"    {'source':{wide}}         {found.source}"
    for reference in found.references:
        yield f"    {'reference':{wide}}         {reference}"
    yield f"    {name:{wide}}  {found.chrf:5.1f}  {found.translation}"
    yield f"    {other:{wide}}  {found.against_chrf:5.1f}  {found.against}"
