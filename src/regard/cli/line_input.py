"""Reads standard input in groups of lines that are translated together.

A group ends when no more input arrives for a short time. A whole file is therefore one group, which is translated at
full speed. A person who types a line, or a program that writes a line and waits for the translation, gets an answer
before more input is read.
"""

import select
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from io import BufferedReader
from itertools import chain
from pathlib import Path
from typing import IO, cast

# A group of lines ends when no input arrives for _MAX_PAUSE seconds, or when all pauses since its start add up to
# _MAX_GROUP_WAIT seconds. The second limit is for input that arrives slowly, but without long pauses.
_MAX_PAUSE, _MAX_GROUP_WAIT = 0.1, 1.0

_MAX_SIGNAL_DELAY = 0.5  # maximum number of seconds after which a signal is handled


def ready_lines(stream: IO[bytes], *, keep_carriage_returns: bool = False) -> Iterator[Iterator[str]]:
    """Yield groups of lines; the caller must read each group to its end before it asks for the next.

    With `keep_carriage_returns`, the `\\r` of a line end from Windows stays at the end of the line.
    """
    lines = _lines(cast(BufferedReader, stream), keep_carriage_returns=keep_carriage_returns)
    for first in lines:
        if first is not None:
            yield chain([first], iter(partial(next, lines, None), None))


def _lines(stream: BufferedReader, *, keep_carriage_returns: bool) -> Iterator[str | None]:
    """Yield each line, and None at the end of each group."""
    from regard.data.formats.lines import MAX_LINE_BYTES, STANDARD_INPUT_COPY, decode_line, too_long_record
    from regard.errors import DataError

    number, waited = 0, 0.0
    rest = bytearray()  # the start of a line whose end has not been read yet
    while block := _read(stream):
        *complete, last = block.split(b"\n")
        for line in complete:
            rest += line
            number += 1
            if len(rest) >= MAX_LINE_BYTES:
                raise DataError(too_long_record(Path(STANDARD_INPUT_COPY), number).message)
            yield decode_line(bytes(rest) + b"\n", "standard input", number, keep_carriage_return=keep_carriage_returns)
            rest.clear()
        rest += last
        if len(rest) >= MAX_LINE_BYTES:
            raise DataError(too_long_record(Path(STANDARD_INPUT_COPY), number + 1).message)
        began = time.monotonic()
        if _is_waiting(stream, min(_MAX_PAUSE, _MAX_GROUP_WAIT - waited)):
            waited += time.monotonic() - began
        else:
            waited = 0
            yield None
    if rest:
        yield decode_line(bytes(rest), "standard input", number + 1)


def _read(stream: BufferedReader) -> bytes:
    # A signal such as Ctrl-C that arrives just before a blocking read does not interrupt it. Python handles the signal
    # when `select` returns, which is at the latest after its timeout.
    with suppress(OSError):  # as in `_is_waiting`
        while not select.select([stream], [], [], _MAX_SIGNAL_DELAY)[0]:
            pass
    return stream.read1(1 << 16)


def _is_waiting(stream: BufferedReader, seconds: float) -> bool:
    """Return whether more input arrives within the given number of seconds.

    On a terminal, do not wait: if several lines were pasted, all of them are available already.
    """
    try:
        return bool(select.select([stream], [], [], 0 if stream.isatty() else max(0, seconds))[0])
    except OSError:  # the stream is not a real file, or the system is Windows, where `select` accepts only sockets
        return not stream.isatty()
