"""What each layer knows: as data, as lines for a terminal, and as a plot."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from regard.interpret.measure.probe_tasks import TASKS, UNTESTED
from regard.interpret.measure.probes import SMALL_LIFT, ProbeResult
from regard.render.html_page import HtmlReport, page, paragraphs, picture, table
from regard.render.svg import svg
from regard.render.terminal import TerminalStyle
from regard.render.text import pad

_PANEL_WIDE, _PANEL_HIGH, _COLUMNS, _TOP = 230, 160, 4, 82

_INK = "#2f7fd1"

_LINES = (("trained", _INK, "none"), ("control task", "#c2690a", "6 3"), ("untrained", "#888888", "2 3"))


@dataclass(frozen=True)
class ProbeReport(HtmlReport):
    """Everything the probes found about one model."""

    model: str
    sentences: int
    data: str
    probes: tuple[ProbeResult, ...]

    def json(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        tasks = [{**asdict(one), "expected_layer": one.expected_layer} for one in self.probes]
        return {
            "model": self.model,
            "data": self.data,
            "sentences": self.sentences,
            "tasks": tasks,
            "untested": UNTESTED,
        }

    def lines(self, paper: TerminalStyle) -> Iterator[str]:
        """A block for each property, a line for each layer."""
        yield paper.strong(self._title())
        for one in self.probes:
            yield ""
            yield paper.strong(self._said(one))
            for layer, figure in enumerate(one.layers):
                bar = paper.paint(" " * max(1, round(24 * figure.value)), figure.value) + " " if paper.colours else ""
                yield (
                    f"  layer {layer}  {pad(f'{figure:.2f}', 20)}{bar}control {one.control[layer]:.2f}, "
                    f"untrained {one.untrained[layer]:.2f}"
                )
        yield ""
        yield from self._reading()

    def svg(self) -> str:
        """A small plot for each property: the trained model, the control task, and the untrained model."""
        parts = [
            '<text x="8" y="20" font-weight="bold">What each layer knows</text>',
            f'<text x="8" y="38">{escape(self.model)}; {self.sentences} {escape(self.data)}</text>',
            *_legend(),
        ]
        top = _TOP
        for stack in ("encoder", "decoder"):
            its = [one for one in self.probes if one.stack == stack]
            if its:
                parts.append(f'<text x="8" y="{top + 12}" font-weight="bold">{stack.capitalize()}</text>')
                parts += [part for number, one in enumerate(its) for part in _panel(top + 24, number, one)]
                top += 30 + -(-len(its) // _COLUMNS) * _PANEL_HIGH
        return svg(_COLUMNS * _PANEL_WIDE + 50, top + 6, "What each layer knows", parts)

    def html(self) -> str:
        """One self-contained page."""
        head = ["property and layer", "right", "control", "untrained", "commonest"]
        rows = [
            [
                f"{one.task}, layer {layer}",
                f"{figure:.3f}",
                f"{one.control[layer]:.3f}",
                f"{one.untrained[layer]:.3f}",
                f"{one.commonest:.3f}",
            ]
            for one in self.probes
            for layer, figure in enumerate(one.layers)
        ]
        said = paragraphs([self._title()]) + picture(self.svg(), "Plots") + paragraphs(self._reading())
        said += "<h2>Where each is known best</h2>" + self._summary()
        return page("Layers, measured", said + "<h2>Every layer</h2>" + table(head, rows))

    def _summary(self) -> str:
        head = ["property", "stack", "answers", "commonest", "best layer", "right there", "untrained", "expected layer"]
        rows = []
        for one in self.probes:
            best = _best(one)
            where = "–" if one.expected_layer is None else f"{one.expected_layer:.1f}"
            numbers = [f"{one.labels}", f"{one.commonest:.2f}", f"{best}", f"{one.layers[best]:.2f}"]
            rows.append([one.task, one.stack, *numbers, f"{one.untrained[best]:.2f}", where])
        return table(head, rows)

    def _title(self) -> str:
        return f"What each layer of {self.model} knows; {self.sentences} {self.data}"

    def _said(self, one: ProbeResult) -> str:
        best = _best(one)
        lift = one.layers[best].value - one.untrained[best]
        where = (
            f"expected layer {one.expected_layer:.1f}"
            if one.expected_layer is not None
            else f"no expected layer (what the layers add is below {SMALL_LIFT:.2f}, or may be chance)"
        )
        return (
            f"{one.stack}: {one.task} ({one.labels} answers, the commonest {one.commonest:.2f}): best at layer {best}, "
            f"{one.layers[best].value:.2f}, {lift:+.2f} over untrained; {where}"
        )

    def _reading(self) -> Iterator[str]:
        yield (
            "Linear probes, learnt on two thirds of the sentences and tested on the rest. Control: labels dealt out to "
            "words at random. What an untrained model gives too, or the control, is no knowledge of the layer."
        )
        left = [task for task in TASKS if task not in {one.task for one in self.probes}]
        yield (
            "In the decoder, a word is looked for in the row that has just read its last piece, or in the one that is "
            "about to write its first. Layer 0 is embedding and position: there nothing is known of the source."
        )
        yield f"Not tested: {UNTESTED}{''.join(f', {task} (too few cases)' for task in left)}."


def _best(one: ProbeResult) -> int:
    return max(range(len(one.layers)), key=lambda layer: one.layers[layer].value)


def _legend() -> Iterator[str]:
    for number, (name, ink, dash) in enumerate(_LINES):
        x = 8 + 140 * number
        yield f'<path d="M{x} 58 h28" stroke="{ink}" stroke-width="2" stroke-dasharray="{dash}"/>'
        yield f'<text x="{x + 34}" y="62">{name}</text>'


def _panel(top: int, number: int, one: ProbeResult) -> Iterator[str]:
    """The plot of one property: a frame with its scale, three lines, and the intervals of the first."""
    left = 40 + (number % _COLUMNS) * _PANEL_WIDE
    top += (number // _COLUMNS) * _PANEL_HIGH + 20
    across = (_PANEL_WIDE - 50) / max(1, len(one.layers) - 1)
    high = _PANEL_HIGH - 58
    xs = [left + across * layer for layer in range(len(one.layers))]

    def y(value: float) -> float:
        return top + high * (1 - value)

    small = 'font-size="11"'
    yield f'<text x="{left}" y="{top - 8}" font-size="12" font-weight="bold">{escape(one.task)}</text>'
    for value in (0.0, 0.5, 1.0):
        yield f'<path d="M{left} {y(value):.0f} H{xs[-1]:.0f}" stroke="#999" stroke-width="0.5"/>'
        yield f'<text x="{left - 6}" y="{y(value) + 4:.0f}" text-anchor="end" {small}>{value:g}</text>'
    for layer, x in enumerate(xs):
        yield f'<text x="{x:.0f}" y="{top + high + 16}" text-anchor="middle" {small}>{layer}</text>'
    each = ([figure.value for figure in one.layers], one.control, one.untrained)
    for values, (_, ink, dash) in zip(each, _LINES, strict=True):
        points = " ".join(f"{x:.1f},{y(value):.1f}" for x, value in zip(xs, values, strict=True))
        yield f'<polyline points="{points}" fill="none" stroke="{ink}" stroke-width="2" stroke-dasharray="{dash}"/>'
    for layer, (x, figure) in enumerate(zip(xs, one.layers, strict=True)):
        title = escape(f"{one.task}, layer {layer}: {figure:.3f}")
        yield f'<circle cx="{x:.1f}" cy="{y(figure.value):.1f}" r="3.5" fill="{_INK}"><title>{title}</title></circle>'
        yield f'<path d="M{x:.1f} {y(figure.low):.1f} V{y(figure.high):.1f}" stroke="{_INK}"/>'
