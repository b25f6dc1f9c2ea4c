"""The report of a measurement of attention heads, as text for a terminal, as an SVG picture and as an HTML page."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from regard.interpret.address import locate_head
from regard.interpret.measure.head_ablation import COMPARISONS, HeadMeasurement
from regard.interpret.measure.head_roles import (
    MIN_CASES,
    MIN_LIFT,
    POSITIONAL_ACCURACY,
    UNIFORM_ENTROPY,
    UNTRAINED_MODELS,
    HeadProfile,
)
from regard.interpret.measure.role_criteria import POSITIONAL_ROLES, ROLE_DESCRIPTIONS
from regard.render.chart import Cell, CellGrid, heading
from regard.render.html_page import HtmlReport, page, paragraphs, picture, table
from regard.render.svg import svg
from regard.render.terminal import TerminalStyle
from regard.render.text import pad
from regard.render.units import format_count

_SHORT_ROLES = {
    "verb → subject": "v→subject",
    "verb → object": "v→object",
    "verb → instrument": "v→instr.",
    "adjective → noun": "adj→noun",
    "it → antecedent": "it→antec.",
    "align, read": "align rd",
    "align, written": "align wr",
}

_TOP = 64  # the y coordinate of the upper edge of the grid of heads


@dataclass(frozen=True)
class HeadReport(HtmlReport):
    """A report of the role and the ablation effect of every head of a model."""

    model: str
    measurement: HeadMeasurement

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-compatible values."""
        return {"model": self.model, **self.measurement.to_dict()}

    def lines(self, style: TerminalStyle) -> Iterator[str]:
        """Yield a summary, a grid of heads (only if the terminal has colours), a line per head, and an explanation."""
        yield from self._summary()
        yield ""
        if style.colours:
            yield from self._terminal_grid(style)
            yield ""
        for profile in self.measurement.profiles:
            yield f"{style.strong(profile.address)}  {self._description(profile)}"
        yield ""
        yield from self._explanation()

    def svg(self) -> str:
        """Return an SVG picture of all heads, each with its role and its ablation effect."""
        attentions = self._attentions()
        cells = []
        for profile in self.measurement.profiles:
            attention, head = locate_head(profile.address)
            change = f"{self.measurement.ablation[profile.address, 'zeroed'].loss.value:+.3f}"
            tooltip = f"{profile.address}: {self._description(profile)}"
            weight = self._relative_effect(profile)
            cells.append(Cell(attentions.index(attention), head, _short_role(profile), change, weight, tooltip))
        grid = CellGrid(attentions, cells)
        parts = [
            *heading(
                "Every head: its role, and how much the loss grows without it",
                f"{self.model}; {self.measurement.pairs} {self.measurement.data}",
            ),
            *grid.elements(_TOP),
        ]
        title = "All heads with their roles and ablation effects"
        return svg(max(grid.width + 16, 460), _TOP + grid.height + 16, title, parts)

    def html(self) -> str:
        """Return one self-contained page."""
        columns = ["head", "role", "confidence", "entropy", "best role score", "loss without it", "changed", "BLEU"]
        rows = [
            [
                profile.address,
                profile.role or "none",
                f"{profile.confidence:.2f}",
                f"{profile.entropy:.2f}",
                _best_score(profile),
                f"{self.measurement.ablation[profile.address, 'zeroed'].loss:+.3f}",
                f"{self.measurement.ablation[profile.address, 'zeroed'].changed:.2f}",
                f"{self.measurement.ablation[profile.address, 'zeroed'].bleu:+.1f}",
            ]
            for profile in self.measurement.profiles
        ]
        body = paragraphs(self._summary()) + picture(self.svg(), "All heads") + paragraphs(self._explanation())
        return page("Attention heads", body + table(columns, rows))

    def _attentions(self) -> list[str]:
        return list(dict.fromkeys(locate_head(profile.address)[0] for profile in self.measurement.profiles))

    def _summary(self) -> Iterator[str]:
        profiles, scores = self.measurement.profiles, self.measurement.unablated
        heads = format_count(len(profiles), "head")
        yield f"{heads} of {self.model}, measured on {self.measurement.pairs} {self.measurement.data}"
        pronoun = f", pronoun accuracy {scores.pronoun:.2f}" if scores.pronoun else ""
        yield (
            f"Unablated model: loss {scores.loss:.3f} nats per token, BLEU {scores.bleu:.1f} "
            f"({scores.translated} greedy translations){pronoun}"
        )
        roles = Counter(profile.role or "none" for profile in profiles)
        yield f"Roles: {', '.join(f'{name} {count}' for name, count in roles.most_common())}"

    def _terminal_grid(self, style: TerminalStyle) -> Iterator[str]:
        for attention in self._attentions():
            cells = (
                style.paint(pad(f" {_short_role(profile)}", 11), self._relative_effect(profile))
                for profile in self.measurement.profiles
                if locate_head(profile.address)[0] == attention
            )
            yield f"{attention:<18}{' '.join(cells)}"

    def _description(self, profile: HeadProfile) -> str:
        zeroed = self.measurement.ablation[profile.address, "zeroed"]
        uniform = self.measurement.ablation[profile.address, "uniform"]
        pronoun = f", pronoun accuracy {zeroed.pronoun:+.2f}" if zeroed.pronoun else ""
        return (
            f"{profile.role or 'no role'}; {_best_score(profile)}; confidence {profile.confidence:.2f}, entropy "
            f"{profile.entropy:.2f} (n {profile.queries}); without it: loss {zeroed.loss:+.3f}, translations changed "
            f"{zeroed.changed:.2f}, BLEU {zeroed.bleu:+.1f}{pronoun}; with uniform attention: loss {uniform.loss:+.3f}"
        )

    def _explanation(self) -> Iterator[str]:
        profiles = self.measurement.profiles
        questions = sum(len(profile.role_scores) for profile in profiles)
        yield (
            f"Intervals of roles are Bonferroni-corrected for {questions} questions (every role of every head), those "
            f"of ablation effects for {COMPARISONS} effects of {format_count(len(profiles), 'head')}; n is the number "
            f"of cases. Positional role: ≥ {POSITIONAL_ACCURACY:.0%} of queries attend to that position. Word role: "
            f"accuracy at least {MIN_LIFT * 100:.0f} points above both baselines (best rule without words; best head "
            f"of {UNTRAINED_MODELS} untrained models). The lower confidence bound must be above both. Uniform: entropy "
            f"≥ {UNIFORM_ENTROPY:.0%} of its maximum. BLEU has no interval: see how many translations change."
        )
        unmeasured = sorted(
            role for role in ROLE_DESCRIPTIONS if not any(_has_enough_cases(profile, role) for profile in profiles)
        )
        if unmeasured:
            yield f"Not measured (fewer than {MIN_CASES} cases, or no annotations): {', '.join(unmeasured)}."
        yield (
            "A role says what a head attends to; the ablation effect says how much the model needs it. A model trained "
            "with another seed may divide the work differently."
        )

    def _relative_effect(self, profile: HeadProfile) -> float:
        """Return how much the loss grows when a head is ablated, divided by the largest growth for any head."""
        ablation = self.measurement.ablation
        largest = max(effect.loss.value for (_, mode), effect in ablation.items() if mode == "zeroed")
        return max(0.0, ablation[profile.address, "zeroed"].loss.value) / largest if largest > 0 else 0.0


def _short_role(profile: HeadProfile) -> str:
    return _SHORT_ROLES.get(profile.role or "", profile.role or "–")


def _best_score(profile: HeadProfile) -> str:
    """Describe the score of a head for its role, and the baselines.

    For a head without a role, describe the score that exceeds its baselines most.
    """
    scores = {role: score for role, score in profile.role_scores.items() if score.accuracy.count >= MIN_CASES}
    if not scores:
        return "too few cases"
    role = profile.role if profile.role in scores else max(scores, key=lambda role: scores[role].lift)
    score = scores[role]
    baseline = "random" if role in (*POSITIONAL_ROLES, "rare") else "best rule"
    return f"{role} {score.accuracy:.2f} ({baseline} {score.baseline:.2f}, untrained {score.untrained:.2f})"


def _has_enough_cases(profile: HeadProfile, role: str) -> bool:
    return role in profile.role_scores and profile.role_scores[role].accuracy.count >= MIN_CASES
