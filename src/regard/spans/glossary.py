"""A glossary: terms with the translations that a user wants for them.

A glossary file is a TSV: source term, tab, target term. `=` as the target keeps the term as it is. Several forms of a
term are separated by `|`, on both sides: the first source form is translated by the first target form, and so on. If
there are fewer target forms, the last one is used for the remaining source forms. Empty lines and lines that start with
`#` are skipped.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from regard.errors import DataError
from regard.spans.patterns import Span

KEEP = "="  # the target of a term that is not translated

TERM = "term"  # the kind of the span of a term

# A word may have hyphens and apostrophes, but an elided article ("l'école") and a possessive ending ("cat's") are not
# parts of it.
_WORD = re.compile(r"(?:\w|[A-Za-z]{0,5}[Qq]u)['’](?=\w)|\w+(?:(?:-|['’](?!s\b))\w+)*|[^\w\s]")

_LINE_BREAKS = re.compile(r"[\t\r\n]")


@dataclass(frozen=True)
class _Form:
    """One form of a term: its words, and what translates it."""

    words: tuple[str, ...]
    target: str
    is_lower_case: bool  # such a term is found in any case, others only as they are written


class Glossary:
    """Terms with the translations that they must get.

    Terms are found as whole words, the longest first. A term in lower case is also found with a capital letter or in
    capitals, and its translation then gets the same case; a term with a capital letter is found only as it is written.
    """

    def __init__(self, terms: Mapping[str, str]) -> None:
        """Make a glossary from source terms and target terms, each of which may have several forms, separated by |."""
        self._forms: dict[str, list[_Form]] = {}
        self._sources: set[str] = set()
        for source, target in terms.items():
            if problem := self._add(source, target):
                raise DataError(f"glossary entry {source!r}: {problem}")
        self._sort()

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a glossary file."""
        path = Path(path)
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except OSError as error:
            raise DataError(f"{path}: cannot be read ({error.strerror or error}); check the name") from error
        except UnicodeDecodeError as error:
            bad = error.object[: error.start].count(b"\n") + 1
            raise DataError(f"{path}:{bad}: not UTF-8; convert the file: iconv -f latin1 -t utf-8 {path}") from error
        glossary = cls({})
        for number, line in enumerate(text.splitlines(), start=1):
            if not line.strip() or line.startswith("#"):
                continue
            source, *targets = line.split("\t")
            if len(targets) != 1:
                found = "no tab" if not targets else f"{len(targets)} tabs"
                raise DataError(f"{path}:{number}: {found}; write: source term, one tab, target term (or = to keep it)")
            if problem := glossary._add(source, targets[0]):
                raise DataError(f"{path}:{number}: {problem}")
        if not glossary._forms:
            raise DataError(f"{path}: no terms; write one per line: source term, tab, target term")
        glossary._sort()
        return glossary

    def __len__(self) -> int:
        """Return the number of source forms."""
        return len(self._sources)

    def _add(self, source: str, target: str) -> str | None:
        """Add an entry, or return what is wrong with it."""
        sources, targets = ([form.strip() for form in side.split("|")] for side in (source, target))
        if not all(sources):
            return "the source term is empty; remove the line, or the | without a form"
        if not all(targets):
            return "the target term is empty; write = to keep the source term"
        if len(targets) > len(sources):
            return f"{len(targets)} target forms for {len(sources)} source forms; give each a source form"
        for number, form in enumerate(sources):
            if form in self._sources:
                return f"the term {form!r} has an earlier entry; remove one of the two"
            words = tuple(_WORD.findall(form))
            if not any(word[0].isalnum() for word in words):
                return f"the term {form!r} has no letter"
            self._sources.add(form)
            new = targets[min(number, len(targets) - 1)]
            entry = _Form(words, new if new != KEEP else "", form == form.lower())
            self._forms.setdefault(words[0].lower(), []).append(entry)
        return None

    def _sort(self) -> None:
        for forms in self._forms.values():
            # The longest form comes first; among equal ones, a form with capital letters, which is more specific.
            forms.sort(key=lambda form: (-len(form.words), form.is_lower_case))

    def find(self, text: str, spans: list[Span]) -> Iterator[Span]:
        """Yield the terms in a text, from left to right, outside of its protected spans."""
        words = list(_WORD.finditer(text))
        borders = iter(spans)
        span = next(borders, None)
        index = 0
        while index < len(words):
            begin = words[index].start()
            while span is not None and span.end <= begin:
                span = next(borders, None)
            form = self._longest([word[0] for word in words[index : index + 20]])
            if form is None:
                index += 1
                continue
            end = words[index + len(form.words) - 1].end()
            if span is not None and span.begin < end:
                index += 1
                continue
            found = text[begin:end]
            yield Span(TERM, begin, end, _translated(found, form))
            index += len(form.words)

    def _longest(self, words: list[str]) -> _Form | None:
        """Return the longest form with which the words begin."""
        for form in self._forms.get(words[0].lower(), ()):
            found = tuple(words[: len(form.words)])
            if form.is_lower_case:
                found = tuple(word.lower() for word in found)
            if found == form.words:
                return form
        return None


def _translated(found: str, form: _Form) -> str:
    """Return the translation of a term; if the entry is in lower case, in the case of the term in the text."""
    target = form.target or found
    if not form.is_lower_case or not form.target:
        return target
    if found.isupper() and len(found) > 1:
        return target.upper()
    return target[:1].upper() + target[1:] if found[:1].isupper() else target
