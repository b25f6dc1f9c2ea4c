"""Pairs from standard input, as TSV. They are saved to a file, because a stream can be read only once."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from regard.data.formats.corpus import STANDARD_INPUT, split_weight
from regard.errors import DataError
from regard.storage import atomic_files


def reads_standard_input(paths: Sequence[Path]) -> bool:
    """Return whether `-` (standard input) is among the paths; raise an error if it occurs more than once."""
    count = [split_weight(path)[0] for path in paths].count(STANDARD_INPUT)
    if count > 1:
        raise DataError("standard input (-) can be read only once; give it once")
    return count == 1


def save_stream(stream: BinaryIO, path: Path) -> bool:
    """Save a stream to a file atomically, and return whether the file was written.

    If the stream is empty or a terminal, a file that already has content is kept, so that a resumed run needs no input.
    """
    saved_before = path.exists() and path.stat().st_size > 0
    if stream.isatty():
        if saved_before:
            return False
        raise DataError("standard input (-) is a terminal; pipe pairs into it, for example: zcat pairs.gz | regard …")
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("wb") as file:
        shutil.copyfileobj(stream, file)
    if saved_before and not temporary.stat().st_size:
        temporary.unlink()
        return False
    atomic_files.sync(temporary)
    temporary.replace(path)
    atomic_files.sync(path.parent)
    return True
