"""Settings of Sphinx, which builds the documentation site: `make docs`.

The source folder is the repository, not this folder, so that links from page to page, to the model cards and to the
code work on the site as they do in a file browser. The theme brings its own files: the site needs no network.
"""

import re
from pathlib import Path

from sphinx.application import Sphinx

import regard

project = "Regard"
copyright = "The Regard authors"
version = release = regard.__version__

extensions = ["myst_parser"]
root_doc = "README"
include_patterns = [
    "*.md",
    "docs/**.md",
    "bench/README.md",
    "recipes/README.md",
    "src/regard/model_folder/bundled/*/card.md",
]
myst_heading_anchors = 4  # page.md#section, as in a file browser
myst_enable_extensions = ["html_image"]  # <img> with a width

html_theme = "furo"
html_title = f"Regard {release}"
html_show_sphinx = False
html_show_search_summary = False  # it fetches pages, which browsers refuse if the site is opened from a disk

_LISTED = re.compile(r"^(?:-|\d+\.) \[.+?\]\(([^)#]+\.md)\)", re.MULTILINE)


def _add_contents(app: Sphinx, name: str, source: list[str]) -> None:
    """Make a table of contents from the list of a README, which shows as a plain list elsewhere."""
    if name.endswith("README") and (pages := _LISTED.findall(source[0])):
        source[0] += "\n".join(["\n\n```{toctree}", ":hidden:", "", *pages, "```\n"])


def _add_index(app: Sphinx, failure: Exception | None) -> None:
    """Write index.html, which leads to the front page."""
    if failure is None and app.builder.format == "html":
        head = '<!DOCTYPE html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=README.html">'
        Path(app.outdir, "index.html").write_text(f'{head}<a href="README.html">Regard</a>\n', "utf-8")


def setup(app: Sphinx) -> None:
    app.connect("source-read", _add_contents)
    app.connect("build-finished", _add_index)
