"""Self-contained HTML pages for measurement reports, without scripts and with the interactive page's style sheet."""

import base64
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from html import escape

from regard.page.assets import bundled_style


class HtmlReport(ABC):
    """A report with an HTML page, which a notebook displays."""

    @abstractmethod
    def html(self) -> str:
        """Return the report as one self-contained HTML page."""

    def _repr_html_(self) -> str:
        return notebook_frame(self.html(), "Regard: measurement")


def notebook_frame(page: str, title: str) -> str:
    """Return a sandboxed HTML frame that shows a page inside a notebook."""
    return (
        f'<iframe srcdoc="{escape(page)}" title="{escape(title)}" sandbox="allow-scripts" '
        'style="width:100%;height:46rem;border:1px solid #8888;border-radius:6px"></iframe>'
    )


def page(title: str, body: str, kind: str = "measurement") -> str:
    """Return a complete HTML page with a title (plain text), a body (HTML), and what kind of page it is."""
    style = bundled_style("base.css", "report.css")
    policy = f"default-src 'none'; style-src '{csp_hash(style)}'; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>Regard: {escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n<header>\n"
        f'<p class="brand">Regard <span>{escape(kind)}</span></p>\n<h1>{escape(title)}</h1>\n</header>\n'
        f'<main class="report">\n{body}\n</main>\n</body>\n</html>\n'
    )


def paragraphs(lines: Iterable[str]) -> str:
    """Return the lines as HTML, with one paragraph per line."""
    return "".join(f"<p>{escape(line)}</p>\n" for line in lines)


def picture(svg: str, name: str, *, narrow: bool = False) -> str:
    """Return an SVG picture in an HTML frame. The picture shrinks to the width of the frame.

    If the frame is narrower than a minimum width, the picture scrolls instead, unless `narrow` is true.
    """
    classes = "frame drawing narrow" if narrow else "frame drawing"
    return f'<div class="{classes}" role="region" aria-label="{escape(name)}" tabindex="0">{svg}</div>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]], name: str = "") -> str:
    """Return an HTML table; the first cell of each row is the name of the row.

    Columns of text are aligned left, and columns of numbers right. `name` is read out by screen readers; without it,
    the head of the first column is.
    """
    classes = [' class="text"' if any(row[i][:1].isalpha() for row in rows) else "" for i in range(len(head))]
    columns = "".join(f'<th scope="col"{css}>{escape(text)}</th>' for text, css in zip(head, classes, strict=True))
    lines = ""
    for row in rows:
        cells = (f"<td{css}>{escape(text)}</td>" for text, css in list(zip(row, classes, strict=True))[1:])
        lines += f'<tr><th scope="row">{escape(row[0])}</th>{"".join(cells)}</tr>\n'
    return (
        f'<div class="numbers" role="region" aria-label="{escape(name or head[0])}" tabindex="0"><table>\n'
        f"<thead><tr>{columns}</tr></thead>\n<tbody>\n{lines}</tbody>\n</table></div>"
    )


def csp_hash(text: str) -> str:
    """Return the hash by which a Content-Security-Policy allows a script or a style sheet."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
