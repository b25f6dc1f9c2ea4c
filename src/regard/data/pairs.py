"""Pairs of texts out of files: two line-aligned files or one TSV, plain or gzip, one line at a time.

A line ends at `\\n` alone, so that other separators inside a sentence (U+2028, U+0085, a lone `\\r`) cannot shift one
side against the other. Two exceptions serve files written on Windows: one `\\r` just before `\\n` belongs to the line
end, and a byte order mark at the start of a file is removed. Nothing else is changed, stripped or normalised.
"""

import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from regard.errors import DataError

_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BUFFER = 1 << 18
_LANGUAGE = re.compile(r"[a-z]{2,3}([-_][A-Za-z0-9]+)*")
_NOT_LANGUAGES = {"bpe", "csv", "hyp", "log", "out", "raw", "ref", "spm", "src", "tgt", "tok", "trg", "tsv", "txt"}


@dataclass(frozen=True)
class Corpus:
    """One TSV, or a source file and a target file whose lines belong together."""

    paths: tuple[Path, ...]

    @property
    def name(self) -> str:
        return " + ".join(path.name for path in self.paths)


class Pair(NamedTuple):
    """Two texts that mean the same, and the line they stand on, counted from 1."""

    source: str
    target: str
    line: int


def corpora(paths: Sequence[Path]) -> list[Corpus]:
    """Group paths as given: each `.tsv` is a corpus, other files pair up with the next one."""
    found: list[Corpus] = []
    waiting: Path | None = None
    for path in paths:
        _check_file(path)
        if is_tsv(path):
            found.append(Corpus((path,)))
        elif waiting is None:
            waiting = path
        else:
            found.append(Corpus((waiting, path)))
            waiting = None
    if waiting is not None:
        raise DataError(
            f"{waiting}: this file has no partner; give a source file and a target file of equally many lines "
            "(train.en train.fr), or one file of two columns separated by a tab, its name ending in .tsv "
            "(--valid takes one file at a time: --valid val.en --valid val.fr)"
        )
    return found


def is_tsv(path: Path) -> bool:
    """Whether the name says that the file holds both sides."""
    return path.name.lower().endswith((".tsv", ".tsv.gz"))


def languages(found: Sequence[Corpus]) -> tuple[str | None, str | None]:
    """Source and target language by the suffixes of the file names; None where unknown or not the same everywhere."""
    aligned = [corpus.paths for corpus in found if len(corpus.paths) == 2]
    for source, target in aligned:
        if _language(source) is not None and _language(source) == _language(target):
            raise DataError(
                f"{source} and {target} are both named as {_language(source)}; check the order of the files, or say "
                f"what they are: --languages {_language(source)} {_language(target)}"
            )
    sources = {_language(source) for source, _ in aligned}
    targets = {_language(target) for _, target in aligned}
    return sources.pop() if len(sources) == 1 else None, targets.pop() if len(targets) == 1 else None


def _language(path: Path) -> str | None:
    """`en` for train.en, train.en.gz and train.en.txt."""
    suffixes = [suffix[1:] for suffix in path.suffixes if suffix.lower() not in (".gz", ".txt")]
    last = suffixes[-1] if suffixes else ""
    return last if _LANGUAGE.fullmatch(last) and last not in _NOT_LANGUAGES else None


class Lines:
    """The lines of one file, to be read through once. `bytes_read` counts bytes on disk, for progress."""

    def __init__(self, path: Path) -> None:
        _check_file(path)
        self.path = path
        self.bytes_read = 0

    def __iter__(self) -> Iterator[str]:
        with _reading(self.path) as (disk, lines):
            for number, raw in enumerate(lines, start=1):
                if number % 4096 == 0:
                    self.bytes_read = disk.tell()
                yield decode_line(raw, str(self.path), number)
            self.bytes_read = disk.tell()


