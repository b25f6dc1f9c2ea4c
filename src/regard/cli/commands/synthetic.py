"""`regard synthetic`: pairs of the built-in synthetic language."""

from pathlib import Path

from regard.console import follow, say


def _write(path: Path, count: int, seed: int, split: str, *, truth: bool) -> None:
    """Write pairs of the built-in language."""
    from regard.data.synthetic.tsv_files import export, many

    found = follow(many(count, seed, split, truth=truth), "pairs", count)
    for file in export(path, found, truth=truth):
        say(f"wrote {file}: {count:,} lines")
