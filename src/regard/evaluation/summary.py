"""An evaluation as lines of text, and as a dictionary for JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from regard.evaluation.breakdown import Breakdown, Bucket
from regard.evaluation.comparison import SIGNIFICANCE_LEVEL, Comparison, Difference
from regard.evaluation.evaluator import Evaluation
from regard.evaluation.scores import METRICS
from regard.evaluation.significance import SignificanceTest
from regard.render.units import format_count

MAX_DIFFERENCES = 10  # maximum number of differences shown as text; JSON has all of them

_TOKENIZED_END = " ."  # a space before the full stop is a sign of tokenized text


def system_names(models: Sequence[Path], against: Path | None) -> tuple[str, str]:
    """Return the names of two systems: their folder names, or their paths if the folder names are the same."""
    name = " + ".join(model.resolve().name for model in models)
    other = against.resolve().name if against is not None else ""
    return (name, other) if name != other else (" + ".join(map(str, models)), str(against))


def facts(evaluation: Evaluation, name: str, other: str) -> dict[str, Any]:
    """Return the scores, breakdowns and comparison of an evaluation as a dictionary for JSON."""
    comparison = evaluation.against
    return {
        **asdict(evaluation.scores),
        "kept": {one.name: {"kept": one.kept, "total": one.total} for one in evaluation.kept},
        "by_length": asdict(evaluation.by_length),
        "by_rarity": asdict(evaluation.by_rarity),
        "against": comparison
        and {
            "verdict": comparison.verdict(name, other),
            **asdict(comparison),
            "metrics": [
                {**asdict(metric), "difference": metric.difference, "better": metric.better}
                for metric in comparison.metrics
            ],
        },
    }


def evaluation_lines(evaluation: Evaluation, name: str, other: str) -> Iterator[str]:
    """Yield the scores, the breakdowns and, if two models are compared, the verdict and the largest differences."""
    scores = evaluation.scores
    references = f", up to {scores.references} references each" if scores.references > 1 else ""
    yield f"{format_count(scores.sentences, 'sentence')}{references}"
    for metric, title in METRICS.items():
        yield f"{title:4} {getattr(scores, metric):6.2f}   {getattr(scores, f'{metric}_signature')}"
    for one in evaluation.kept:
        yield f"{one.kept:,} of {one.total:,} {one.name} kept ({one.kept / one.total:.1%})"
    tokenized = sum(text.endswith(_TOKENIZED_END) for text in evaluation.translations)
    if 2 * tokenized > scores.sentences and "|tok:none|" not in scores.bleu_signature:
        yield (
            f"{tokenized:,} translations end in {_TOKENIZED_END!r}, as tokenized text does; scores are comparable with "
            "other systems only on raw text"
        )
    for breakdown in (evaluation.by_length, evaluation.by_rarity):
        yield ""
        yield from _breakdown_lines(breakdown)
    if evaluation.against is not None:
        yield ""
        yield from _comparison_lines(evaluation.against, name, other)


def _breakdown_lines(breakdown: Breakdown) -> Iterator[str]:
    has_two = breakdown.groups[0].against is not None
    yield f"By {breakdown.by}"
    difference = f"{'diff':>8}" if has_two else ""
    yield f"{'':12}{'sentences':>10}" + "".join(f"{title:>8}{difference}" for title in METRICS.values())
    for group in breakdown.groups:
        yield f"{group.name:12}{group.sentences:10,}" + "".join(_cell(group, metric) for metric in METRICS)


def _cell(group: Bucket, metric: str) -> str:
    """Return a score and, if two models are compared, its difference from the score of the other model."""
    difference = f"{group.scores[metric] - group.against[metric]:+8.2f}" if group.against else ""
    return f"{group.scores[metric]:8.2f}{difference}"


def _comparison_lines(comparison: Comparison, name: str, other: str) -> Iterator[str]:
    width = max(len(name), len(other), 8)
    yield f"{'':5}{name:>{width}}  {other:>{width}}  difference  p, bootstrap  p, randomisation"
    for metric in comparison.metrics:
        yield (
            f"{METRICS[metric.metric]:5}{metric.score:{width}.2f}  {metric.against:{width}.2f}  "
            f"{metric.difference:+10.2f}  {metric.bootstrap.p:12.4f}  {metric.randomisation.p:16.4f}"
        )
    yield comparison.verdict(name, other)
    yield (
        "p is how often two equally good models would differ by at least this much; a difference is significant if p "
        f"is below {SIGNIFICANCE_LEVEL} in both tests."
    )
    first = comparison.metrics[0]
    bootstrap, randomisation = map(_test_signature, (first.bootstrap, first.randomisation))
    yield f"added to the signatures: {bootstrap} (bootstrap), {randomisation} (randomisation)"
    yield f"{comparison.alike:,} sentences have the same translation, {len(comparison.differences):,} do not"
    if comparison.differences:
        yield ""
        yield "Largest differences, by the chrF of each sentence"
    for difference in comparison.differences[:MAX_DIFFERENCES]:
        yield from _difference_lines(difference, name, other, width)


def _test_signature(test: SignificanceTest) -> str:
    """Return the fields that a significance test adds to the signature of a score."""
    return "|".join(field for field in test.signature.split("|") if field.startswith(("bs:", "ar:", "seed:")))


def _difference_lines(difference: Difference, name: str, other: str, width: int) -> Iterator[str]:
    width = max(width, len("reference"))
    yield f"{difference.chrf - difference.against_chrf:+.1f}  sentence {difference.sentence:,}"
    yield f"    {'source':{width}}         {difference.source}"
    for reference in difference.references:
        yield f"    {'reference':{width}}         {reference}"
    yield f"    {name:{width}}  {difference.chrf:5.1f}  {difference.translation}"
    yield f"    {other:{width}}  {difference.against_chrf:5.1f}  {difference.against}"
