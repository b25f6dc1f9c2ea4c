"""The report of the pronoun experiment, as text for a terminal, as an SVG picture and as an HTML page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from regard.interpret.measure.pronoun_experiment import (
    CHANCE_LEVEL,
    CONTROL,
    AntecedentHead,
    Intervention,
    PronounExperiment,
)
from regard.render.chart import BLUE, GREY, IntervalChart, heading
from regard.render.html_page import HtmlReport, page, paragraphs, picture, table
from regard.render.svg import svg
from regard.render.terminal import TerminalStyle
from regard.render.units import format_count
from regard.statistics.estimate import Estimate

_QUERIES = {"it": "from “it”", "cue": "from the cue", "pronoun": "when writing the pronoun"}

_NOT_SHOWN = "Not shown: whether another training run gives the same result, and what else these heads do."


@dataclass(frozen=True)
class PronounReport(HtmlReport):
    """A report of the pronoun experiment with one model."""

    model: str
    experiment: PronounExperiment

    @property
    def _interventions(self) -> tuple[Intervention, ...]:
        """The interventions to show: none if no head is significant, because then there is nothing to explain."""
        return self.experiment.interventions if self.experiment.significant else ()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-compatible values."""
        return {"model": self.model, **self.experiment.to_dict()}

    def lines(self, style: TerminalStyle) -> Iterator[str]:
        """Yield the pronoun accuracies, the antecedent heads, the interventions on them, and the verdict."""
        experiment = self.experiment
        yield style.strong(f"Pronoun experiment: {experiment.pairs} minimal pairs, which differ only in the cue")
        yield ""
        yield (
            "Translations: both sentences have the correct pronoun in "
            f"{experiment.translation_pair_accuracy:.3f} of pairs."
        )
        yield ""
        yield from baseline_lines(experiment)
        yield ""
        yield f"Heads: {_significance(experiment)}"
        yield "Significant heads:" if experiment.significant else "No head is significant. The best one:"
        yield from (f"  {_head_line(head)}" for head in experiment.antecedent_heads)
        yield "(chosen on one half of the pairs, measured on the other)"
        if self._interventions:
            yield ""
            yield f"Interventions on {', '.join(self._interventions[0].heads)} (pronoun accuracy):"
            yield from (f"  {_intervention_line(intervention)}" for intervention in self._interventions)
        if experiment.famous:
            yield ""
            yield from experiment.famous
        yield ""
        yield style.strong(experiment.verdict)
        yield _NOT_SHOWN

    def svg(self) -> str:
        """Return an SVG picture with two charts.

        They show the pronoun accuracy under each intervention, and how often each head prefers the antecedent in both
        sentences of a pair.
        """
        experiment = self.experiment
        threshold, half = experiment.threshold
        pronouns = IntervalChart(
            "Pronoun accuracy (sentences)",
            [
                ("no intervention", experiment.accuracy, BLUE),
                *((each.name, each.accuracy, GREY if each.name == CONTROL else BLUE) for each in self._interventions),
            ],
            {"chance": 0.5},
        )
        heads = IntervalChart(
            "Antecedent preferred in both sentences (pairs)",
            [
                *(
                    (f"{head.head} {_QUERIES[head.query]}", head.pair_accuracy, BLUE)
                    for head in experiment.antecedent_heads
                ),
                ("the best head of an untrained model", _without_interval(experiment.untrained), GREY),
            ],
            {"chance": CHANCE_LEVEL, "threshold": threshold / half},
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
        body = [
            paragraphs([f"{self.model}, on {experiment.pairs} minimal pairs, which differ only in the cue."]),
            f'<p class="verdict">{escape(experiment.verdict)}</p>',
            picture(self.svg(), "Charts", narrow=True),
            "<h2>Pronoun accuracy</h2>",
            table(["system", "per sentence", "both sentences"], list(_accuracy_rows(experiment))),
            paragraphs(
                [f"In {experiment.translation_pair_accuracy:.3f} of pairs both translations have the correct pronoun."]
            ),
            "<h2>Antecedent heads</h2>",
            paragraphs([_significance_with_result(experiment)]),
            table(
                [
                    "head",
                    "query",
                    "both sentences",
                    "reversed",
                    "per sentence",
                    "antecedent weight",
                    "distractor weight",
                ],
                [_head_row(head) for head in experiment.antecedent_heads],
            ),
            *(["<h2>Interventions</h2>", _intervention_table(self._interventions)] if self._interventions else []),
            *(["<h2>The famous sentences</h2>", paragraphs(experiment.famous)] if experiment.famous else []),
            paragraphs([_NOT_SHOWN]),
        ]
        return page("Pronoun experiment", "\n".join(body))


def baseline_lines(experiment: PronounExperiment) -> Iterator[str]:
    """Yield the pronoun accuracy of the model, of the baselines and of random choice as lines of text."""
    yield "Given the reference up to the pronoun, does the model prefer the correct one?"
    yield f"{'':<54}{'both sentences':<24}per sentence"
    for system in experiment.baselines:
        yield f"  {system.name:<52}{f'{system.pair_accuracy:.3f}':<24}{system.accuracy:.3f}"
    yield f"  {'random choice':<52}{'0.250':<24}0.500"


def _significance(experiment: PronounExperiment) -> str:
    threshold, half = experiment.threshold
    tests = format_count(experiment.tests, "test")
    return (
        f"A head that ignores the cue scores {CHANCE_LEVEL:.0%} at most, by coin-flipping. With {tests} (one per head "
        f"and query), a head with at least {threshold} of {half} pairs is significant at p < 0.05 (Bonferroni). The "
        f"best head of an untrained model scores {experiment.untrained:.3f}."
    )


def _significance_with_result(experiment: PronounExperiment) -> str:
    result = "These heads are significant." if experiment.significant else "No head is significant; this is the best."
    return f"{_significance(experiment)} {result} Heads are chosen on one half of the pairs and measured on the other."


def _head_line(head: AntecedentHead) -> str:
    return (
        f"{head.head} {_QUERIES[head.query]}: prefers the antecedent in both sentences of {head.pair_accuracy:.3f} of "
        f"pairs, the distractor in both of {head.reversed:.3f}; prefers the antecedent in {head.accuracy:.3f} of "
        f"sentences; mean weight {head.antecedent_weight:.2f} on the antecedent, {head.distractor_weight:.2f} on the "
        "distractor"
    )


def _head_row(head: AntecedentHead) -> list[str]:
    proportions = [f"{head.pair_accuracy:.3f}", f"{head.reversed:.3f}", f"{head.accuracy:.3f}"]
    weights = [f"{head.antecedent_weight:.2f}", f"{head.distractor_weight:.2f}"]
    return [head.head, _QUERIES[head.query], *proportions, *weights]


def _accuracy_rows(experiment: PronounExperiment) -> Iterator[list[str]]:
    """Yield one table row for each system: the model, each baseline, and random choice."""
    for system in experiment.baselines:
        yield [system.name, f"{system.accuracy:.3f}", f"{system.pair_accuracy:.3f}"]
    yield ["random choice", "0.500", "0.250"]


def _intervention_table(interventions: Sequence[Intervention]) -> str:
    rows = [[each.name, ", ".join(each.heads), f"{each.accuracy:.3f}", f"{each.change:+.3f}"] for each in interventions]
    return table(["intervention", "heads", "pronoun accuracy", "change"], rows)


def _intervention_line(intervention: Intervention) -> str:
    heads = f" ({', '.join(intervention.heads)})" if intervention.name == CONTROL else ""
    return f"{intervention.name}{heads}: {intervention.accuracy:.3f}, change {intervention.change:+.3f}"


def _without_interval(value: float) -> Estimate:
    return Estimate(value, value, value, 0)
