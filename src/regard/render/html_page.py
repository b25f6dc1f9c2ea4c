"""A page without a script: what a measurement found, in the style of the other pages, in one file."""

import base64
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from html import escape

from regard.page.assets import read_asset


class HtmlReport(ABC):
    """What was found, which shows itself in a notebook as its page."""

    @abstractmethod
    def html(self) -> str:
        """One self-contained page."""

    def _repr_html_(self) -> str:
        return notebook_frame(self.html(), "Regard: measured")


def notebook_frame(page: str, title: str) -> str:
    """A page of its own inside a notebook's: neither can touch the other."""
    return (
        f'<iframe srcdoc="{escape(page)}" title="{escape(title)}" sandbox="allow-scripts" '
        'style="width:100%;height:46rem;border:1px solid #8888;border-radius:6px"></iframe>'
    )


def page(title: str, body: str) -> str:
    """The page around a body of HTML."""
    style = read_asset("page.css")
    policy = f"default-src 'none'; style-src '{csp_hash(style)}'; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>Regard: {escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n<header>\n"
        f'<p class="brand">Regard <span>measured</span></p>\n<h1>{escape(title)}</h1>\n</header>\n'
        f'<main class="report">\n{body}\n</main>\n</body>\n</html>\n'
    )


def paragraphs(lines: Iterable[str]) -> str:
    """Each line a paragraph."""
    return "".join(f"<p>{escape(line)}</p>\n" for line in lines)


def picture(svg: str, name: str, *, narrow: bool = False) -> str:
    """A picture, which scrolls where there is no room for it, unless it is so narrow that it can shrink instead."""
    kind = "frame drawing narrow" if narrow else "frame drawing"
    return f'<div class="{kind}" role="region" aria-label="{escape(name)}" tabindex="0">{svg}</div>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; the first cell of a row names it. Columns of words stand to the left, those of numbers to the right."""
    kinds = [' class="said"' if any(row[at][:1].isalpha() for row in rows) else "" for at in range(len(head))]
    columns = "".join(f'<th scope="col"{kind}>{escape(text)}</th>' for text, kind in zip(head, kinds, strict=True))
    lines = ""
    for row in rows:
        cells = (f"<td{kind}>{escape(text)}</td>" for text, kind in list(zip(row, kinds, strict=True))[1:])
        lines += f'<tr><th scope="row">{escape(row[0])}</th>{"".join(cells)}</tr>\n'
    return (
        f'<div class="numbers" role="region" aria-label="{escape(head[0])}" tabindex="0"><table>\n'
        f"<thead><tr>{columns}</tr></thead>\n<tbody>\n{lines}</tbody>\n</table></div>"
    )


def csp_hash(text: str) -> str:
    """What a Content-Security-Policy calls a script or style by."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
