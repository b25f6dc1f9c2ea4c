"""Corpora: which files belong together, and the weight, the languages and the direction of each corpus."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.data.formats.lines import COMPRESSED, check_file, shown_path
from regard.data.formats.records import LanguagePair
from regard.data.formats.tmx import Tmx, base_language
from regard.errors import DataError

Paths = str | Path | Sequence[str | Path]  # one path or several

STANDARD_INPUT = Path("-")

BOTH_SIDES = (".tsv", ".jsonl", ".tmx", ".po", ".mo")

_LANGUAGE = re.compile(r"[a-z]{2,3}([-_][A-Za-z0-9]+)*")

_NOT_LANGUAGES = {"bpe", "csv", "hyp", "log", "out", "raw", "ref", "spm", "src", "tgt", "tok", "trg", "txt", "xml"}


@dataclass(frozen=True)
class Corpus:
    """One file with both source and target texts, or a source file and a target file that are aligned line by line.

    `weight` is how often each pair is sampled per epoch, on average. `languages` are the source and the target language
    to use if a file has more than two languages.
    """

    paths: tuple[Path, ...]
    weight: float = 1.0
    languages: tuple[str, str] | None = None

    @property
    def name(self) -> str:
        return " + ".join(shown_path(Path(path.name)) for path in self.paths)


def as_list(paths: Paths) -> list[Path]:
    """Return one path or several as a list."""
    return [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]


def corpora(
    paths: Sequence[Path], *, languages: tuple[str, str] | None = None, standard_input: Path | None = None
) -> list[Corpus]:
    """Group paths into corpora. A file with both source and target texts is a corpus.

    Any other file is a source file, and the next one is its target file. The path `-` (standard input) is replaced by
    `standard_input`, a TSV file.
    """
    grouped: list[Corpus] = []
    source: Path | None = None  # a source file whose target file is still to come
    for argument in paths:
        path, weight = split_weight(argument)
        if path == STANDARD_INPUT:
            path = standard_input or path
        check_file(path)
        try:
            str(path).encode()
        except UnicodeEncodeError:
            raise DataError(
                f"{path}: the name is not UTF-8 and cannot be written into reports; rename the file"
            ) from None
        if has_both_sides(path):
            grouped.append(Corpus((path,), weight or 1.0, languages))
        elif source is not None:
            grouped.append(Corpus((source, path), weight or 1.0, languages))
            source = None
        elif weight is not None:
            raise DataError(f"{argument}: write the weight after the target file: {path} TARGET={weight:g}")
        else:
            source = path
    if source is not None:
        raise DataError(
            f"{source}: this file has no partner; give a source file and a target file with the same number of lines "
            f"(train.en train.fr), or one file that holds both sides, with a name ending in "
            f"{', '.join(BOTH_SIDES[:-1])} or {BOTH_SIDES[-1]} (--valid takes one file at a time: --valid val.en "
            "--valid val.fr)"
        )
    return grouped


def split_weight(path: Path) -> tuple[Path, float | None]:
    """Split `corpus.tsv=0.3` into path and weight, unless a file has exactly that name."""
    name, equals, text = str(path).rpartition("=")
    if not equals or path.exists():
        return path, None
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not (math.isfinite(weight) and weight > 0):
        raise DataError(
            f"{path}: the weight of a corpus is a number above 0, such as {name}=0.3 to sample three in ten pairs per "
            f"epoch or {name}=2 to sample each pair twice, not {text!r}"
        )
    return Path(name), weight


def has_both_sides(path: Path) -> bool:
    """Return whether a file holds both source and target texts, according to its name."""
    return file_kind(path) in BOTH_SIDES


def has_several_languages(corpus: Corpus) -> bool:
    """Return whether the corpus may contain more than two languages."""
    return file_kind(corpus.paths[0]) == ".tmx"


def file_kind(path: Path) -> str:
    """Return the suffix of the file format, such as `.tsv` for a.tsv.gz."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    while suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def detect_languages(corpora: Sequence[Corpus]) -> LanguagePair:
    """Return source and target language, from file suffixes and TMX files.

    A language is None if it is unknown or differs between corpora.
    """
    pairs = [_direction(corpus) for corpus in corpora if len(corpus.paths) == 2 or has_several_languages(corpus)]
    sources, targets = {source for source, _ in pairs}, {target for _, target in pairs}
    return sources.pop() if len(sources) == 1 else None, targets.pop() if len(targets) == 1 else None


def check_direction(corpora: Sequence[Corpus], model: LanguagePair = (None, None)) -> None:
    """Raise an error if the direction of a corpus is the opposite of that of another corpus or of the model.

    If the languages of the model are unknown, also raise an error if both sides of a corpus have the same language.
    Corpora with unknown languages are not checked.
    """
    directions: dict[tuple[str, str], str] = {}
    if model_direction := _known_direction(model):
        directions[model_direction] = "the model"
    for corpus in corpora:
        if not (direction := _known_direction(_direction(corpus))):
            continue
        source, target = direction
        if source == target and model_direction:
            continue  # both sides seem to have the same language, but the languages of the model are known
        if source == target:
            raise DataError(
                f"both sides of {corpus.name} are named {source}; check the order of the files, or state the "
                f"languages: --languages {source} {source}"
            )
        directions.setdefault(direction, corpus.name)
        if opposite := directions.get((target, source)):
            raise DataError(
                f"{opposite} goes from {target} to {source}, but {corpus.name} from {source} to {target}; give the "
                f"source first everywhere, or state the languages: --languages {target} {source}"
            )


def directions_differ(languages: LanguagePair, other: LanguagePair) -> bool:
    """Return whether all languages are known and the directions differ. Varieties of a language count as equal."""
    first, second = _known_direction(languages), _known_direction(other)
    return first is not None and second is not None and first != second


def _known_direction(languages: LanguagePair) -> tuple[str, str] | None:
    """Return source and target language without their varieties (`en` for `en-GB`), or None if one is unknown.

    Two varieties of one language, such as `pt-BR` and `pt-PT`, are returned unchanged.
    """
    source, target = languages
    if source is None or target is None:
        return None
    if base_language(source) == base_language(target):
        return source, target
    return base_language(source), base_language(target)


def _direction(corpus: Corpus) -> LanguagePair:
    """Return source and target language from the names of two files or from a TMX file; None if unknown."""
    if has_several_languages(corpus):
        return Tmx(corpus.paths[0], corpus.languages).languages() or (None, None)
    return (_language(corpus.paths[0]), _language(corpus.paths[1])) if len(corpus.paths) == 2 else (None, None)


def _language(path: Path) -> str | None:
    """Return the language in a file name, such as `en` for train.en, train.en.gz and train.en.txt."""
    suffixes = [suffix[1:] for suffix in path.suffixes if suffix.lower() not in (*COMPRESSED, ".txt")]
    last = suffixes[-1] if suffixes else ""
    return last if _LANGUAGE.fullmatch(last) and last not in _NOT_LANGUAGES else None


def total_bytes(corpora: Sequence[Corpus]) -> int:
    return sum(path.stat().st_size for corpus in corpora for path in corpus.paths)
