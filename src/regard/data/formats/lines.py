"""The lines of a file as text, one at a time: plain, gzip or zstd.

A line ends at `\\n` alone, so that other separators inside a sentence (U+2028, U+0085, a lone `\\r`) cannot shift one
side against the other. Two exceptions serve files written on Windows: one `\\r` just before `\\n` belongs to the line
end, and a byte order mark at the start of a file is removed. Nothing else is changed, stripped or normalised.
"""

import gzip
import io
import shlex
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast

from regard.data.formats.records import InvalidRecord
from regard.errors import DataError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

COMPRESSED = (".gz", ".zst")

MAX_LINE_BYTES = 1 << 20  # in bytes; a compressed file may unpack to a line that fills the memory

_GZIP = b"\x1f\x8b"

_ZSTD = b"\x28\xb5\x2f\xfd"

_UTF16 = (b"\xff\xfe", b"\xfe\xff")

_BUFFER = 1 << 18


class Lines:
    """The lines of one file, to be read through once. `bytes_read` counts bytes on disk, for progress."""

    def __init__(self, path: Path) -> None:
        check_file(path)
        self.path = path
        self.bytes_read = 0

    def __iter__(self) -> Iterator[str]:
        """All lines; the first that cannot be read is an error."""
        for line in self.with_invalid():
            if isinstance(line, InvalidRecord):
                raise DataError(line.message)
            yield line

    def with_invalid(self) -> Iterator[str | InvalidRecord]:
        """All lines, or the fault of each that cannot be read."""
        with open_lines(self.path) as (disk, stream):
            for number, raw in enumerate(iter(partial(stream.readline, MAX_LINE_BYTES), b""), start=1):
                if number % 4096 == 0:
                    self.bytes_read = disk.tell()
                if len(raw) == MAX_LINE_BYTES and not raw.endswith(b"\n"):
                    _skip_line(stream)
                    yield too_long(self.path, number)
                    continue
                try:
                    yield decode_line(raw, str(self.path), number)
                except DataError as error:
                    yield InvalidRecord(self.path, number, "not UTF-8", str(error))
            self.bytes_read = disk.tell()


def too_long(path: Path, line: int) -> InvalidRecord:
    """The fault of a text that no one would call a line."""
    return InvalidRecord(
        path,
        line,
        "line too long",
        f"{path}:{line}: the text has {MAX_LINE_BYTES:,} bytes or more; write a sentence or a paragraph per line, and "
        "end each line with a line feed (\\n)",
    )


def _skip_line(stream: BinaryIO) -> None:
    while (more := stream.readline(MAX_LINE_BYTES)) and not more.endswith(b"\n"):
        pass


def check_file(path: Path) -> None:
    """Whether `path` is a file that can be read as often as needed."""
    if path.is_dir():
        raise DataError(f"{path}: this is a folder; give the files in it, source before target")
    if not path.exists():
        raise DataError(f"{path}: no such file; check the name and the current folder ({Path.cwd()})")
    if not path.is_file():
        raise DataError(f"{path}: this is not a regular file and can be read only once; write it to a file first")


@contextmanager
def open_lines(path: Path) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """The file on disk and what is packed in it. Compression shows in the first bytes, whatever the name says."""
    try:
        with path.open("rb", buffering=_BUFFER) as disk:
            yield disk, _unpacked(disk)
    except (gzip.BadGzipFile, EOFError, zlib.error, zstd.ZstdError) as error:
        tool = "zstd" if path.name.endswith(".zst") or isinstance(error, zstd.ZstdError) else "gzip"
        raise DataError(
            f"{path}: the {tool} data is damaged or cut off ({error}); download or compress the file again, "
            f"and check it with: {tool} -t {path}"
        ) from error
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error.strerror or error}); check its permissions and the disk"
        ) from error


def _unpacked(disk: BinaryIO) -> BinaryIO:
    """What the bytes on disk stand for. Unpackers read lines in Python; a buffer around them reads them in C."""
    start = cast(io.BufferedReader, disk).peek(4)[:4]
    if start[:2] == _GZIP:
        return cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, gzip.GzipFile(fileobj=disk)), _BUFFER))
    if start == _ZSTD:
        return cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, zstd.ZstdFile(disk)), _BUFFER))
    return disk


def _converted(name: str) -> str:
    """The file to convert, and a name for the result that says the same of what is in it."""
    suffix = Path(name).suffix
    if name == "standard input" or suffix in (".gz", ".zst"):
        return "FILE > fixed.txt"
    return f"{shlex.quote(name)} > fixed{suffix}"


def decode_line(raw: bytes, name: str, number: int) -> str:
    """The text of line `number` of the file `name`, without its end; a byte order mark before the first is removed."""
    if raw.endswith(b"\n"):
        raw = raw[:-2] if raw.endswith(b"\r\n") else raw[:-1]
    try:
        line = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        encoding = "utf-16" if number == 1 and raw[:2] in _UTF16 else "latin1"
        raise DataError(
            f"{name}:{number}: byte {error.start + 1} of the line (0x{raw[error.start]:02x}) is not UTF-8; "
            f"if it is {encoding}, convert it: iconv -f {encoding} -t utf-8 {_converted(name)}"
        ) from error
    return line.removeprefix("\ufeff") if number == 1 else line
