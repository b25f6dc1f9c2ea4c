"""A plot of a few lines as SVG: measured points joined, and dashed lines to compare them with."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from regard.render.svg import svg

_LEFT, _TOP, _WIDE, _HIGH = 74, 64, 520, 250
_INKS = ("#2f7fd1", "#c2690a", "#3f8f3f", "#8a4fbf", "#b8284a", "#4a4a4a")
_SMALL = 'font-size="11"'


@dataclass(frozen=True)
class Line:
    """Points from left to right."""

    name: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False  # not measured


@dataclass(frozen=True)
class Axis:
    """What is shown along one side, from nothing on; or, `log`, from the power of ten before the smallest."""

    name: str
    log: bool = False

    def ticks(self, values: Sequence[float]) -> list[float]:
        """Round numbers from below the smallest value to above the largest."""
        if self.log:
            first, last = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
            return [10.0**power for power in range(first, max(last, first + 1) + 1)]
        step = _round_up(max(values) / 5)
        return [step * number for number in range(math.ceil(max(values) / step) + 1)]

    def place(self, value: float, ticks: Sequence[float]) -> float:
        """Where a value stands between the first tick and the last, from 0 to 1."""
        if self.log:
            value, low, high = (math.log10(number) for number in (value, ticks[0], ticks[-1]))
        else:
            low, high = ticks[0], ticks[-1]
        return (value - low) / (high - low)


def plot(title: str, x: Axis, y: Axis, lines: Sequence[Line]) -> str:
    """The picture; every measured point has a title that gives its numbers."""
    every = [point for line in lines for point in line.points]
    across, up = x.ticks([point[0] for point in every]), y.ticks([point[1] for point in every])

    def at(point: tuple[float, float]) -> tuple[float, float]:
        return _LEFT + _WIDE * x.place(point[0], across), _TOP + _HIGH * (1 - y.place(point[1], up))

    parts = [f'<text x="8" y="20" font-weight="bold">{escape(title)}</text>']
    for value in up:
        height = at((across[0], value))[1]
        parts.append(f'<path d="M{_LEFT} {height:.1f} h{_WIDE}" stroke="#999" stroke-width="0.5"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{height + 4:.1f}" text-anchor="end" {_SMALL}>{value:,.10g}</text>')
    for value in across:
        left = at((value, up[0]))[0]
        parts.append(f'<text x="{left:.1f}" y="{_TOP + _HIGH + 16}" text-anchor="middle" {_SMALL}>{value:,.10g}</text>')
    parts.append(f'<text x="{_LEFT + _WIDE / 2}" y="{_TOP + _HIGH + 34}" text-anchor="middle">{escape(x.name)}</text>')
    parts.append(f'<text x="8" y="{_TOP - 12}" {_SMALL}>{escape(y.name)}</text>')
    for number, line in enumerate(lines):
        ink = "#888888" if line.dashed else _INKS[number % len(_INKS)]
        parts += _legend(line, ink, _TOP + 20 * number)
        parts += _drawn(line, ink, [at(point) for point in line.points])
    return svg(_LEFT + _WIDE + 70 + 8 * max(len(line.name) for line in lines), _TOP + _HIGH + 46, title, parts)


def _legend(line: Line, ink: str, height: int) -> Iterator[str]:
    """To the right, a row for each line."""
    left = _LEFT + _WIDE + 24
    yield f'<path d="M{left} {height} h24" stroke="{ink}" stroke-width="2" stroke-dasharray="{_dash(line)}"/>'
    yield f'<text x="{left + 30}" y="{height + 4}">{escape(line.name)}</text>'


def _drawn(line: Line, ink: str, places: Sequence[tuple[float, float]]) -> Iterator[str]:
    corners = " ".join(f"{left:.1f},{height:.1f}" for left, height in places)
    yield f'<polyline points="{corners}" fill="none" stroke="{ink}" stroke-width="2" stroke-dasharray="{_dash(line)}"/>'
    if line.dashed:
        return
    for (left, height), (x, y) in zip(places, line.points, strict=True):
        title = escape(f"{line.name}, {x:,.10g}: {y:,.3g}")
        yield f'<circle cx="{left:.1f}" cy="{height:.1f}" r="3.5" fill="{ink}"><title>{title}</title></circle>'


def _dash(line: Line) -> str:
    return "6 4" if line.dashed else "none"


def _round_up(value: float) -> float:
    """1, 2 or 5 times a power of ten, at least the value."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= value * (1 - 1e-9))
