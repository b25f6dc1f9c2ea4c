"""Line plots as SVG: measured points with lines between them, and dashed lines for comparison."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from regard.render.svg import svg

_LEFT, _TOP, _WIDE, _HIGH = 74, 64, 520, 250
_COLOURS = ("#2f7fd1", "#c2690a", "#3f8f3f", "#8a4fbf", "#b8284a", "#4a4a4a")
_SMALL = 'font-size="11"'


@dataclass(frozen=True)
class Series:
    """Named points from left to right."""

    name: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False  # for values that were not measured


@dataclass(frozen=True)
class Axis:
    """An axis that starts at zero or, with `log`, at the power of ten below the smallest value."""

    name: str
    log: bool = False

    def ticks(self, values: Sequence[float]) -> list[float]:
        """Return round numbers from below the smallest value to above the largest."""
        if self.log:
            first, last = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
            return [10.0**power for power in range(first, max(last, first + 1) + 1)]
        step = _round_up(max(values) / 5)
        return [step * number for number in range(math.ceil(max(values) / step) + 1)]

    def fraction(self, value: float, ticks: Sequence[float]) -> float:
        """Return the position of a value between the first tick and the last, from 0 to 1."""
        if self.log:
            value, low, high = (math.log10(number) for number in (value, ticks[0], ticks[-1]))
        else:
            low, high = ticks[0], ticks[-1]
        return (value - low) / (high - low)


def plot(title: str, x: Axis, y: Axis, series: Sequence[Series]) -> str:
    """Return a plot in which every measured point has a tooltip with its values."""
    points = [point for curve in series for point in curve.points]
    x_ticks, y_ticks = x.ticks([point[0] for point in points]), y.ticks([point[1] for point in points])

    def at(point: tuple[float, float]) -> tuple[float, float]:
        return _LEFT + _WIDE * x.fraction(point[0], x_ticks), _TOP + _HIGH * (1 - y.fraction(point[1], y_ticks))

    parts = [f'<text x="8" y="20" font-weight="bold">{escape(title)}</text>']
    for value in y_ticks:
        height = at((x_ticks[0], value))[1]
        parts.append(f'<path d="M{_LEFT} {height:.1f} h{_WIDE}" stroke="#999" stroke-width="0.5"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{height + 4:.1f}" text-anchor="end" {_SMALL}>{value:,.10g}</text>')
    for value in x_ticks:
        left = at((value, y_ticks[0]))[0]
        parts.append(f'<text x="{left:.1f}" y="{_TOP + _HIGH + 16}" text-anchor="middle" {_SMALL}>{value:,.10g}</text>')
    parts.append(f'<text x="{_LEFT + _WIDE / 2}" y="{_TOP + _HIGH + 34}" text-anchor="middle">{escape(x.name)}</text>')
    parts.append(f'<text x="8" y="{_TOP - 12}" {_SMALL}>{escape(y.name)}</text>')
    for number, curve in enumerate(series):
        colour = "#888888" if curve.dashed else _COLOURS[number % len(_COLOURS)]
        parts += _legend(curve, colour, _TOP + 20 * number)
        parts += _polyline(curve, colour, [at(point) for point in curve.points])
    return svg(_LEFT + _WIDE + 70 + 8 * max(len(curve.name) for curve in series), _TOP + _HIGH + 46, title, parts)


def _legend(curve: Series, colour: str, height: int) -> Iterator[str]:
    """Draw the row of a series in the legend at the right."""
    left = _LEFT + _WIDE + 24
    yield f'<path d="M{left} {height} h24" stroke="{colour}" stroke-width="2" stroke-dasharray="{_dash(curve)}"/>'
    yield f'<text x="{left + 30}" y="{height + 4}">{escape(curve.name)}</text>'


def _polyline(curve: Series, colour: str, points: Sequence[tuple[float, float]]) -> Iterator[str]:
    corners = " ".join(f"{left:.1f},{height:.1f}" for left, height in points)
    stroke = f'stroke="{colour}" stroke-width="2" stroke-dasharray="{_dash(curve)}"'
    yield f'<polyline points="{corners}" fill="none" {stroke}/>'
    if curve.dashed:
        return
    for (left, height), (x, y) in zip(points, curve.points, strict=True):
        title = escape(f"{curve.name}, {x:,.10g}: {y:,.3g}")
        yield f'<circle cx="{left:.1f}" cy="{height:.1f}" r="3.5" fill="{colour}"><title>{title}</title></circle>'


def _dash(curve: Series) -> str:
    return "6 4" if curve.dashed else "none"


def _round_up(value: float) -> float:
    """Return the smallest number of the form 1, 2 or 5 times a power of ten that is not below the value."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= value * (1 - 1e-9))
