"""Pairs of texts out of files, one at a time: two line-aligned files, or one file that holds both sides.

The name says which: `.tsv`, `.jsonl`, `.tmx`, `.po` and `.mo` hold both sides, perhaps with `.gz` or `.zst` behind;
every other file is one side. A corpus may be followed by its weight (`corpus.tsv=0.3`).
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from regard.data.jsonl import read_jsonl
from regard.data.lines import COMPRESSED, Lines, check_file
from regard.data.po import Catalogue
from regard.data.records import Fault, Pair, Record
from regard.data.tmx import Tmx, general
from regard.errors import DataError

STANDARD_INPUT = Path("-")
Way = tuple[str | None, str | None]  # source and target language, where known
BOTH_SIDES = (".tsv", ".jsonl", ".tmx", ".po", ".mo")

_MOST_FAULTS = 10  # one record in so many may be unreadable; beyond, the file is not what it seems
_LANGUAGE = re.compile(r"[a-z]{2,3}([-_][A-Za-z0-9]+)*")
_NOT_LANGUAGES = {"bpe", "csv", "hyp", "log", "out", "raw", "ref", "spm", "src", "tgt", "tok", "trg", "txt", "xml"}


@dataclass(frozen=True)
class Corpus:
    """One file that holds both sides, or a source file and a target file whose lines belong together.

    `weight` says how often each pair is drawn in an epoch, on average. `languages` chooses two among several.
    """

    paths: tuple[Path, ...]
    weight: float = 1.0
    languages: tuple[str, str] | None = None

    @property
    def name(self) -> str:
        return " + ".join(path.name for path in self.paths)


def corpora(
    paths: Sequence[Path], *, languages: tuple[str, str] | None = None, standard_input: Path | None = None
) -> list[Corpus]:
    """Group paths as given: a file that holds both sides is a corpus, other files pair up with the next one.

    `-` stands for the file `standard_input`, a TSV.
    """
    found: list[Corpus] = []
    waiting: Path | None = None
    for given in paths:
        path, weight = split_weight(given)
        if path == STANDARD_INPUT:
            path = standard_input or path
        check_file(path)
        try:
            str(path).encode()
        except UnicodeEncodeError:
            raise DataError(f"{path}: a name that is not UTF-8 cannot be written into reports; rename it") from None
        if holds_both(path):
            found.append(Corpus((path,), weight or 1.0, languages))
        elif waiting is not None:
            found.append(Corpus((waiting, path), weight or 1.0, languages))
            waiting = None
        elif weight is not None:
            raise DataError(f"{given}: write the weight after the second file of the two: {path} TARGET={weight:g}")
        else:
            waiting = path
    if waiting is not None:
        raise DataError(
            f"{waiting}: this file has no partner; give a source file and a target file of equally many lines "
            f"(train.en train.fr), or one file of both sides, its name ending in {', '.join(BOTH_SIDES[:-1])} or "
            f"{BOTH_SIDES[-1]} (--valid takes one file at a time: --valid val.en --valid val.fr)"
        )
    return found


def split_weight(path: Path) -> tuple[Path, float | None]:
    """`corpus.tsv=0.3` as path and weight, unless a file has that very name."""
    name, equals, text = str(path).rpartition("=")
    if not equals or path.exists():
        return path, None
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not (math.isfinite(weight) and weight > 0):
        raise DataError(
            f"{path}: the weight of a corpus is a number above 0, such as {name}=0.3 to draw three pairs in ten each "
            f"epoch or {name}=2 to draw each twice, not {text!r}"
        )
    return Path(name), weight


def holds_both(path: Path) -> bool:
    """Whether the name says that the file holds both sides."""
    return _kind(path) in BOTH_SIDES


def holds_several(corpus: Corpus) -> bool:
    """Whether there may be more than two languages in it."""
    return _kind(corpus.paths[0]) == ".tmx"


def _kind(path: Path) -> str:
    """The suffix that tells the format: `.tsv` of a.tsv.gz."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    while suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def languages(found: Sequence[Corpus]) -> Way:
    """Source and target language by suffixes of names, and by TMX; None where unknown or not the same everywhere."""
    ways = [_way(corpus) for corpus in found if len(corpus.paths) == 2 or holds_several(corpus)]
    sources, targets = {source for source, _ in ways}, {target for _, target in ways}
    return sources.pop() if len(sources) == 1 else None, targets.pop() if len(targets) == 1 else None


def check_direction(found: Sequence[Corpus], model: Way = (None, None)) -> None:
    """Whether all corpora that tell their languages go the same way, which is that of the model they are to teach."""
    ways: dict[tuple[str, str], str] = {}
    if taught := _both(model):
        ways[taught] = "the model"
    for corpus in found:
        if not (way := _both(_way(corpus))):
            continue
        source, target = way
        if source == target and taught:
            continue  # the model says what they are
        if source == target:
            raise DataError(
                f"the sides of {corpus.name} are both named as {source}; check the order of the files, or say what "
                f"they are: --languages {source} {source}"
            )
        ways.setdefault(way, corpus.name)
        if other := ways.get((target, source)):
            raise DataError(
                f"{other} goes from {target} to {source}, but {corpus.name} from {source} to {target}; give the "
                f"source first everywhere, or say what they are: --languages {target} {source}"
            )


