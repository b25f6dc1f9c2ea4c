"""Standard input as lines of text, in turns.

A turn ends where nothing more is waiting to be read. So a file is one turn and goes through as fast as it can, while a
person who types, or a program that writes a line and waits for its answer, is answered before more is read.
"""

import select
from collections.abc import Iterator
from functools import partial
from io import BufferedReader
from itertools import chain
from typing import IO, cast

_PATIENCE = 0.1  # seconds; whoever writes as fast as they can is not silent for so long


def turns(stream: IO[bytes]) -> Iterator[Iterator[str]]:
    """Lines, read as corpora are; each turn of them is to be read to its end before the next."""
    lines = _lines(cast(BufferedReader, stream))
    for first in lines:
        if first is not None:
            yield chain([first], iter(partial(next, lines, None), None))


def _lines(stream: BufferedReader) -> Iterator[str | None]:
    """Each line; None where nothing more is waiting."""
    from regard.data.lines import decode_line

    number, rest = 0, b""
    while block := stream.read1(1 << 16):
        *whole, rest = (rest + block).split(b"\n")
        for line in whole:
            number += 1
            yield decode_line(line + b"\n", "standard input", number)
        if not _is_waiting(stream):
            yield None
    if rest:
        yield decode_line(rest, "standard input", number + 1)


def _is_waiting(stream: BufferedReader) -> bool:
    try:
        return bool(select.select([stream], [], [], _PATIENCE)[0])
    except OSError:  # what is no file; on Windows all but sockets
        return not stream.isatty()
