"""Counts the warnings of many translations, for a summary on the terminal."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from regard.render.units import format_count

if TYPE_CHECKING:
    from regard.inference.result import Translation

_SENTENCES = {
    "length limit": "reached the length limit",
    "same as source": "equal to the source",
    "repetition": "with a part that is repeated",
    "missing number": "without a number of the source",
    "lost span": "with a protected span whose place is uncertain or that is repeated",
    "unknown characters": "of a source with characters that are not in the vocabulary",
    "language": "of a source that seems to be in another language",
}


class WarningCounts:
    """Counts, for each kind of warning, the translations that have it."""

    def __init__(self) -> None:
        self._translations = 0
        self._counts: Counter[str] = Counter()
        self._first: dict[str, tuple[int, str]] = {}

    def add(self, translation: "Translation") -> None:
        self._translations += 1
        for warning in translation.warnings:
            if warning.kind not in self._first:
                self._first[warning.kind] = self._translations, warning.message
        self._counts.update({warning.kind for warning in translation.warnings})

    def lines(self, *, as_json: bool) -> Iterator[str]:
        """Yield one line for each kind of warning."""
        for kind, count in sorted(self._counts.items()):
            number, message = self._first[kind]
            yield (
                f"warning: {format_count(count, 'translation')} {_SENTENCES.get(kind, kind)}; "
                f"the first is number {number:,}: {message}"
            )
        if self._counts and not as_json:
            yield "--json shows all warnings"
