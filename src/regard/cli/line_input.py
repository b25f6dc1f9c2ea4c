"""Standard input as lines of text, in turns.

A turn ends where nothing more is waiting to be read. So a file is one turn and goes through as fast as it can, while a
person who types, or a program that writes a line and waits for its answer, is answered before more is read.
"""

import select
import time
from collections.abc import Iterator
from functools import partial
from io import BufferedReader
from itertools import chain
from typing import IO, cast

# In seconds, how long to wait for more: at once, as nobody who writes as fast as they can is silent for so long; and in
# all of a turn, so that whoever writes slowly but steadily is answered too.
_AT_ONCE, _IN_ALL = 0.1, 1.0


def ready_lines(stream: IO[bytes]) -> Iterator[Iterator[str]]:
    """Lines, read as corpora are; each turn of them is to be read to its end before the next."""
    lines = _lines(cast(BufferedReader, stream))
    for first in lines:
        if first is not None:
            yield chain([first], iter(partial(next, lines, None), None))


def _lines(stream: BufferedReader) -> Iterator[str | None]:
    """Each line; None where nothing more is waiting."""
    from regard.data.formats.lines import decode_line

    number, waited = 0, 0.0
    rest = [b""]  # of a line whose end did not come yet
    while block := stream.read1(1 << 16):
        begin, *others = block.split(b"\n")
        rest.append(begin)
        if others:
            whole = [b"".join(rest), *others]
            rest = [whole.pop()]
            for line in whole:
                number += 1
                yield decode_line(line + b"\n", "standard input", number)
        began = time.monotonic()
        if _is_waiting(stream, min(_AT_ONCE, _IN_ALL - waited)):
            waited += time.monotonic() - began
        else:
            waited = 0
            yield None
    if last := b"".join(rest):
        yield decode_line(last, "standard input", number + 1)


def _is_waiting(stream: BufferedReader, seconds: float) -> bool:
    """Whether more can be read, or will be soon; what is pasted into a terminal comes at once."""
    try:
        return bool(select.select([stream], [], [], 0 if stream.isatty() else max(0, seconds))[0])
    except OSError:  # what is no file; on Windows all but sockets
        return not stream.isatty()