class Pairs:
    """The pairs of one corpus, to be read through once. `bytes_read` counts bytes on disk, for progress."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self._files = tuple(Lines(path) for path in corpus.paths)

    @property
    def bytes_read(self) -> int:
        return sum(file.bytes_read for file in self._files)

    def __iter__(self) -> Iterator[Pair]:
        number = 0
        for number, columns in enumerate(self._rows(), start=1):
            yield Pair(columns[0], columns[1], number)
        if number == 0:
            raise DataError(f"{self.corpus.name}: there is no line in it; a corpus needs at least one pair of texts")

    def _rows(self) -> Iterator[tuple[str, ...]]:
        if len(self._files) == 1:
            return _columns(self._files[0], exactly=2)
        return _aligned(self._files)


def read_references(paths: Sequence[Path]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Sources with their reference translations, each source with equally many.

    From one TSV (source, then one or more references), or from a source file and one or more files aligned to it.
    """
    for path in paths:
        _check_file(path)
    if len(paths) == 1 and is_tsv(paths[0]):
        rows = _columns(Lines(paths[0]), exactly=None)
    elif len(paths) > 1 and not any(is_tsv(path) for path in paths):
        rows = _aligned([Lines(path) for path in paths])
    else:
        raise DataError(
            f"{' '.join(map(str, paths)) or 'no file'}: expected a source file and one or more reference files "
            "(test.en test.fr), or one .tsv file (source, tab, reference)"
        )
    empty = True
    for source, *references in rows:
        empty = False
        yield source, tuple(references)
    if empty:
        raise DataError(f"{' + '.join(path.name for path in paths)}: there is no line in it; nothing to compare with")


def _aligned(files: Sequence[Lines]) -> Iterator[tuple[str, ...]]:
    """Line i of every file together; files of different length are refused, with all counts."""
    readers = [iter(file) for file in files]
    for number, row in enumerate(zip_longest(*readers)):
        if None in row:
            counts = [
                number + (line is not None) + sum(1 for _ in reader) for line, reader in zip(row, readers, strict=True)
            ]
            raise DataError(_unequal(files, counts))
        yield row


def _unequal(files: Sequence[Lines], counts: Sequence[int]) -> str:
    listed = ", ".join(f"{file.path} has {count:,}" for file, count in zip(files, counts, strict=True))
    return (
        f"the files differ in their number of lines: {listed}; line by line they must be translations of each "
        f"other, so find the missing or extra line (often a line break inside a sentence) at or before line "
        f"{min(counts) + 1:,}"
    )


def _columns(file: Lines, *, exactly: int | None) -> Iterator[tuple[str, ...]]:
    """The columns of a TSV. Without `exactly`, the first line decides how many, at least two."""
    for number, line in enumerate(file, start=1):
        columns = tuple(line.split("\t"))
        if exactly is None:
            exactly = max(2, len(columns))
        if len(columns) != exactly:
            hint = "separate source and target by one tab" if len(columns) < exactly else "remove the other columns"
            raise DataError(
                f"{file.path}:{number}: expected {exactly} columns separated by tabs, found {len(columns)}; "
                f"{hint}; the line is {_shorten(line)}"
            )
        yield columns


def _shorten(line: str) -> str:
    return repr(line) if len(line) <= 60 else repr(line[:60]) + "…"


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise DataError(f"{path}: this is a folder; give the files in it, source before target")
    if not path.exists():
        raise DataError(f"{path}: no such file; check the name and the current folder ({Path.cwd()})")
    if not path.is_file():
        raise DataError(f"{path}: this is not a regular file and can be read only once; write it to a file first")


@contextmanager
def _reading(path: Path) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """The file on disk and its lines as bytes. Compression shows in the first bytes, whatever the name says."""
    try:
        with path.open("rb", buffering=_BUFFER) as disk:
            if cast(io.BufferedReader, disk).peek(2)[:2] == _GZIP:
                # GzipFile reads lines in Python; a buffer around it reads them in C.
                unpacked = io.BufferedReader(cast(io.RawIOBase, gzip.GzipFile(fileobj=disk)), _BUFFER)
                yield disk, cast(BinaryIO, unpacked)
            else:
                yield disk, disk
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(
            f"{path}: the gzip data is damaged or cut off ({error}); download or compress the file again, "
            f"and check it with: gzip -t {path}"
        ) from error
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error.strerror or error}); check its permissions and the disk"
        ) from error


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
            f"if it is {encoding}, convert it: iconv -f {encoding} -t utf-8 FILE > fixed.txt"
        ) from error
    return line.removeprefix("\ufeff") if number == 1 else line
