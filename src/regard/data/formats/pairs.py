"""Pairs of texts, read one at a time from two line-aligned files or from one file with both source and target texts.

Files named `.tsv`, `.jsonl`, `.tmx`, `.po` or `.mo`, optionally compressed (`.gz`, `.zst`), hold both source and target
texts. Every other file is either a source file or a target file. The weight of a corpus may follow the file name
(`corpus.tsv=0.3`).
"""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from regard.data.formats.corpus import Corpus, file_kind, has_both_sides, total_bytes
from regard.data.formats.gettext import Catalogue
from regard.data.formats.jsonl import read_jsonl
from regard.data.formats.lines import Lines, check_file, shown_path
from regard.data.formats.records import InvalidRecord, Pair, Record
from regard.data.formats.tmx import Tmx
from regard.errors import DataError
from regard.progress import Progress

_MAX_INVALID = 10  # one record in ten may be invalid; with more, the file probably has another format


class Pairs:
    """Iterates once over the pairs of a corpus. `bytes_read` is the number of bytes read from disk so far."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self._kind = file_kind(corpus.paths[0]) if len(corpus.paths) == 1 else ""
        self._files: tuple[Lines | Tmx | Catalogue, ...]
        match self._kind:
            case ".tmx":
                self._files = (Tmx(corpus.paths[0], corpus.languages),)
            case ".po" | ".mo":
                self._files = (Catalogue(corpus.paths[0], compiled=self._kind == ".mo"),)
            case _:
                self._files = tuple(Lines(path) for path in corpus.paths)

    @property
    def bytes_read(self) -> int:
        return sum(file.bytes_read for file in self._files)

    def __iter__(self) -> Iterator[Record]:
        """Yield pairs and invalid records; too many invalid records raise an error at the end."""
        pairs = invalid = unexpected = 0
        first: InvalidRecord | None = None
        for record in self._records():
            if isinstance(record, InvalidRecord):
                first = record if first is None or (first.expected and not record.expected) else first
                invalid += 1
                unexpected += not record.expected
            else:
                pairs += 1
            yield record
        if pairs + invalid == 0:
            raise DataError(f"{self.corpus.name}: there are no lines in it; a corpus needs at least one pair of texts")
        if first is not None and (unexpected * _MAX_INVALID > pairs + invalid or not pairs):
            raise DataError(
                f"{first.message} (invalid entries: {invalid:,} of {pairs + invalid:,}; this is the first; up to one "
                f"in {_MAX_INVALID} would be left out and listed)"
            )

    def or_raise(self) -> Iterator[Pair]:
        """Yield the pairs; the first invalid record raises an error."""
        for record in self:
            if isinstance(record, InvalidRecord):
                raise DataError(record.message)
            yield record

    def _records(self) -> Iterator[Record]:
        match self._kind, *self._files:
            case ".jsonl", Lines() as file:
                return read_jsonl(file)
            case ".tsv", Lines() as file:
                return _pairs(_columns(file, exactly=2))
            case _, (Tmx() | Catalogue()) as file:
                return iter(file)
        return _pairs(_aligned([file for file in self._files if isinstance(file, Lines)]))


Row = tuple[str, ...] | InvalidRecord


def _pairs(rows: Iterator[Row]) -> Iterator[Record]:
    for number, row in enumerate(rows, start=1):
        yield row if isinstance(row, InvalidRecord) else Pair(row[0], row[1], number)


def read_references(paths: Sequence[Path]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each source text with its reference translations; all sources have the same number of references.

    `paths` are one TSV file (source, then one or more references), one file of pairs in another format, or a source
    file and one or more reference files with the same number of lines.
    """
    for path in paths:
        check_file(path)
    rows: Iterator[Row]
    if len(paths) == 1 and file_kind(paths[0]) == ".tsv":
        rows = _columns(Lines(paths[0]), exactly=None)
    elif len(paths) == 1 and has_both_sides(paths[0]):
        rows = ((pair.source, pair.target) for pair in Pairs(Corpus(tuple(paths))).or_raise())
    elif len(paths) > 1 and not any(has_both_sides(path) for path in paths):
        rows = _aligned([Lines(path) for path in paths])
    else:
        raise DataError(
            f"{' '.join(map(str, paths)) or 'no file'}: expected a source file and one or more reference files "
            "(test.en test.fr), or one .tsv file (source, tab, reference)"
        )
    empty = True
    for row in rows:
        if isinstance(row, InvalidRecord):
            raise DataError(row.message)
        empty = False
        yield row[0], row[1:]
    if empty:
        raise DataError(f"{' + '.join(path.name for path in paths)}: there are no lines in it; nothing to compare with")


def _aligned(files: Sequence[Lines]) -> Iterator[Row]:
    """Yield the first lines of all files together, then the second lines, and so on.

    If the files differ in their number of lines, raise an error that gives the number for each file.
    """
    readers = [file.with_invalid() for file in files]
    row: tuple[Any, ...]
    for number, row in enumerate(zip_longest(*readers)):
        if None in row:
            counts = [
                number + (line is not None) + sum(1 for _ in reader) for line, reader in zip(row, readers, strict=True)
            ]
            raise DataError(_explain_unequal(files, counts))
        yield next((line for line in row if isinstance(line, InvalidRecord)), row)


def _explain_unequal(files: Sequence[Lines], counts: Sequence[int]) -> str:
    listed = ", ".join(f"{file.path} has {count:,}" for file, count in zip(files, counts, strict=True))
    longest = files[counts.index(max(counts))].path
    return (
        f"the files differ in their number of lines: {listed}; lines with the same number must be translations of "
        f"each other. If only the end is extra, remove line {min(counts) + 1:,} of {longest} and all lines after it; "
        "otherwise find where the lines get out of step (often at a line break inside a sentence)"
    )


def _columns(file: Lines, *, exactly: int | None) -> Iterator[Row]:
    """Yield the columns of each line of a TSV file, or an invalid record if a line has the wrong number of columns.

    If `exactly` is None, each line must have as many columns as the first line, and at least two.
    """
    for number, line in enumerate(file.with_invalid(), start=1):
        if isinstance(line, InvalidRecord):
            yield line
            continue
        columns = tuple(line.split("\t"))
        if exactly is None:
            exactly = max(2, len(columns))
        if len(columns) == exactly:
            yield columns
        else:
            hint = "separate source and target by one tab" if len(columns) < exactly else "remove the other columns"
            yield InvalidRecord(
                file.path,
                number,
                f"not {exactly} columns",
                f"{shown_path(file.path)}:{number}: expected {exactly} columns separated by tabs, found "
                f"{len(columns)}; {hint}; the line is {_shorten(line)}",
            )


def _shorten(line: str) -> str:
    return repr(line) if len(line) <= 60 else repr(line[:60]) + "…"


_REPORT_EVERY = 50_000


def read_all(stage: str, corpora: Sequence[Corpus]) -> Iterator[tuple[int, Record, Progress | None]]:
    """Yield for each record the index of its corpus, the record itself, and the progress or None.

    The progress is given for one record in every _REPORT_EVERY records of a corpus, and is None for all others.
    """
    total, before = total_bytes(corpora), 0
    for number, corpus in enumerate(corpora):
        pairs = Pairs(corpus)
        for count, record in enumerate(pairs, start=1):
            is_due = count % _REPORT_EVERY == 0
            yield number, record, Progress(stage, before + pairs.bytes_read, total) if is_due else None
        before += pairs.bytes_read
