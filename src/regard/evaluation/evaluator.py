"""The evaluation of a translator on a test set, alone or against another translator."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, TypeVar, cast

from regard.data.formats.corpus import Corpus, Paths, as_list, detect_languages, directions_differ
from regard.data.formats.pairs import read_references
from regard.data.formats.records import LanguagePair
from regard.errors import UserError
from regard.evaluation.breakdown import Breakdown, Bucket, by_length, by_rarity, word_frequencies
from regard.evaluation.comparison import Comparison, check_sentence_count, compare
from regard.evaluation.kept_content import KeptContent, kept_content
from regard.evaluation.scores import Scorer, Scores, SentenceStatistics
from regard.inference.result import Translation
from regard.inference.translator import Translator
from regard.progress import Progress, Work, run_to_end
from regard.settings.decode import DecodeSettings
from regard.spans.glossary import Glossary

_REPORT_EVERY = 20

Item = TypeVar("Item")


class SupportsTranslation(Protocol):
    """Any object that translates an iterable of texts."""

    def translate_iterable(self, lines: Iterable[str], decode: DecodeSettings, /) -> Iterator[Translation]: ...


@dataclass(frozen=True)
class Evaluation:
    """The scores of a translator, with its translations and the test set."""

    scores: Scores
    by_length: Breakdown
    by_rarity: Breakdown
    against: Comparison | None
    sources: tuple[str, ...]
    translations: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    kept: tuple[KeptContent, ...] = ()  # spans, numbers and terms, if the test set has any


def evaluate(
    translator: SupportsTranslation,
    paths: Paths,
    decode: DecodeSettings | None = None,
    *,
    by_source: bool = False,
    tokenize: str = "13a",
    against: SupportsTranslation | None = None,
    trained_in: str | Path | None = None,
    glossary: Glossary | None = None,
) -> Evaluation:
    """Translate a test set and score the translations.

    `paths` are one TSV file, or a source file and one or more reference files. With `by_source`, lines with the same
    source are scored as one sentence with all their references. `against` is a second translator to compare with.
    `trained_in` is the model folder of the translator, which has the word counts of its training text. `glossary` has
    terms with the translations that they must get.
    """
    work = iter_evaluate(
        translator,
        paths,
        decode,
        by_source=by_source,
        tokenize=tokenize,
        against=against,
        trained_in=trained_in,
        glossary=glossary,
    )
    return run_to_end(work)


def iter_evaluate(
    translator: SupportsTranslation,
    paths: Paths,
    decode: DecodeSettings | None = None,
    *,
    changes: Mapping[str, Any] = MappingProxyType({}),
    by_source: bool = False,
    tokenize: str = "13a",
    against: SupportsTranslation | None = None,
    trained_in: str | Path | None = None,
    glossary: Glossary | None = None,
) -> Work[Evaluation]:
    """Like `evaluate`, but a generator that yields progress and returns the evaluation.

    `changes` are decode settings by name. They change the stored settings of each translator, or `decode` if given.
    """
    check_loaded(translator)
    check_loaded(against)
    files = as_list(paths)
    pairs = _read(files, by_source=by_source)
    _check_directions(translator, against, files)
    if against is not None:
        check_sentence_count(len(pairs))
    sources, references = tuple(source for source, _ in pairs), tuple(each for _, each in pairs)
    scorer = Scorer(references, tokenize=tokenize)
    # The settings of both are made before either translates, so that settings that do not fit are refused at once.
    translators = [translator] if against is None else [translator, against]
    settings = [replace(decode or _stored(one), **{**changes, "scores": False}) for one in translators]
    ours = yield from _translate(translator, sources, settings[0], scorer, "", glossary)
    theirs = None
    if against is not None:
        theirs = yield from _translate(against, sources, settings[1], scorer, " with the other model", glossary)
    statistics = [ours[1]] if theirs is None else [ours[1], theirs[1]]
    folder = Path(trained_in) if trained_in is not None else None
    frequencies, counted_in = word_frequencies(sources, folder)
    lengths = _break_down("number of words in the source", by_length(sources), scorer, statistics)
    rarity = _break_down(
        f"frequency of the rarest source word in {counted_in}", by_rarity(sources, frequencies), scorer, statistics
    )
    comparison = (yield from compare(scorer, pairs, ours, theirs)) if theirs is not None else None
    kept = kept_content(sources, ours[0], references, glossary)
    return Evaluation(scorer.scores(ours[1]), lengths, rarity, comparison, sources, ours[0], references, kept)


def check_loaded(model: object) -> None:
    """Raise a `UserError` if `model` is the name of a model instead of a loaded model."""
    if isinstance(model, str | Path):
        raise UserError(f"{model} is a name, but a loaded model is needed: regard.load({str(model)!r})")


def _check_directions(translator: object, against: object, paths: Sequence[Path]) -> None:
    """Raise a `UserError` if the other model or the test set is known to have another direction than the model."""
    languages, other = _languages(translator), _languages(against)
    if directions_differ(languages, other):
        raise UserError(
            f"the model translates from {languages[0]} to {languages[1]}, but the model to compare with from "
            f"{other[0]} to {other[1]}; compare models of the same languages"
        )
    source, target = detect_languages([Corpus(tuple(paths[:2]))])
    if directions_differ(languages, (source, target)) and not directions_differ(languages, (target, source)):
        raise UserError(
            f"the model translates from {languages[0]} to {languages[1]}, but "
            f"{' + '.join(path.name for path in paths)} from {source} to {target}; give the source first, or use a "
            "model of the other direction"
        )


def _languages(translator: object) -> LanguagePair:
    """Return the languages of a model; a translator of another kind has none."""
    languages: LanguagePair = getattr(translator, "languages", (None, None))
    return languages


def _read(paths: Sequence[Path], *, by_source: bool) -> list[tuple[str, tuple[str, ...]]]:
    pairs = list(read_references(paths))
    if not by_source:
        return pairs
    references_of: dict[str, list[str]] = {}
    for source, references in pairs:
        references_of.setdefault(source, []).extend(references)
    return [(source, tuple(references)) for source, references in references_of.items()]


def _translate(
    translator: SupportsTranslation,
    sources: Sequence[str],
    decode: DecodeSettings,
    scorer: Scorer,
    suffix: str,
    glossary: Glossary | None,
) -> Work[tuple[tuple[str, ...], list[SentenceStatistics]]]:
    """Return the translations and their statistics; `suffix` is appended to the name of each stage of the progress."""
    if glossary is None:
        stream = translator.translate_iterable(sources, decode)
    else:  # only models have this argument
        stream = cast(Any, translator).translate_iterable(sources, decode, glossary=glossary)
    translations = yield from _collect(f"translating{suffix}", stream, len(sources))
    texts = tuple(translation.text for translation in translations)
    return texts, (yield from _collect(f"scoring{suffix}", scorer.statistics(texts), len(texts)))


def _stored(translator: SupportsTranslation) -> DecodeSettings:
    """Return the decode settings that are stored with a model; other translators have none, and get the defaults."""
    stored = getattr(translator, "decode", None)
    return stored if isinstance(stored, DecodeSettings) else DecodeSettings()


def _collect(stage: str, items: Iterable[Item], total: int) -> Work[list[Item]]:
    """Return all items as a list, and yield progress."""
    collected: list[Item] = []
    yield Progress(stage, 0, total)
    for item in items:
        collected.append(item)
        if len(collected) % _REPORT_EVERY == 0:
            yield Progress(stage, len(collected), total)
    return collected


def _break_down(
    by: str, groups: dict[str, list[int]], scorer: Scorer, statistics: Sequence[list[SentenceStatistics]]
) -> Breakdown:
    """Score each group of sentences, for one or two translators."""

    def bucket(name: str, indices: list[int]) -> Bucket:
        ours, *theirs = (scorer.metric_scores([sentences[index] for index in indices]) for sentences in statistics)
        return Bucket(name, len(indices), ours, theirs[0] if theirs else None)

    return Breakdown(by, tuple(bucket(name, indices) for name, indices in groups.items()))


def score_references(
    translator: Translator, paths: Paths, decode: DecodeSettings | None = None
) -> Iterator[Translation]:
    """Yield each reference of a test set with its log-probability, source by source."""
    rows = read_references(as_list(paths))
    pairs = ((source, reference) for source, references in rows for reference in references)
    return translator.score(pairs, decode)
