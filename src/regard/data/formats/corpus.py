"""Groups file names into corpora, with their weights, languages and direction."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.data.formats.lines import COMPRESSED, check_file
from regard.data.formats.records import LanguagePair
from regard.data.formats.tmx import Tmx, general
from regard.errors import DataError

STANDARD_INPUT = Path("-")

BOTH_SIDES = (".tsv", ".jsonl", ".tmx", ".po", ".mo")

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
        if has_both_sides(path):
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


def has_both_sides(path: Path) -> bool:
    """Whether the name says that the file holds both sides."""
    return file_kind(path) in BOTH_SIDES


def has_several_languages(corpus: Corpus) -> bool:
    """Whether there may be more than two languages in it."""
    return file_kind(corpus.paths[0]) == ".tmx"


def file_kind(path: Path) -> str:
    """The suffix that tells the format: `.tsv` of a.tsv.gz."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    while suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def languages(found: Sequence[Corpus]) -> LanguagePair:
    """Source and target language by suffixes of names, and by TMX; None where unknown or not the same everywhere."""
    ways = [_direction(corpus) for corpus in found if len(corpus.paths) == 2 or has_several_languages(corpus)]
    sources, targets = {source for source, _ in ways}, {target for _, target in ways}
    return sources.pop() if len(sources) == 1 else None, targets.pop() if len(targets) == 1 else None


def check_direction(found: Sequence[Corpus], model: LanguagePair = (None, None)) -> None:
    """Whether all corpora that tell their languages go the same way, which is that of the model they are to teach."""
    ways: dict[tuple[str, str], str] = {}
    if taught := _both(model):
        ways[taught] = "the model"
    for corpus in found:
        if not (way := _both(_direction(corpus))):
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


def _both(way: LanguagePair) -> tuple[str, str] | None:
    """Both languages, if both are known: `en` for `en-GB`, unless two varieties of one language are meant."""
    source, target = way
    if source is None or target is None:
        return None
    if general(source) == general(target):
        return source, target
    return general(source), general(target)


def _direction(corpus: Corpus) -> LanguagePair:
    """The languages of a corpus, by the names of its two files, or by a TMX."""
    if has_several_languages(corpus):
        return Tmx(corpus.paths[0], corpus.languages).languages() or (None, None)
    return (_language(corpus.paths[0]), _language(corpus.paths[1])) if len(corpus.paths) == 2 else (None, None)


def _language(path: Path) -> str | None:
    """`en` for train.en, train.en.gz and train.en.txt."""
    suffixes = [suffix[1:] for suffix in path.suffixes if suffix.lower() not in (*COMPRESSED, ".txt")]
    last = suffixes[-1] if suffixes else ""
    return last if _LANGUAGE.fullmatch(last) and last not in _NOT_LANGUAGES else None


def total_bytes(corpora: Sequence[Corpus]) -> int:
    return sum(path.stat().st_size for corpus in corpora for path in corpus.paths)
