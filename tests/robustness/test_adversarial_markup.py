"""The work on a document grows in proportion to its size, whatever is in it, and no markup is lost."""

import random
import re
import sys

import pytest
from tests.documents.test_markup import SNIPPETS, markup_of
from tests.documents.translators import backwards
from tests.robustness.conftest import Report
from tests.robustness.counts import campaign

from regard.documents import scanner
from regard.documents.elements import MarkupOptions
from regard.documents.markup import Markup
from regard.documents.scanner import Format
from regard.inference.result import Translation

_MEGABYTE = 1 << 20


@campaign("adversarial documents")
def test_the_work_is_linear(count: int, monkeypatch: pytest.MonkeyPatch, report: Report) -> None:
    """Each document is as long as a part of a longer one: its work, per character, must not be much less."""
    read = 0

    def counted(found: re.Match[str] | None, source: str, begin: int) -> re.Match[str] | None:
        nonlocal read
        read += (len(source) if found is None else found.end()) - begin
        return found

    monkeypatch.setattr(scanner, "_search", lambda pattern, *place: counted(pattern.search(*place), *place))
    monkeypatch.setattr(scanner, "_match", lambda pattern, *place: counted(pattern.match(*place), *place))
    draw = random.Random(7)
    is_full = count > 100
    growth, most_read, largest = 0.0, 0.0, 0
    for number in range(count):
        form: Format = draw.choice(("html", "xml"))
        unit = "".join(draw.choices(SNIPPETS, k=draw.randint(1, 5)))[:200] or "x"
        size = (_MEGABYTE if number % 250 == 0 else round(2_000 * 10 ** draw.random())) if is_full else 4_000
        source = unit * max(8, size // len(unit)) + draw.choice(("", ">", '">', "</b>"))
        short = source[: len(source) // 4]
        read = 0
        calls, result = work(source, form)
        most_read = max(most_read, read / len(source))
        assert read <= 8 * len(source), unit
        assert markup_of(result, form) == markup_of(source, form), unit
        # A short document may be cut in the middle of a tag, so it may have a little less markup.
        ratio = calls / len(source) / max(1.0, work(short, form)[0] / len(short))
        assert ratio < 2, (unit, form, ratio)
        growth, largest = max(growth, ratio), max(largest, len(source))
    report(
        f"{count} adversarial documents (HTML and XML, up to {largest:,} characters): the scanner read each character "
        f"at most {most_read:.1f} times; four times the size took at most {4 * growth:.1f} times the function calls"
    )


def work(source: str, form: Format) -> tuple[int, str]:
    """Return the number of function calls that the translation of a document takes, and the translated document."""
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    def translate(texts: list[str]) -> list[Translation]:
        sys.setprofile(None)
        translations = backwards(texts)
        sys.setprofile(count)
        return translations

    sys.setprofile(count)
    try:
        result = Markup(source, MarkupOptions(form, ignore_tags=frozenset("x"))).translate(translate).text
    finally:
        sys.setprofile(None)
    return calls, result
