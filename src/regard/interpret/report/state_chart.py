"""A picture of the norms of the states of recurrent layers over the positions, with a chart for each layer."""

from collections.abc import Sequence

from regard.interpret.look.recurrent_steps import StateNorms, rows_of
from regard.interpret.trace import Trace
from regard.render.chart import BLUE, ORANGE, LineStyle, PositionChart, heading, legend
from regard.render.svg import svg

_MAX_LABEL = 16  # the maximum length of the name of a position in characters; a longer name is cut

_LEGEND_SPACING = 168


def state_chart(trace: Trace, states: Sequence[StateNorms]) -> str:
    """Return an SVG picture of the norms of some states."""
    charts = []
    for layer in dict.fromkeys(state.recurrence.layer for state in states):
        lines = [(_style(state), state.norms.tolist()) for state in states if state.recurrence.layer == layer]
        side = next(state.recurrence.side for state in states if state.recurrence.layer == layer)
        charts.append(PositionChart(layer, [_short(row.text) for row in rows_of(trace, side)], lines))
    styles = list(dict.fromkeys(_style(state) for state in states))
    title = "Norms of the states over the positions"
    tops = [76 + sum(chart.height for chart in charts[:number]) for number in range(len(charts))]
    elements = [
        *heading(title, "a target position has the name of the token that it predicts"),
        *legend(styles, 60, _LEGEND_SPACING),
        *(element for chart, top in zip(charts, tops, strict=True) for element in chart.elements(top)),
    ]
    width = max(16 + _LEGEND_SPACING * len(styles), 360, *(chart.width for chart in charts))
    return svg(width + 16, 76 + sum(chart.height for chart in charts), title, elements)


def _style(state: StateNorms) -> LineStyle:
    direction, colour = ("backwards", ORANGE) if state.recurrence.backwards else ("forwards", BLUE)
    return LineStyle(f"{state.state}, {direction}", colour, "none" if state.state == "hidden" else "6 3")


def _short(text: str) -> str:
    return text if len(text) <= _MAX_LABEL else text[: _MAX_LABEL - 1] + "…"
