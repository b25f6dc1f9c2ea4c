"""Write docs/coreference.md from the results of the campaign. No number in it is typed by hand."""

from pathlib import Path


def write_page(results: Path, out: Path) -> None:
    """Write the page from the latest result of each part."""
