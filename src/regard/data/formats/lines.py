"""The lines of a file as text, one at a time. The file may be plain or compressed by gzip or zstd.

A line ends only at `\\n`, so that other separators inside a sentence (U+2028, U+0085, a lone `\\r`) cannot shift the
lines of the source file against those of the target file. There are two exceptions for files from Windows: one `\\r`
right before `\\n` is part of the line end, and a byte order mark at the start of a file is removed. Nothing else is
changed, stripped or normalised.
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

STANDARD_INPUT_COPY = "standard-input.tsv"  # the name of the file to which standard input is copied

COMPRESSED = (".gz", ".zst")

MAX_LINE_BYTES = 1 << 20  # longer lines are invalid records, because a line of a compressed file could fill the memory

_GZIP_MAGIC = b"\x1f\x8b"

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"

_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")

_BUFFER_BYTES = 1 << 18


class Lines:
    """Iterates once over the lines of a file. `bytes_read` is the number of bytes read from disk so far.

    With `keep_carriage_returns`, the `\\r` of a line end from Windows stays at the end of the line.
    """

    def __init__(self, path: Path, *, keep_carriage_returns: bool = False) -> None:
        check_file(path)
        self.path = path
        self._keep_carriage_returns = keep_carriage_returns
        self.bytes_read = 0

    def __iter__(self) -> Iterator[str]:
        """Yield all lines; the first line that cannot be read raises an error."""
        for line in self.with_invalid():
            if isinstance(line, InvalidRecord):
                raise DataError(line.message)
            yield line

    def with_invalid(self) -> Iterator[str | InvalidRecord]:
        """Yield each line as text, or an invalid record instead of a line that cannot be read."""
        name = shown_path(self.path)
        with open_lines(self.path) as (disk, stream):
            for number, raw in enumerate(iter(partial(stream.readline, MAX_LINE_BYTES), b""), start=1):
                if number % 4096 == 0:
                    self.bytes_read = disk.tell()
                if len(raw) == MAX_LINE_BYTES and not raw.endswith(b"\n"):
                    _skip_line(stream)
                    yield too_long_record(self.path, number)
                    continue
                try:
                    yield decode_line(raw, name, number, keep_carriage_return=self._keep_carriage_returns)
                except DataError as error:
                    yield InvalidRecord(self.path, number, "not UTF-8", str(error))
            self.bytes_read = disk.tell()


def shown_path(path: Path) -> str:
    """Return a path as messages show it: for the copy of standard input, `standard input`."""
    return "standard input" if path.name == STANDARD_INPUT_COPY else str(path)


def too_long_record(path: Path, line: int) -> InvalidRecord:
    """Return an invalid record for a text with too many bytes."""
    return InvalidRecord(
        path,
        line,
        "line too long",
        f"{shown_path(path)}:{line}: the text has {MAX_LINE_BYTES:,} bytes or more; write a sentence or a paragraph "
        "per line, and end each line with a line feed (\\n)",
    )


def _skip_line(stream: BinaryIO) -> None:
    while (more := stream.readline(MAX_LINE_BYTES)) and not more.endswith(b"\n"):
        pass


def check_file(path: Path) -> None:
    """Raise an error unless `path` is a file that can be read several times."""
    if path.is_dir():
        raise DataError(f"{path}: this is a folder; give the files in it instead")
    if not path.exists() and str(path) == "-":
        raise DataError("-: only files can be read here, not standard input; save it to a file first")
    if not path.exists():
        raise DataError(f"{path}: no such file; check the name and the current folder ({Path.cwd()})")
    if not path.is_file():
        raise DataError(f"{path}: this is not a regular file and can be read only once; save it to a file first")


@contextmanager
def open_lines(path: Path) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Open a file and return two streams: the bytes on disk, and the decompressed bytes.

    The compression is recognised by the first bytes of the file, not by its name.
    """
    try:
        with path.open("rb", buffering=_BUFFER_BYTES) as disk:
            yield disk, _decompress(disk)
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


def _decompress(disk: BinaryIO) -> BinaryIO:
    """Return a stream of the decompressed bytes; `disk` itself if the file is not compressed.

    A BufferedReader is added because it splits lines in C. The decompressors do that in Python, which is slower.
    """
    start = cast(io.BufferedReader, disk).peek(4)[:4]
    if start[:2] == _GZIP_MAGIC:
        return cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, gzip.GzipFile(fileobj=disk)), _BUFFER_BYTES))
    if start == _ZSTD_MAGIC:
        return cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, zstd.ZstdFile(disk)), _BUFFER_BYTES))
    return disk


def _iconv_files(name: str) -> str:
    """Return the end of the `iconv` command in an error message: its input, and an output file with the same suffix."""
    suffix = Path(name).suffix
    if name == "standard input" or suffix in (".gz", ".zst"):
        return "FILE > fixed.txt"
    return f"{shlex.quote(name)} > fixed{suffix}"


def decode_line(raw: bytes, name: str, number: int, *, keep_carriage_return: bool = False) -> str:
    """Decode line `number` of the file `name`, without its line end and, in line 1, without a byte order mark."""
    if raw.endswith(b"\n"):
        raw = raw[:-2] if raw.endswith(b"\r\n") and not keep_carriage_return else raw[:-1]
    try:
        line = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        encoding = "utf-16" if number == 1 and raw[:2] in _UTF16_MARKS else "latin1"
        raise DataError(
            f"{name}:{number}: byte {error.start + 1} of the line (0x{raw[error.start]:02x}) is not UTF-8; "
            f"if it is {encoding}, convert it: iconv -f {encoding} -t utf-8 {_iconv_files(name)}"
        ) from error
    return line.removeprefix("\ufeff") if number == 1 else line
