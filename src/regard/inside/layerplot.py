"""What each layer knows: as data, as lines for a terminal, and as a plot."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from regard.inside.drawing import svg
from regard.inside.probes import SMALL_LIFT, TASKS, UNTESTED, Probed
from regard.inside.report import page, table
from regard.inside.terminal import Paper, padded

_PANEL_WIDE, _PANEL_HIGH, _COLUMNS, _TOP = 250, 170, 2, 70
_TRAINED, _CONTROL, _UNTRAINED = "#00529b", "#b35900", "#777777"


@dataclass(frozen=True)
class Layers:
    """Everything the probes found about one model."""

    model: str
    sentences: int
    data: str
    probed: tuple[Probed, ...]

    def json(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        tasks = [{**asdict(one), "expected_layer": one.expected_layer} for one in self.probed]
        return {
            "model": self.model,
            "data": self.data,
            "sentences": self.sentences,
            "tasks": tasks,
            "untested": UNTESTED,
        }

    def lines(self, paper: Paper) -> Iterator[str]:
        """A block for each property, a line for each layer."""
        yield paper.strong(self._title())
        for one in self.probed:
            yield ""
            yield paper.strong(self._said(one))
            for layer, figure in enumerate(one.layers):
                bar = paper.paint(" " * max(1, round(24 * figure.value)), figure.value) + " " if paper.colours else ""
                yield (
                    f"  layer {layer}  {padded(f'{figure:.2f}', 20)}{bar}control {one.control[layer]:.2f}, "
                    f"untrained {one.untrained[layer]:.2f}"
                )
        yield ""
        yield from self._reading()

    def svg(self) -> str:
        """A small plot for each property: the trained model, the control task, and the untrained model."""
        rows = -(-len(self.probed) // _COLUMNS)
        parts = [
            f'<text x="8" y="20" font-weight="bold">{escape(self._title())}</text>',
            *_legend(),
            *(part for number, one in enumerate(self.probed) for part in _panel(number, one)),
        ]
        return svg(
            max(_COLUMNS * _PANEL_WIDE + 40, 560), _TOP + rows * _PANEL_HIGH + 10, "What each layer knows", parts
        )

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
            for one in self.probed
            for layer, figure in enumerate(one.layers)
        ]
        said = "".join(f"<p>{escape(line)}</p>" for line in (*map(self._said, self.probed), *self._reading()))
        body = f'<div class="frame drawing" role="region" aria-label="Plots" tabindex="0">{self.svg()}</div>'
        return page("Layers, measured", body + said + table(head, rows))

    def _title(self) -> str:
        return f"What each layer of the encoder of {self.model} knows; {self.sentences} {self.data}"

    def _said(self, one: Probed) -> str:
        best = max(range(len(one.layers)), key=lambda layer: one.layers[layer].value)
        lift = one.layers[best].value - one.untrained[best]
        where = (
            f"expected layer {one.expected_layer:.1f}"
            if one.expected_layer is not None
            else f"no expected layer (the layers add less than {SMALL_LIFT:.2f})"
        )
        return (
            f"{one.task} ({one.labels} answers, the commonest {one.commonest:.2f}): best at layer {best}, "
            f"{one.layers[best].value:.2f}, {lift:+.2f} over untrained; {where}"
        )

    def _reading(self) -> Iterator[str]:
        yield (
            "Linear probes, learnt on two thirds of the sentences and tested on the rest. Control: labels dealt out to words "
            "at random. What an untrained model gives too, or the control, is no knowledge of the layer."
        )
        left = [task for task in TASKS if task not in {one.task for one in self.probed}]
        yield f"Not tested: {UNTESTED}{''.join(f', {task} (too few cases)' for task in left)}."


def _legend() -> Iterator[str]:
    named = (("trained", _TRAINED, ""), ("control task", _CONTROL, "6 3"), ("untrained", _UNTRAINED, "2 3"))
    for number, (name, ink, dash) in enumerate(named):
        x = 8 + 140 * number
        yield f'<path d="M{x} 42 h28" stroke="{ink}" stroke-width="2" stroke-dasharray="{dash}"/>'
        yield f'<text x="{x + 34}" y="46">{name}</text>'


def _panel(number: int, one: Probed) -> Iterator[str]:
    left = 50 + (number % _COLUMNS) * (_PANEL_WIDE + 10)
    top = _TOP + (number // _COLUMNS) * _PANEL_HIGH + 20
    wide, high = _PANEL_WIDE - 50, _PANEL_HIGH - 60

    def at(layer: int, value: float) -> tuple[float, float]:
        return left + wide * layer / max(1, len(one.layers) - 1), top + high * (1 - value)

    yield f'<text x="{left}" y="{top - 6}" font-weight="bold">{escape(one.task)}</text>'
    for value in (0.0, 0.5, 1.0):
        y = at(0, value)[1]
        yield f'<path d="M{left} {y:.0f} h{wide}" stroke="#999" stroke-width="0.5"/>'
        yield f'<text x="{left - 6}" y="{y + 4:.0f}" text-anchor="end" font-size="11">{value:g}</text>'
    for layer in range(len(one.layers)):
        yield f'<text x="{at(layer, 0)[0]:.0f}" y="{top + high + 16}" text-anchor="middle" font-size="11">{layer}</text>'
    lines = (
        ([f.value for f in one.layers], _TRAINED, ""),
        (one.control, _CONTROL, "6 3"),
        (one.untrained, _UNTRAINED, "2 3"),
    )
    for values, ink, dash in lines:
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(layer, value) for layer, value in enumerate(values)))
        yield f'<polyline points="{points}" fill="none" stroke="{ink}" stroke-width="2" stroke-dasharray="{dash}"/>'
    for layer, figure in enumerate(one.layers):
        x, y = at(layer, figure.value)
        title = escape(f"{one.task}, layer {layer}: {figure:.3f}")
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{_TRAINED}"><title>{title}</title></circle>'
        yield f'<path d="M{x:.1f} {at(0, figure.low)[1]:.1f} V{at(0, figure.high)[1]:.1f}" stroke="{_TRAINED}"/>'
