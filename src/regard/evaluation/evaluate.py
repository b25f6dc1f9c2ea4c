"""How well a translator does on a test set."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from regard.data.pairs import read_references
from regard.decoding.translation import TextTranslator, Translation
from regard.evaluation.scores import Scores, check_tokenize, score
from regard.settings import DecodeSettings


class Translates(Protocol):
    """Anything that translates lists of texts."""

    def translate_all(self, texts: Sequence[str], decode: DecodeSettings) -> list[Translation]: ...


@dataclass(frozen=True)
class Evaluation:
    """The scores, and what they are about."""

    scores: Scores
    sources: tuple[str, ...]
    translations: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]


def evaluate(
    translator: Translates,
    paths: Sequence[str | Path],
    decode: DecodeSettings | None = None,
    *,
    by_source: bool = False,
    tokenize: str = "13a",
) -> Evaluation:
    """Translate a test set and score it: one TSV, or a source file and one or more files of references.

    `by_source` takes each distinct source once, with the references of all its lines.
    """
    check_tokenize(tokenize)
    pairs = list(read_references([Path(path) for path in paths]))
    if by_source:
        together: dict[str, list[str]] = {}
        for source, found in pairs:
            together.setdefault(source, []).extend(found)
        pairs = [(source, tuple(found)) for source, found in together.items()]
    sources = tuple(source for source, _ in pairs)
    references = tuple(references for _, references in pairs)
    texts = tuple(found.text for found in translator.translate_all(sources, decode or DecodeSettings()))
    return Evaluation(score(texts, references, tokenize=tokenize), sources, texts, references)


def score_references(
    translator: TextTranslator, paths: Sequence[str | Path], decode: DecodeSettings | None = None
) -> Iterator[Translation]:
    """How probable the model finds the references of a test set, in order; of several, one after the other."""
    rows = read_references([Path(path) for path in paths])
    pairs = ((source, reference) for source, references in rows for reference in references)
    return translator.score(pairs, decode or DecodeSettings())
