"""Counts what translations keep of their sources: protected spans, numbers, and the terms of a glossary."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from regard.spans.glossary import Glossary
from regard.spans.numbers import MissingNumber, Range, count_numbers, missing_numbers
from regard.spans.patterns import Span, find_spans


@dataclass(frozen=True)
class KeptContent:
    """How many items of the sources should be in the translations, and how many are."""

    name: str  # "spans", "numbers" or "terms"
    kept: int
    total: int


def kept_content(
    sources: Sequence[str],
    translations: Sequence[str],
    references: Sequence[Sequence[str]],
    glossary: Glossary | None = None,
) -> tuple[KeptContent, ...]:
    """Return the counts of each kind of content that the test set has.

    A span or a number counts if a reference has it too, because some translations rightly leave it out. A term of the
    glossary always counts.
    """
    counts = {name: [0, 0] for name in ("spans", "numbers", "terms")}
    for source, translation, each in zip(sources, translations, references, strict=True):
        spans = find_spans(source)
        wanted = Counter(span.text for span in spans)
        expected = {text: min(count, max(one.count(text) for one in each)) for text, count in wanted.items()}
        _add(counts["spans"], sum(min(count, translation.count(text)) for text, count in expected.items()), expected)
        ranges = _ranges(spans)
        if count_numbers(source, ranges):
            rightly = {number.source for one in each[:1] for number in _missing(source, one, ranges)}
            for one in each[1:]:
                rightly &= {number.source for number in _missing(source, one, ranges)}
            numbers = count_numbers(source, ranges) - len(rightly)
            lost = {number.source for number in _missing(source, translation, ranges)} - rightly
            _add(counts["numbers"], numbers - len(lost), {"": numbers})
        if glossary is not None:
            terms = Counter(term.text for term in glossary.find(source, spans))
            _add(counts["terms"], sum(min(count, translation.count(text)) for text, count in terms.items()), terms)
    return tuple(KeptContent(name, kept, total) for name, (kept, total) in counts.items() if total)


def _add(counts: list[int], kept: int, expected: dict[str, int]) -> None:
    counts[0] += kept
    counts[1] += sum(expected.values())


def _missing(source: str, target: str, spans: Sequence[Range]) -> list[MissingNumber]:
    return missing_numbers(source, target, spans, _ranges(find_spans(target)))


def _ranges(spans: Iterable[Span]) -> list[Range]:
    return [(span.begin, span.end) for span in spans]