def _both(way: Way) -> tuple[str, str] | None:
    """Both languages, if both are known: `en` for `en-GB`, unless two varieties of one language are meant."""
    source, target = way
    if source is None or target is None:
        return None
    if general(source) == general(target):
        return source, target
    return general(source), general(target)


def _way(corpus: Corpus) -> Way:
    """The languages of a corpus, by the names of its two files, or by a TMX."""
    if holds_several(corpus):
        return Tmx(corpus.paths[0], corpus.languages).languages() or (None, None)
    return (_language(corpus.paths[0]), _language(corpus.paths[1])) if len(corpus.paths) == 2 else (None, None)


def _language(path: Path) -> str | None:
    """`en` for train.en, train.en.gz and train.en.txt."""
    suffixes = [suffix[1:] for suffix in path.suffixes if suffix.lower() not in (*COMPRESSED, ".txt")]
    last = suffixes[-1] if suffixes else ""
    return last if _LANGUAGE.fullmatch(last) and last not in _NOT_LANGUAGES else None


class Pairs:
    """The pairs of one corpus, to be read through once. `bytes_read` counts bytes on disk, for progress."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self._kind = _kind(corpus.paths[0]) if len(corpus.paths) == 1 else ""
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
        """Pairs, and the faults of records that are not; too many faults are an error."""
        pairs = faults = serious = 0
        first: Fault | None = None
        for record in self._records():
            if isinstance(record, Fault):
                first = record if first is None or (first.usual and not record.usual) else first
                faults += 1
                serious += not record.usual
            else:
                pairs += 1
            yield record
        if pairs + faults == 0:
            raise DataError(f"{self.corpus.name}: there is no line in it; a corpus needs at least one pair of texts")
        if first is not None and (serious * _MOST_FAULTS > pairs + faults or not pairs):
            raise DataError(
                f"{first.message} (at fault: {faults:,} of {pairs + faults:,} entries, of which this is the first; up "
                f"to one in {_MOST_FAULTS} would be left out and listed)"
            )

    def strictly(self) -> Iterator[Pair]:
        """Pairs alone; the first fault is an error."""
        for record in self:
            if isinstance(record, Fault):
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


Row = tuple[str, ...] | Fault


def _pairs(rows: Iterator[Row]) -> Iterator[Record]:
    for number, row in enumerate(rows, start=1):
        yield row if isinstance(row, Fault) else Pair(row[0], row[1], number)


def read_references(paths: Sequence[Path]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Sources with their reference translations, each source with equally many.

    From one TSV (source, then one or more references), one file of pairs in another format, or a source file and one
    or more files aligned to it.
    """
    for path in paths:
        check_file(path)
    rows: Iterator[Row]
    if len(paths) == 1 and _kind(paths[0]) == ".tsv":
        rows = _columns(Lines(paths[0]), exactly=None)
    elif len(paths) == 1 and holds_both(paths[0]):
        rows = ((pair.source, pair.target) for pair in Pairs(Corpus(tuple(paths))).strictly())
    elif len(paths) > 1 and not any(holds_both(path) for path in paths):
        rows = _aligned([Lines(path) for path in paths])
    else:
        raise DataError(
            f"{' '.join(map(str, paths)) or 'no file'}: expected a source file and one or more reference files "
            "(test.en test.fr), or one .tsv file (source, tab, reference)"
        )
    empty = True
    for row in rows:
        if isinstance(row, Fault):
            raise DataError(row.message)
        empty = False
        yield row[0], row[1:]
    if empty:
        raise DataError(f"{' + '.join(path.name for path in paths)}: there is no line in it; nothing to compare with")


def _aligned(files: Sequence[Lines]) -> Iterator[Row]:
    """Line i of every file together; files of different length are refused, with all counts."""
    readers = [file.tolerant() for file in files]
    row: tuple[Any, ...]
    for number, row in enumerate(zip_longest(*readers)):
        if None in row:
            counts = [
                number + (line is not None) + sum(1 for _ in reader) for line, reader in zip(row, readers, strict=True)
            ]
            raise DataError(_unequal(files, counts))
        yield next((line for line in row if isinstance(line, Fault)), row)


def _unequal(files: Sequence[Lines], counts: Sequence[int]) -> str:
    listed = ", ".join(f"{file.path} has {count:,}" for file, count in zip(files, counts, strict=True))
    longest = files[counts.index(max(counts))].path
    return (
        f"the files differ in their number of lines: {listed}; line by line they must be translations of each other. "
        f"If only the end is extra, remove line {min(counts) + 1:,} of {longest} and those after it; else find where "
        "the lines begin to differ (often at a line break inside a sentence)"
    )


def _columns(file: Lines, *, exactly: int | None) -> Iterator[Row]:
    """The columns of a TSV. Without `exactly`, the first line decides how many, at least two."""
    for number, line in enumerate(file.tolerant(), start=1):
        if isinstance(line, Fault):
            yield line
            continue
        columns = tuple(line.split("\t"))
        if exactly is None:
            exactly = max(2, len(columns))
        if len(columns) == exactly:
            yield columns
        else:
            hint = "separate source and target by one tab" if len(columns) < exactly else "remove the other columns"
            yield Fault(
                file.path,
                number,
                f"not {exactly} columns",
                f"{file.path}:{number}: expected {exactly} columns separated by tabs, found {len(columns)}; "
                f"{hint}; the line is {_shorten(line)}",
            )


def _shorten(line: str) -> str:
    return repr(line) if len(line) <= 60 else repr(line[:60]) + "…"
