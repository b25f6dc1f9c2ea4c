"""Pairs into files: a TSV that `train` reads, and beside it, if asked for, the truth as JSON, a line for each pair."""

import json
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from regard.data.language.writing import Pair
from regard.errors import UserError
from regard.files import sync


def export(path: Path, found: Iterable[Pair], *, truth: bool = False) -> list[Path]:
    """Write all of `found`, and return the files. They appear when they are whole."""
    if path.suffix != ".tsv":
        raise UserError(f"{path}: give a name that ends in .tsv, such as {path.with_suffix('.tsv').name}")
    if not path.parent.is_dir():
        raise UserError(f"{path}: there is no folder {path.parent}; make it first")
    paths = [path, path.with_suffix(".jsonl")] if truth else [path]
    drafts = [one.with_name(one.name + ".tmp") for one in paths]
    with ExitStack() as stack:
        pairs, *beside = [stack.enter_context(draft.open("w", encoding="utf-8", newline="\n")) for draft in drafts]
        for pair in found:
            pairs.write(f"{pair.source}\t{pair.target}\n")
            for file in beside:
                file.write(json.dumps(asdict(pair.truth), ensure_ascii=False) + "\n")
    for draft, final in zip(drafts, paths, strict=True):
        sync(draft)
        draft.replace(final)
    sync(path.parent)
    return paths
