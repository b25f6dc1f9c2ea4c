"""Standard input as groups of lines.

A group ends where no more input is waiting. So a file is one group and is translated at full speed, while a person who
types, or a program that writes a line and waits for its translation, is answered before more is read.
"""

import select
import time
from collections.abc import Iterator
from functools import partial
from io import BufferedReader
from itertools import chain
from typing import IO, cast

# Seconds to wait for more input: after a read, longer than a program at full speed pauses; and in a whole group, so
# that a slow but steady writer is answered too.
_MAX_PAUSE, _MAX_GROUP_WAIT = 0.1, 1.0


def ready_lines(stream: IO[bytes]) -> Iterator[Iterator[str]]:
    """Yield groups of lines; read each group to its end before the next."""
    lines = _lines(cast(BufferedReader, stream))
    for first in lines:
        if first is not None:
            yield chain([first], iter(partial(next, lines, None), None))


def _lines(stream: BufferedReader) -> Iterator[str | None]:
    """Yield each line, and None where no more input is waiting."""
    from regard.data.formats.lines import decode_line

    number, waited = 0, 0.0
    rest = [b""]  # an unfinished line
    while block := stream.read1(1 << 16):
        begin, *others = block.split(b"\n")
        rest.append(begin)
        if others:
            complete = [b"".join(rest), *others]
            rest = [complete.pop()]
            for line in complete:
                number += 1
                yield decode_line(line + b"\n", "standard input", number)
        began = time.monotonic()
        if _is_waiting(stream, min(_MAX_PAUSE, _MAX_GROUP_WAIT - waited)):
            waited += time.monotonic() - began
        else:
            waited = 0
            yield None
    if last := b"".join(rest):
        yield decode_line(last, "standard input", number + 1)


def _is_waiting(stream: BufferedReader, seconds: float) -> bool:
    """Return whether more input arrives within some seconds. On a terminal do not wait: a paste arrives at once."""
    try:
        return bool(select.select([stream], [], [], 0 if stream.isatty() else max(0, seconds))[0])
    except OSError:  # not a real file, or Windows, where select takes sockets only
        return not stream.isatty()
