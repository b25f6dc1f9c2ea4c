"""A page without a script: what a measurement found, in the style of the other pages, in one file."""

from collections.abc import Sequence
from html import escape

from regard.inside.export import hashed, read_asset


def page(title: str, body: str) -> str:
    """The page around a body of HTML."""
    style = read_asset("page.css")
    policy = f"default-src 'none'; style-src '{hashed(style)}'; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>Regard: {escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n<header>\n"
        f'<p class="brand">Regard <span>measured</span></p>\n<h1>{escape(title)}</h1>\n</header>\n'
        f"<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; the first cell of a row names it."""
    columns = "".join(f'<th scope="col">{escape(text)}</th>' for text in head)
    lines = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{escape(text)}</td>" for text in row[1:])}</tr>\n'
        for row in rows
    )
    return (
        f'<div class="numbers" role="region" aria-label="{escape(head[0])}" tabindex="0"><table>\n'
        f"<thead><tr>{columns}</tr></thead>\n<tbody>\n{lines}</tbody>\n</table></div>"
    )
