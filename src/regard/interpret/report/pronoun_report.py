"""The report of the pronoun experiment, as text for a terminal, as an SVG picture and as an HTML page."""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

from regard.interpret.measure.antecedent_heads import AntecedentHead
from regard.interpret.measure.pronoun_baselines import PronounAccuracy
from regard.interpret.measure.pronoun_experiment import PronounExperiment
from regard.interpret.measure.pronoun_interventions import PronounIntervention
from regard.interpret.measure.pronoun_verdict import SMALLEST_EFFECT
from regard.render.chart import BLUE, GREY, IntervalChart, heading
from regard.render.html_page import HtmlReport, page, paragraphs, picture, table
from regard.render.svg import svg
from regard.render.terminal import TerminalStyle
from regard.render.units import format_count
from regard.statistics.estimate import Estimate

_QUERIES = {"it": "from “it”", "cue": "from the cue", "pronoun": "when writing the pronoun"}

_NOT_SHOWN = (
    "Not shown: whether another training run gives the same result, what else these heads do, and sentences unlike "
    "those of the synthetic language."
)

_SYSTEM_COLUMNS = ["system", "both sentences", "per sentence", "per sentence, nouns of one class"]


@dataclass(frozen=True)
class PronounReport(HtmlReport):
    """A report of the pronoun experiment with one model."""

    model: str
    experiment: PronounExperiment

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-compatible values."""
        return {"model": self.model, **self.experiment.to_dict()}

    def lines(self, style: TerminalStyle) -> Iterator[str]:
        """Yield the pronoun accuracies, the antecedent heads, the interventions on them, and the verdict."""
        experiment = self.experiment
        yield style.strong(f"Pronoun experiment: {self._subject()}")
        yield ""
        yield f"Translations: both have the correct pronoun in {experiment.translation_pair_accuracy:.3f} of pairs."
        yield ""
        yield from baseline_lines(experiment)
        yield ""
        yield f"Heads: {significance(experiment)}"
        yield "Significant heads:" if experiment.significant else "No head is significant. The best one:"
        yield from (f"  {_head_line(head)}" for head in experiment.antecedent_heads)
        if experiment.interventions:
            yield ""
            yield f"Interventions on {', '.join(experiment.interventions[0].heads)}: pronoun accuracy per sentence"
            for intervention in experiment.interventions:
                yield from _intervention_lines(intervention)
        if experiment.famous:
            yield ""
            yield from experiment.famous
        yield ""
        yield style.strong(experiment.verdict.text)
        yield self._limits()

    def svg(self) -> str:
        """Return an SVG picture with two charts.

        They show the pronoun accuracy under each intervention, and how often each head prefers the antecedent in both
        sentences of a pair.
        """
        experiment = self.experiment
        rows = [("no intervention", experiment.accuracy, BLUE)]
        for one in experiment.interventions:
            rows.append((one.name, one.accuracy, BLUE))
            if one.control_accuracy is not None:
                rows.append((one.control, one.control_accuracy, GREY))
        pronouns = IntervalChart("Pronoun accuracy (sentences)", rows, {"chance": 0.5})
        heads = IntervalChart(
            "Changed preferences in the right direction (pairs)",
            [
                (f"{head.head} {_QUERIES[head.query]}", head.held_out, BLUE)
                for head in experiment.antecedent_heads
                if head.held_out is not None
            ],
            {"chance": 0.5},
        )
        second_top = 60 + pronouns.height + 44
        parts = [
            *heading("Does attention show what “it” refers to?", f"{self.model}; {experiment.pairs:,} minimal pairs"),
            *pronouns.elements(60),
            *heads.elements(second_top),
        ]
        return svg(heads.width, second_top + heads.height + 28, "Pronoun experiment", parts)

    def html(self) -> str:
        """Return one self-contained page."""
        experiment = self.experiment
        translations = (
            f"In {experiment.translation_pair_accuracy:.3f} of pairs both translations have the correct pronoun."
        )
        body = [
            paragraphs([f"{self.model}: {self._subject()}"]),
            f'<p class="verdict">{escape(experiment.verdict.text)}</p>',
            picture(self.svg(), "Charts", narrow=True),
            "<h2>Pronoun accuracy</h2>",
            table(_SYSTEM_COLUMNS, [_accuracy_row(system) for system in experiment.baselines]),
            paragraphs([translations]),
            "<h2>Antecedent heads</h2>",
            paragraphs([significance(experiment)]),
            table(
                ["head", "query", "p", "right", "right, held out", "both sentences", "reversed", "weights"],
                [_head_row(head) for head in experiment.antecedent_heads],
            ),
        ]
        if experiment.interventions:
            columns = ["intervention", "pronoun accuracy", "control", "accuracy of the control", "difference"]
            rows = [_intervention_row(one) for one in experiment.interventions]
            body += ["<h2>Interventions</h2>", table(columns, rows)]
        body += ["<h2>The famous sentences</h2>", paragraphs(experiment.famous)] if experiment.famous else []
        return page("Pronoun experiment", "\n".join([*body, paragraphs([self._limits()])]))

    def _subject(self) -> str:
        pairs, frames = format_count(self.experiment.pairs, "minimal pair"), self.experiment.frames
        return (
            f"{pairs} of {format_count(frames, 'frame')}; the two sentences of a pair differ only in the cue. One half "
            "finds the heads; everything else is measured on the other half."
        )

    def _limits(self) -> str:
        return (
            f"Intervals are for sentences of other frames (the frame is the cluster); n counts pairs or sentences. "
            f"Differences below {SMALLEST_EFFECT:.2f} are of no interest here. {_NOT_SHOWN}"
        )


def baseline_lines(experiment: PronounExperiment) -> Iterator[str]:
    """Yield the pronoun accuracy of the model and of the baselines as lines of text."""
    yield "Given the reference up to the pronoun, does the model prefer the correct one?"
    for system in experiment.baselines:
        both, single, swappable = _accuracy_row(system)[1:]
        yield f"  {system.name}: both sentences {both}; per sentence {single}; with nouns of one class {swappable}"
    yield "  random choice: both sentences 0.250; per sentence 0.500"


def significance(experiment: PronounExperiment) -> str:
    """Say how heads are found, and what the same search finds in untrained models."""
    untrained = experiment.untrained
    return (
        "A head that reacts to the cue at random changes its preference in the right direction as often as in the "
        f"reversed one. Paired sign test by frame, corrected for {format_count(experiment.questions, 'question')} (one "
        f"per head and query). The preference of the best head changes in {experiment.changed} of "
        f"{(experiment.pairs + 1) // 2} pairs. Untrained models with a significant head: {untrained.with_heads} of "
        f"{untrained.models}; their best head prefers the antecedent in both sentences of "
        f"{untrained.best_pair_accuracy:.3f} of pairs."
    )


def _head_line(head: AntecedentHead) -> str:
    return (
        f"{head.head} {_QUERIES[head.query]}: p {head.p:.4f}; changed preferences go in the right direction in "
        f"{_shown(head.right)}, held out {_shown(head.held_out)}; prefers the antecedent in both sentences of "
        f"{head.pair_accuracy:.3f} of pairs, the distractor in both of {head.reversed:.3f}; mean weight "
        f"{head.antecedent_weight:.2f} on the antecedent, {head.distractor_weight:.2f} on the distractor"
    )


def _head_row(head: AntecedentHead) -> list[str]:
    weights = f"{head.antecedent_weight:.2f} antecedent, {head.distractor_weight:.2f} distractor"
    right = [_shown(head.right), _shown(head.held_out)]
    pairs = [f"{head.pair_accuracy:.3f}", f"{head.reversed:.3f}"]
    return [head.head, _QUERIES[head.query], f"{head.p:.4f}", *right, *pairs, weights]


def _accuracy_row(system: PronounAccuracy) -> list[str]:
    numbers = (system.pair_accuracy, system.accuracy, system.swappable)
    if system.by_construction:
        return [system.name, *(f"{one.value:.3f} by construction" if one else "–" for one in numbers)]
    return [system.name, *map(_shown, numbers)]


def _intervention_lines(intervention: PronounIntervention) -> Iterator[str]:
    yield f"  {intervention.name}: {intervention.accuracy:.3f}"
    if intervention.control_accuracy is not None and intervention.effect is not None:
        yield (
            f"    {_control(intervention)}: {intervention.control_accuracy:.3f}; difference {intervention.effect:+.3f}"
        )


def _intervention_row(intervention: PronounIntervention) -> list[str]:
    effect = f"{intervention.effect:+.3f}" if intervention.effect else "–"
    numbers = [f"{intervention.accuracy:.3f}", _control(intervention), _shown(intervention.control_accuracy), effect]
    return [intervention.name, *numbers]


def _control(intervention: PronounIntervention) -> str:
    if intervention.control_heads in ((), (intervention.heads,)):
        return intervention.control
    return f"{intervention.control} ({'; '.join(', '.join(heads) for heads in intervention.control_heads)})"


def _shown(estimate: Estimate | None) -> str:
    return "–" if estimate is None else f"{estimate:.3f}"
