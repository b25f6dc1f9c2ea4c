"""Pictures as SVG, of an attention map, and the colours of all pictures."""

from collections.abc import Iterator
from html import escape

from regard.inside.maps import Map

_CELL = 26
_LABEL = 7.2  # about the width of a character
_LONGEST = 30
# Cividis, made to look the same to colour-blind eyes, dark for little.
_CIVIDIS = ((0, 32, 77), (64, 77, 107), (124, 123, 120), (188, 174, 108), (255, 233, 69))


def colour(weight: float) -> tuple[int, int, int]:
    """A weight from 0 to 1 as red, green and blue."""
    place = min(max(float(weight), 0.0), 1.0) * (len(_CIVIDIS) - 1)
    low = min(int(place), len(_CIVIDIS) - 2)
    red, green, blue = (
        round(one + (place - low) * (other - one)) for one, other in zip(_CIVIDIS[low], _CIVIDIS[low + 1], strict=True)
    )
    return red, green, blue


def map_svg(found: Map) -> str:
    """A map, with a title on every cell that gives its number."""
    rows, columns = [_short(row.label) for row in found.rows], [_short(text) for text in found.columns]
    left = 16 + _LABEL * max(map(len, rows))
    top = 40 + _LABEL * max(map(len, columns)) * 0.75
    width = max(left + _CELL * len(columns) + 60, 16 + _LABEL * len(found.title))
    height = top + _CELL * len(rows) + 16
    parts = [
        f'<text x="8" y="20" font-weight="bold">{escape(found.title)}</text>',
        *(
            f'<text transform="translate({left + _CELL * (i + 0.6):.0f} {top - 6:.0f}) rotate(-50)">'
            f"{escape(text)}</text>"
            for i, text in enumerate(columns)
        ),
        *(
            f'<text x="{left - 6:.0f}" y="{top + _CELL * (i + 0.65):.0f}" text-anchor="end">{escape(text)}</text>'
            for i, text in enumerate(rows)
        ),
        *_cells(found, left, top),
    ]
    return svg(width, height, found.title, parts)


def _cells(found: Map, left: float, top: float) -> Iterator[str]:
    for i, row in enumerate(found.rows):
        for j, column in enumerate(found.columns):
            box = f'x="{left + _CELL * j:.0f}" y="{top + _CELL * i:.0f}" width="{_CELL - 1}" height="{_CELL - 1}"'
            if found.masked[i, j]:
                yield f'<rect {box} fill="none" stroke="#999" stroke-dasharray="2 3"/>'
                continue
            value = float(found.values[i, j])
            red, green, blue = colour(value)
            title = escape(f"{row.sentence} → {column}: {value:.4f}")
            yield f'<rect {box} fill="#{red:02x}{green:02x}{blue:02x}"><title>{title}</title></rect>'


def svg(width: float, height: float, title: str, parts: list[str]) -> str:
    """A picture that can be named and scaled."""
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label="{escape(title, quote=True)}" '
        'font-family="system-ui, sans-serif" font-size="13" fill="#444">\n'
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z" fill="#888"/></marker></defs>\n'
        f'<rect class="ground" width="100%" height="100%" fill="#fff"/>\n{body}\n</svg>\n'
    )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
