"""Charts as SVG elements: estimates with intervals, lines over layers or positions, and a grid of coloured cells.

The axis of values goes from 0 to 1 or, in a line chart over positions, to the largest value. A chart yields SVG
elements; `regard.render.svg.svg` combines the elements of one or more charts into a picture.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from regard.render.colour_scale import colour
from regard.statistics.estimate import Estimate

BLUE, ORANGE, GREY = "#2f7fd1", "#c2690a", "#888888"

_TICKS = (0.0, 0.5, 1.0)

_TICK_COLOUR = "#999"

_DARK_INK_FROM = 0.55  # cells with a larger weight are light and have black text, other cells have white text


def text(x: float | str, y: float | str, content: str, **attributes: float | str) -> str:
    """Return an SVG text element. The argument `font_size=12` becomes `font-size="12"`, `class_` becomes `class`."""
    named = "".join(f' {name.rstrip("_").replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<text x="{x}" y="{y}"{named}>{escape(content)}</text>'


def heading(title: str, subtitle: str, subtitle_y: int = 40) -> list[str]:
    """Return the SVG elements of a title in bold and of a subtitle below it."""
    return [text(8, 20, title, font_weight="bold"), text(8, subtitle_y, subtitle)]


@dataclass(frozen=True)
class IntervalChart:
    """A chart of labelled estimates with their intervals, one below the other.

    At most two vertical lines show values to compare the estimates with.
    """

    title: str
    rows: Sequence[tuple[str, Estimate, str]]  # label, estimate and colour
    references: Mapping[str, float]  # the label and value of each vertical line

    _LEFT, _WIDTH, _ROW_HEIGHT, _TITLE_HEIGHT = 12, 400, 38, 32

    @property
    def width(self) -> int:
        return self._LEFT + self._WIDTH + 16

    @property
    def height(self) -> int:
        """The height of the chart, without the numbers below the axis."""
        return self._TITLE_HEIGHT + self._ROW_HEIGHT * len(self.rows)

    def elements(self, top: int) -> Iterator[str]:
        """Yield the SVG elements of the chart; `top` is the y coordinate of its upper edge."""
        row_ys = [top + self._TITLE_HEIGHT + self._ROW_HEIGHT * row + 26 for row in range(len(self.rows))]
        yield text(8, top + 8, self.title, font_weight="bold")
        yield from self._scale(top)
        yield from self._reference_lines(top, row_ys)
        for y, (label, estimate, ink) in zip(row_ys, self.rows, strict=True):
            number = f"{estimate:.3f}" if estimate.count else f"{estimate.value:.3f}"
            yield text(self._LEFT + 6, y - 10, f"{label}: {number}", font_size=12)
            low, value, high = (f"{self._x(bound):.1f}" for bound in (estimate.low, estimate.value, estimate.high))
            yield f'<path d="M{low} {y} H{high}" stroke="{ink}" stroke-width="2"/>'
            yield f'<circle cx="{value}" cy="{y}" r="5" fill="{ink}"/>'

    def _x(self, value: float) -> float:
        return self._LEFT + self._WIDTH * value

    def _scale(self, top: int) -> Iterator[str]:
        bottom = top + self.height
        for tick in _TICKS:
            x = f"{self._x(tick):.0f}"
            yield f'<path d="M{x} {top + 34} V{bottom}" stroke="{_TICK_COLOUR}" stroke-width="0.5"/>'
            yield text(x, bottom + 14, f"{tick:g}", text_anchor="middle", font_size=11)

    def _reference_lines(self, top: int, row_ys: Sequence[int]) -> Iterator[str]:
        # The first line is labelled on its left and the second on its right, because two lines may be close together.
        for (name, value), (anchor, shift) in zip(self.references.items(), (("end", -4), ("start", 4)), strict=False):
            # A line is drawn only below the title and at each estimate, so that it does not cross the labels.
            strokes = "".join(f" M{self._x(value):.1f} {y - 8} v16" for y in row_ys)
            yield f'<path d="M{self._x(value):.1f} {top + 18} v14{strokes}" stroke="{ORANGE}" stroke-width="1.5"/>'
            yield text(f"{self._x(value) + shift:.1f}", top + 27, name, text_anchor=anchor, font_size=11)


@dataclass(frozen=True)
class LineStyle:
    """The name, colour and dashes of a line, which are the same in all charts of a picture."""

    name: str
    colour: str
    dashes: str = "none"


def legend(styles: Sequence[LineStyle], y: int, spacing: int = 140) -> Iterator[str]:
    """Yield the SVG elements of a legend: a short sample of each line with its name, side by side."""
    for number, style in enumerate(styles):
        x = 8 + spacing * number
        yield f'<path d="M{x} {y} h28" stroke="{style.colour}" stroke-width="2" stroke-dasharray="{style.dashes}"/>'
        yield text(x + 34, y + 4, style.name)


@dataclass(frozen=True)
class LineChart:
    """A small line chart with the layers of a model on the x axis.

    The points of the first line are estimates with intervals.
    """

    title: str
    estimates: Sequence[Estimate]
    others: Sequence[Sequence[float]]  # the values of the other lines
    styles: Sequence[LineStyle]  # the styles of all lines, that of the estimates first

    WIDTH, HEIGHT = 230, 160

    _PLOT_HEIGHT = HEIGHT - 58

    def elements(self, left: int, top: int) -> Iterator[str]:
        """Yield the SVG elements of the chart; `left` and `top` are the upper left corner of its plot area."""
        step = (self.WIDTH - 50) / max(1, len(self.estimates) - 1)
        xs = [left + step * layer for layer in range(len(self.estimates))]
        ys = [self._y(top, estimate.value) for estimate in self.estimates]
        yield text(left, top - 8, self.title, font_size=12, font_weight="bold")
        yield from self._scales(left, top, xs)
        values = [[estimate.value for estimate in self.estimates], *self.others]
        for line, style in zip(values, self.styles, strict=True):
            points = " ".join(f"{x:.1f},{self._y(top, value):.1f}" for x, value in zip(xs, line, strict=True))
            yield (
                f'<polyline points="{points}" fill="none" stroke="{style.colour}" stroke-width="2" '
                f'stroke-dasharray="{style.dashes}"/>'
            )
        ink = self.styles[0].colour
        for layer, (x, y, estimate) in enumerate(zip(xs, ys, self.estimates, strict=True)):
            title = escape(f"{self.title}, layer {layer}: {estimate:.3f}")
            low, high = (f"{self._y(top, bound):.1f}" for bound in (estimate.low, estimate.high))
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{ink}"><title>{title}</title></circle>'
            yield f'<path d="M{x:.1f} {low} V{high}" stroke="{ink}"/>'

    def _y(self, top: int, value: float) -> float:
        return top + self._PLOT_HEIGHT * (1 - value)

    def _scales(self, left: int, top: int, xs: Sequence[float]) -> Iterator[str]:
        for tick in _TICKS:
            y = self._y(top, tick)
            yield f'<path d="M{left} {y:.0f} H{xs[-1]:.0f}" stroke="{_TICK_COLOUR}" stroke-width="0.5"/>'
            yield text(left - 6, f"{y + 4:.0f}", f"{tick:g}", text_anchor="end", font_size=11)
        for layer, x in enumerate(xs):
            yield text(f"{x:.0f}", top + self._PLOT_HEIGHT + 16, f"{layer}", text_anchor="middle", font_size=11)


@dataclass(frozen=True)
class PositionChart:
    """A line chart with the positions of a text on the x axis. The axis of values goes from 0 to the largest value."""

    title: str
    labels: Sequence[str]  # the name of each position
    lines: Sequence[tuple[LineStyle, Sequence[float]]]

    _LEFT, _STEP, _PLOT_HEIGHT, _LABEL_HEIGHT = 48, 52, 90, 84

    @property
    def width(self) -> int:
        return self._LEFT + self._STEP * len(self.labels)

    @property
    def height(self) -> int:
        return 28 + self._PLOT_HEIGHT + self._LABEL_HEIGHT

    def elements(self, top: int) -> Iterator[str]:
        """Yield the SVG elements of the chart; `top` is the y coordinate of its upper edge."""
        largest = max((value for _, values in self.lines for value in values), default=0.0) or 1.0
        top += 28
        yield text(8, top - 12, self.title, font_weight="bold")
        xs = [self._LEFT + self._STEP * (position + 0.5) for position in range(len(self.labels))]
        for tick in _TICKS:
            line_y = round(top + self._PLOT_HEIGHT * (1 - tick))
            yield f'<path d="M{self._LEFT} {line_y} H{self.width}" stroke="{_TICK_COLOUR}" stroke-width="0.5"/>'
            yield text(self._LEFT - 6, line_y + 4, f"{tick * largest:.1f}", text_anchor="end", font_size=11)
        for x, label in zip(xs, self.labels, strict=True):
            turn = f"translate({x + 3:.0f} {top + self._PLOT_HEIGHT + 12}) rotate(-50)"
            yield text(0, 0, label, text_anchor="end", font_size=11, transform=turn)
        for style, values in self.lines:
            ys = [top + self._PLOT_HEIGHT * (1 - value / largest) for value in values]
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
            yield (
                f'<polyline points="{points}" fill="none" stroke="{style.colour}" stroke-width="2" '
                f'stroke-dasharray="{style.dashes}"/>'
            )
            for x, y, value, label in zip(xs, ys, values, self.labels, strict=True):
                title = escape(f"{self.title}, {style.name}, {label}: {value:.4f}")
                yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{style.colour}"><title>{title}</title></circle>'


@dataclass(frozen=True)
class Cell:
    """A cell of a grid: its row and column, two lines of text, a weight from 0 to 1 for its colour, and a tooltip."""

    row: int
    column: int
    label: str
    number: str
    weight: float
    tooltip: str


@dataclass(frozen=True)
class CellGrid:
    """A grid of coloured cells with the name of each row on its left."""

    row_names: Sequence[str]
    cells: Sequence[Cell]

    _LEFT, _CELL_WIDTH, _CELL_HEIGHT = 130, 92, 40

    @property
    def width(self) -> int:
        return self._LEFT + self._CELL_WIDTH * (1 + max(cell.column for cell in self.cells))

    @property
    def height(self) -> int:
        return self._CELL_HEIGHT * len(self.row_names)

    def elements(self, top: int) -> Iterator[str]:
        """Yield the SVG elements of the grid; `top` is the y coordinate of its upper edge."""
        for row, name in enumerate(self.row_names):
            yield text(self._LEFT - 8, top + self._CELL_HEIGHT * row + 24, name, text_anchor="end")
        for cell in self.cells:
            yield self._cell(cell, top)

    def _cell(self, cell: Cell, top: int) -> str:
        x, y = self._LEFT + self._CELL_WIDTH * cell.column, top + self._CELL_HEIGHT * cell.row
        red, green, blue = colour(cell.weight)
        ink = "#000" if cell.weight > _DARK_INK_FROM else "#fff"
        middle = f"{x + self._CELL_WIDTH / 2 - 1:.0f}"
        label, number = (
            text(middle, y + down, line, text_anchor="middle", font_size=size, class_="on-colour", fill=ink)
            for line, down, size in ((cell.label, 16, 12), (cell.number, 31, 11))
        )
        return (
            f'<g><title>{escape(cell.tooltip)}</title><rect x="{x}" y="{y}" width="{self._CELL_WIDTH - 2}" '
            f'height="{self._CELL_HEIGHT - 2}" fill="#{red:02x}{green:02x}{blue:02x}"/>{label}{number}</g>'
        )
