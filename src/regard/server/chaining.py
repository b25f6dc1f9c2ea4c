"""Translation by two models, one after the other, where no single model connects two languages."""

from collections.abc import Iterator
from dataclasses import replace

from regard.inference.alignment import Link
from regard.inference.result import PlacedSpan, Range, Translation
from regard.spans.patterns import MARK_CLOSE, MARK_OPEN


def text_between(first: Translation) -> str:
    """Return the text that the second model translates: what a user has marked as protected is marked again."""
    parts, end = [], 0
    for span in _in_order(first):
        begin, stop = span.target
        parts += [first.text[end:begin], *_marks(span, first.text[begin:stop])]
        end = stop
    return "".join([*parts, first.text[end:]])


def chain(first: Translation, second: Translation) -> Translation:
    """Return the translation by two models: the source of the first, and the text of the second."""
    return replace(
        second,
        source=first.source,
        alignment=_links(first, second),
        alternatives=tuple(chain(first, each) for each in second.alternatives),
        warnings=(
            *(replace(each, target=None) for each in first.warnings),
            *(replace(each, source=None) for each in second.warnings),
        ),
        spans=tuple(_spans(first, second)),
    )


def _in_order(translation: Translation) -> list[PlacedSpan]:
    return sorted(translation.spans, key=lambda span: span.target)


def _marks(span: PlacedSpan, text: str) -> tuple[str, ...]:
    return (MARK_OPEN, text, MARK_CLOSE) if span.kind == "marked" else (text,)


def _links(first: Translation, second: Translation) -> tuple[Link, ...] | None:
    if first.alignment is None or second.alignment is None:
        return None
    sources: dict[int, list[int]] = {}
    for source, middle in first.alignment:
        sources.setdefault(middle, []).append(source)
    return tuple(
        dict.fromkeys((source, target) for middle, target in second.alignment for source in sources.get(middle, ()))
    )


def _spans(first: Translation, second: Translation) -> Iterator[PlacedSpan]:
    """Yield the protected spans that both models kept."""
    sources: dict[Range, Range] = {}  # by range in the text between the models
    longer = 0
    for span in _in_order(first):
        begin, end = span.target
        marked = sum(map(len, _marks(span, "")))
        sources[begin + longer, end + longer + marked] = span.source
        longer += marked
    for span in second.spans:
        if span.source in sources:
            yield replace(span, source=sources[span.source])
