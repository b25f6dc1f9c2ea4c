"""What the "it" laboratory found: as data, as lines for a terminal, as a picture, and as a page."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from regard.interpret.measure.pronoun_experiment import CHANCE, SAID, AntecedentHead, Intervention, PronounExperiment
from regard.interpret.report.alignment_report import _mover_line
from regard.render.html_page import HtmlReport, page, paragraphs, picture, table
from regard.render.svg import svg
from regard.render.terminal import TerminalStyle
from regard.statistics.intervals import Estimate

_LEFT, _WIDE, _STEP, _HEAD = 12, 400, 38, 32

_INK, _OTHERS = "#2f7fd1", "#888888"


@dataclass(frozen=True)
class PronounReport(HtmlReport):
    """Everything the laboratory found about one model."""

    model: str
    experiment: PronounExperiment

    def json(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        return {"model": self.model, **asdict(self.experiment), "verdict": self.experiment.verdict}

    def lines(self, paper: TerminalStyle) -> Iterator[str]:
        """The pronouns, the heads, what meddling with these does, and what may be said."""
        return experiment_lines(self.experiment, paper)

    def svg(self) -> str:
        """The share of right pronouns, as it is and meddled with; and of pairs in which heads move."""
        found = self.experiment
        least, half = found.threshold
        heads = [(f"{one.head} {SAID[one.place]}", one.moves, _INK) for one in found.antecedent_heads]
        heads.append(("the best head untrained", _point(found.untrained), _OTHERS))
        pronouns = [
            ("the model as it is", found.right, _INK),
            *(
                (one.name, one.right, _OTHERS if one.name.startswith("as many") else _INK)
                for one in found.interventions
            ),
        ]
        top = _panel(60, "Right pronouns, of sentences", pronouns, {"guessing": 0.5})
        below = 60 + _HEAD + _STEP * len(pronouns) + 44
        bottom = _panel(
            below, "Pairs in which a head moves to the right noun", heads, {"chance": CHANCE, "threshold": least / half}
        )
        parts = [
            '<text x="8" y="20" font-weight="bold">Does attention tell what “it” stands for?</text>',
            f'<text x="8" y="40">{escape(self.model)}; {found.pairs:,} pairs of sentences</text>',
            *top,
            *bottom,
        ]
        return svg(_LEFT + _WIDE + 16, below + _HEAD + _STEP * len(heads) + 28, "The “it” laboratory", parts)

    def html(self) -> str:
        """One self-contained page."""
        found = self.experiment
        body = [
            paragraphs([f"{self.model}, on {found.pairs} pairs of sentences that differ in the deciding word alone."]),
            f'<p class="verdict">{escape(found.verdict)}</p>',
            picture(self.svg(), "The picture", narrow=True),
            "<h2>Pronouns</h2>",
            table(["whose pronoun", "in a sentence", "in both of a pair"], list(_pronouns(found))),
            paragraphs([f"In {found.follows:.3f} of pairs both translations have the right pronoun."]),
            "<h2>Heads that move</h2>",
            paragraphs([_chance(found)]),
            table(
                ["head", "looks", "moves", "the wrong way", "right noun", "weight on it", "on the other"],
                [_mover(one) for one in found.antecedent_heads],
            ),
            "<h2>Meddling with them</h2>",
            table(
                ["what is done", "to", "right pronouns", "change"],
                [
                    [one.name, ", ".join(one.heads), f"{one.right:.3f}", f"{one.change:+.3f}"]
                    for one in found.interventions
                ],
            ),
            *(["<h2>The famous sentence</h2>", paragraphs(found.famous)] if found.famous else []),
            paragraphs([f"Not shown: {UNSHOWN}"]),
        ]
        return page("The “it” laboratory", "\n".join(body))


def _chance(found: PronounExperiment) -> str:
    least, half = found.threshold
    beyond = "These are beyond that." if found.beyond else "None is beyond that; this is the best."
    return (
        f"{found.tests} heads were tried, counted at each place. By chance a head moves in {CHANCE:.0%} of pairs, and "
        f"not one of {found.tests} in {least} of {half}, 19 times of 20. Of the same architecture untrained, the best "
        f"moves in {found.untrained:.3f}. {beyond} Chosen on one half of the pairs; the figures are of the other."
    )


def _mover(one: AntecedentHead) -> list[str]:
    shares = [f"{one.moves:.3f}", f"{one.reversed:.3f}", f"{one.right:.3f}"]
    return [one.head, SAID[one.place], *shares, f"{one.antecedent:.2f}", f"{one.distractor:.2f}"]


def _pronouns(found: PronounExperiment) -> Iterator[list[str]]:
    """The model, and those who know less."""
    for one in found.baselines:
        yield [one.name, f"{one.right:.3f}", f"{one.both:.3f}"]
    yield ["a coin", "0.500", "0.250"]


def _point(value: float) -> Estimate:
    return Estimate(value, value, value, 0)


def _panel(top: int, title: str, rows: list[tuple[str, Estimate, str]], lines: dict[str, float]) -> Iterator[str]:
    """Each figure under its name, with its interval, on a scale from 0 to 1; and upright lines to compare with."""
    bottom = top + _HEAD + _STEP * len(rows)
    ys = [top + _HEAD + _STEP * number + 26 for number in range(len(rows))]

    def x(value: float) -> float:
        return _LEFT + _WIDE * value

    yield f'<text x="8" y="{top + 8}" font-weight="bold">{escape(title)}</text>'
    for value in (0.0, 0.5, 1.0):
        yield f'<path d="M{x(value):.0f} {top + 34} V{bottom}" stroke="#999" stroke-width="0.5"/>'
        yield f'<text x="{x(value):.0f}" y="{bottom + 14}" text-anchor="middle" font-size="11">{value:g}</text>'
    # Two may be near each other: one is named to its left, the other to its right.
    for (name, value), (side, away) in zip(lines.items(), (("end", -4), ("start", 4)), strict=False):
        # Beside the figures only: it should not cross their names.
        beside = "".join(f" M{x(value):.1f} {y - 8} v16" for y in ys)
        yield f'<path d="M{x(value):.1f} {top + 18} v14{beside}" stroke="#c2690a" stroke-width="1.5"/>'
        yield f'<text x="{x(value) + away:.1f}" y="{top + 27}" text-anchor="{side}" font-size="11">{name}</text>'
    for y, (name, figure, ink) in zip(ys, rows, strict=True):
        said = f"{name}: {figure:.3f}" if figure.count else f"{name}: {figure.value:.3f}"
        yield f'<text x="{_LEFT + 6}" y="{y - 10}" font-size="12">{escape(said)}</text>'
        yield f'<path d="M{x(figure.low):.1f} {y} H{x(figure.high):.1f}" stroke="{ink}" stroke-width="2"/>'
        yield f'<circle cx="{x(figure.value):.1f}" cy="{y}" r="5" fill="{ink}"/>'


UNSHOWN = "whether this model trained again would do the same, and what else a head is there for."


def experiment_lines(found: PronounExperiment, paper: TerminalStyle) -> Iterator[str]:
    """The pronouns, the heads, what meddling with these does, and what may be said."""
    yield paper.strong(f"The “it” laboratory: {found.pairs} pairs of sentences that differ in the deciding word alone")
    yield ""
    yield f"Pronouns: both translations of a pair have the right one in {found.follows:.3f} of pairs."
    yield ""
    yield from baseline_lines(found)
    yield ""
    least, half = found.threshold
    yield (
        f"Heads: {found.tests} were tried, counted at each place. By chance a head moves in {CHANCE:.0%} of pairs, and "
        f"not one of {found.tests} in {least} of {half}, 19 times of 20. Of the same architecture untrained, the best "
        f"moves in {found.untrained:.3f}."
    )
    yield "Beyond that threshold:" if found.beyond else "None is beyond that threshold. The best is:"
    yield from (f"  {_mover_line(one)}" for one in found.antecedent_heads)
    yield "(chosen on one half of the pairs; these figures are of the other)"
    yield ""
    yield f"Meddling with {', '.join(found.interventions[0].heads)}; the share of right pronouns:"
    yield from (f"  {_intervention(one)}" for one in found.interventions)
    if found.famous:
        yield ""
        yield from found.famous
    yield ""
    yield paper.strong(found.verdict)
    yield f"Not shown: {UNSHOWN}"


def baseline_lines(found: PronounExperiment) -> Iterator[str]:
    """The pronouns of the model, beside those who know less."""
    yield f"{'Forced up to the pronoun, is the right one likelier?':<54}{'in both of a pair':<24}in a sentence"
    yield from (f"  {one.name:<52}{f'{one.both:.3f}':<24}{one.right:.3f}" for one in found.baselines)
    yield f"  {'a coin':<52}{'0.250':<24}0.500"


def _intervention(one: Intervention) -> str:
    which = f" ({', '.join(one.heads)})" if one.name.startswith("as many") else ""
    return f"{one.name}{which}: {one.right:.3f}, a change of {one.change:+.3f}"
