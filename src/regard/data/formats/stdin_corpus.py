"""Pairs that come by standard input, as a TSV: kept in a file, because they come only once."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from regard.data.formats.corpus import STANDARD_INPUT, split_weight
from regard.errors import DataError
from regard.storage import atomic_files


def reads_standard_input(paths: Sequence[Path]) -> bool:
    """Whether `-` is among the corpora."""
    count = [split_weight(path)[0] for path in paths].count(STANDARD_INPUT)
    if count > 1:
        raise DataError("standard input (-) can be read only once; give it once")
    return count == 1


def keep_stream(stream: BinaryIO, path: Path) -> bool:
    """Write all that a stream has to a file, wholly or not at all; where nothing comes, what came before is kept.

    Returns whether something came.
    """
    had = path.exists() and path.stat().st_size > 0
    if stream.isatty():
        if had:
            return False
        raise DataError("standard input (-) is a terminal; send pairs into it, for example: zcat pairs.gz | regard …")
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("wb") as file:
        shutil.copyfileobj(stream, file)
    if had and not temporary.stat().st_size:
        temporary.unlink()
        return False
    atomic_files.sync(temporary)
    temporary.replace(path)
    atomic_files.sync(path.parent)
    return True
