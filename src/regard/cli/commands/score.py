"""`regard score`: log-probabilities of given translations."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from regard.console import say, show_lines

if TYPE_CHECKING:
    from regard.inference.result import Translation


def show_scores(found: Iterable["Translation"], *, as_json: bool) -> None:
    """What a model thinks of given translations, on standard output; all of them together beside it."""
    pairs = pieces = 0
    total = 0.0

    def lines() -> Iterator[str]:
        nonlocal pairs, pieces, total
        for one in found:
            pairs, pieces, total = pairs + 1, pieces + len(one.log_probabilities), total + one.log_probability
            plain = f"{one.log_probability:.4f}\t{one.source}\t{one.text}"
            yield json.dumps(asdict(one), ensure_ascii=False) if as_json else plain

    show_lines(lines())
    if pieces:
        say(f"{pairs:,} pairs, {pieces:,} pieces with their end marks: log-probability {total / pieces:.4f} a piece")
