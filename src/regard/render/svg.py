"""SVG pictures and heatmaps."""

from collections.abc import Sequence
from html import escape
from typing import Any

from regard.render.colour_scale import colour

_CELL = 26  # the width and height of a cell in pixels

_ARROW = (
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0 L8 4 L0 8 z" fill="#888"/></marker></defs>\n'
)

_CHARACTER_WIDTH = 7.2  # the approximate width of a character in pixels

_MAX_LABEL = 30  # the maximum length of a label in characters; a longer label is cut


def heatmap(
    title: str, rows: Sequence[str], row_titles: Sequence[str], columns: Sequence[str], values: Any, masked: Any
) -> str:
    """Return a heatmap of numbers from 0 to 1, in which masked cells have no colour.

    The tooltip of a cell shows the title of its row, the name of its column, and its number.
    """
    row_labels, column_labels = [_shortened(text) for text in rows], [_shortened(text) for text in columns]
    left = 16 + _CHARACTER_WIDTH * max(map(len, row_labels))
    top = 40 + _CHARACTER_WIDTH * max(map(len, column_labels)) * 0.75
    width = max(left + _CELL * len(columns) + 60, 16 + _CHARACTER_WIDTH * len(title))
    height = top + _CELL * len(rows) + 16
    elements = [
        f'<text x="8" y="20" font-weight="bold">{escape(title)}</text>',
        *(
            f'<text transform="translate({left + _CELL * (i + 0.6):.0f} {top - 6:.0f}) rotate(-50)">'
            f"{escape(text)}</text>"
            for i, text in enumerate(column_labels)
        ),
        *(
            f'<text x="{left - 6:.0f}" y="{top + _CELL * (i + 0.65):.0f}" text-anchor="end">{escape(text)}</text>'
            for i, text in enumerate(row_labels)
        ),
        *(
            _cell(f"{row_title} → {column}", left + _CELL * j, top + _CELL * i, float(values[i, j]), bool(masked[i, j]))
            for i, row_title in enumerate(row_titles)
            for j, column in enumerate(columns)
        ),
    ]
    return svg(width, height, title, elements)


def _cell(title: str, x: float, y: float, value: float, masked: bool) -> str:
    box = f'x="{x:.0f}" y="{y:.0f}" width="{_CELL - 1}" height="{_CELL - 1}"'
    if masked:
        return f'<rect {box} fill="none" stroke="#999" stroke-dasharray="2 3"/>'
    red, green, blue = colour(value)
    return f'<rect {box} fill="#{red:02x}{green:02x}{blue:02x}"><title>{escape(f"{title}: {value:.4f}")}</title></rect>'


def svg(width: float, height: float, title: str, elements: list[str]) -> str:
    """Return an SVG picture of the elements, with an accessible name and a marker for the ends of arrows, if any."""
    body = "\n".join(elements)
    # A page may contain several pictures; without arrows, a picture must not define a second marker of the same name.
    marker = _ARROW if "url(#arrow)" in body else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label="{escape(title, quote=True)}" '
        'font-family="system-ui, sans-serif" font-size="13" fill="#444">\n'
        f'{marker}<rect class="ground" width="100%" height="100%" fill="#fff"/>\n{body}\n</svg>\n'
    )


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_LABEL else text[: _MAX_LABEL - 1] + "…"
