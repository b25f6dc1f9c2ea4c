"""How well a translator does on a test set, alone or beside another."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeVar

from regard.data.formats.pairs import read_references
from regard.evaluation.breakdown import Breakdown, Bucket, by_length, by_rarity, word_frequencies
from regard.evaluation.comparison import Comparison, check_size, compare
from regard.evaluation.scores import Scorer, Scores, SegmentStatistics
from regard.inference.result import Translation
from regard.inference.translator import Translator
from regard.progress import Progress, Work, run_to_end
from regard.settings.decode import DecodeSettings

_REPORT_EVERY = 20

Item = TypeVar("Item")


class Translates(Protocol):
    """Anything that translates texts as they come."""

    def translate_iterable(self, lines: Iterable[str], decode: DecodeSettings, /) -> Iterator[Translation]: ...


@dataclass(frozen=True)
class Evaluation:
    """The scores, and what they are about."""

    scores: Scores
    by_length: Breakdown
    by_rarity: Breakdown
    against: Comparison | None
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
    against: Translates | None = None,
    trained_in: str | Path | None = None,
) -> Evaluation:
    """Translate a test set and score it: one TSV, or a source file and one or more files of references.

    `by_source` takes each distinct source once, with the references of all its lines. `against` is a second translator
    to compare with. `trained_in` is the translator's model folder, whose training text says which words are rare.
    """
    work = iter_evaluate(
        translator, paths, decode, by_source=by_source, tokenize=tokenize, against=against, trained_in=trained_in
    )
    return run_to_end(work)


def iter_evaluate(
    translator: Translates,
    paths: Sequence[str | Path],
    decode: DecodeSettings | None = None,
    *,
    by_source: bool = False,
    tokenize: str = "13a",
    against: Translates | None = None,
    trained_in: str | Path | None = None,
) -> Work[Evaluation]:
    """`evaluate`, saying how far it is."""
    pairs = _read([Path(path) for path in paths], by_source=by_source)
    if against is not None:
        check_size(len(pairs))
    sources, references = tuple(source for source, _ in pairs), tuple(found for _, found in pairs)
    judge = Scorer(references, tokenize=tokenize)
    ours = yield from _judged(translator, sources, decode, judge, "")
    theirs = (yield from _judged(against, sources, decode, judge, " once more")) if against is not None else None
    counts = [ours[1]] if theirs is None else [ours[1], theirs[1]]
    times, where = yield from word_frequencies(sources, Path(trained_in) if trained_in is not None else None)
    lengths = _table("how many words the source has", by_length(sources), judge, counts)
    rarity = _table(f"how often the source's rarest word is in {where}", by_rarity(sources, times), judge, counts)
    compared = (yield from compare(judge, pairs, ours, theirs)) if theirs is not None else None
    return Evaluation(judge.scores(ours[1]), lengths, rarity, compared, sources, ours[0], references)


def _read(paths: Sequence[Path], *, by_source: bool) -> list[tuple[str, tuple[str, ...]]]:
    pairs = list(read_references(paths))
    if not by_source:
        return pairs
    together: dict[str, list[str]] = {}
    for source, found in pairs:
        together.setdefault(source, []).extend(found)
    return [(source, tuple(found)) for source, found in together.items()]


def _judged(
    translator: Translates, sources: Sequence[str], decode: DecodeSettings | None, judge: Scorer, again: str
) -> Work[tuple[tuple[str, ...], list[SegmentStatistics]]]:
    """What a translator writes, and the counts of it."""
    stream = translator.translate_iterable(sources, replace(decode or DecodeSettings(), scores=False))
    found = yield from _told(f"translating{again}", stream, len(sources))
    texts = tuple(one.text for one in found)
    return texts, (yield from _told(f"scoring{again}", judge.count(texts), len(texts)))


def _told(stage: str, items: Iterable[Item], total: int) -> Work[list[Item]]:
    """All items, and now and then how many there are."""
    found: list[Item] = []
    yield Progress(stage, 0, total)
    for item in items:
        found.append(item)
        if len(found) % _REPORT_EVERY == 0:
            yield Progress(stage, len(found), total)
    return found


def _table(
    by: str, groups: dict[str, list[int]], judge: Scorer, counts: Sequence[list[SegmentStatistics]]
) -> Breakdown:
    def group(name: str, places: list[int]) -> Bucket:
        ours, *theirs = (judge.figures([each[place] for place in places]) for each in counts)
        return Bucket(name, len(places), ours, theirs[0] if theirs else None)

    return Breakdown(by, tuple(group(name, places) for name, places in groups.items()))


def score_references(
    translator: Translator, paths: Sequence[str | Path], decode: DecodeSettings | None = None
) -> Iterator[Translation]:
    """How probable the model finds the references of a test set, in order; of several, one after the other."""
    rows = read_references([Path(path) for path in paths])
    pairs = ((source, reference) for source, references in rows for reference in references)
    return translator.score(pairs, decode or DecodeSettings())
