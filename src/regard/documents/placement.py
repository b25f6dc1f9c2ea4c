"""Writes the translation of a segment with the markup of the segment.

Each element gets one range of the translation: the longest run of what belongs to it. So no tag is repeated or lost,
and elements are nested as before. An element of which nothing was translated, and markup without text, is put before
the translation of the word that follows it, or right after the word that it follows without a space.
"""

import re
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass

from regard.documents.atoms import find_atoms
from regard.documents.characters import escape
from regard.documents.runs import Runs
from regard.documents.scanner import Format
from regard.documents.segment_text import Element, Point, SegmentText
from regard.inference.result import Range, Translation
from regard.spans.patterns import MARK_CLOSE, MARK_OPEN

_MARKED = re.compile(f"{MARK_OPEN}[^<]*{MARK_CLOSE}")


def needs_alignment(source: SegmentText) -> bool:
    """Return whether the place of some markup in a translation depends on the word alignment."""
    runs = Runs(source.text, list(source.kept))
    whole = runs.count(0, len(source.text))
    for one in source.markup:
        inside = runs.count(one.begin, one.end) if isinstance(one, Element) else 0
        if inside not in (0, whole) or (not inside and runs.count(0, one.begin) not in (0, whole)):
            return True
    return False


def place(source: SegmentText, translation: Translation, markup: Format) -> str:
    """Return a translation with the markup of its source."""
    if not source.markup and not source.kept:
        return escape(translation.text, markup)
    return _Writer(source, translation, markup).write()


@dataclass(frozen=True, slots=True)
class _Placed:
    """Markup at a place of the translation: before the atom `begin`, or around the atoms from `begin` to `end`."""

    begin: int
    end: int
    is_after_atom: bool  # directly after the atom before `begin`
    order: int
    what: Element | str

    @property
    def key(self) -> tuple[int, int, int]:
        """The order in which markup is written."""
        return self.begin, 0 if self.is_after_atom else 1 if isinstance(self.what, str) else 2, self.order


class _Writer:
    def __init__(self, source: SegmentText, translation: Translation, markup: Format) -> None:
        self._source = source
        self._target = translation.text
        self._markup = markup
        kept, lost = _kept_ranges(source, translation)
        self._kept = [(*target, source.kept[own]) for target, own in sorted(kept.items())]
        self._runs = Runs(source.text, list(source.kept))
        target_runs = Runs(self._target, sorted(kept))
        self._atoms = find_atoms(source, self._runs, self._target, target_runs, translation.alignment or (), kept)
        self._inside: dict[Element, list[Element | Point]] = defaultdict(list)
        for one in [*source.markup, *(Point(source.kept[own], source.owner(own[0]), own[0]) for own in lost)]:
            assert one.parent is not None
            self._inside[one.parent].append(one)
        self._first: dict[int, int] = {}  # by run of the source: the first atom that translates it
        self._last: dict[int, int] = {}
        for number, atom in enumerate(self._atoms):
            if atom.source is not None:
                self._first.setdefault(atom.source, number)
                self._last[atom.source] = number
        self._before_signs = [0]  # by number of an atom: the first of the signs right before it
        for number, atom in enumerate(self._atoms):
            self._before_signs.append(self._before_signs[number] if atom.is_sign else number + 1)
        # By run of the source: the first run from there on that is translated.
        self._translated: list[int | None] = [None] * (len(self._runs.all) + 1)
        for index in reversed(range(len(self._runs.all))):
            self._translated[index] = index if index in self._first else self._translated[index + 1]
        self._written = self._written_kept = 0  # characters of the translation, and protected parts in them
        self._ended = False  # the space after the text is written
        self._out: list[str] = []

    def write(self) -> str:
        self._element(self._source.root, 0, len(self._atoms))
        self._flush(len(self._target))
        return "".join(self._out)

    def _element(self, element: Element, begin: int, end: int) -> None:
        """Write the atoms of an element, from `begin` to `end`, and the markup inside of it."""
        for one in sorted(self._places(element, begin, end), key=lambda one: one.key):
            if isinstance(one.what, Element):
                self._flush(self._atoms[one.begin].begin)
                self._out.append(one.what.open_tag)
                self._element(one.what, one.begin, one.end)
                self._flush(self._atoms[one.end - 1].end)
                self._out.append(one.what.close_tag)
                continue
            if begin < end:
                is_before = one.begin < end and not one.is_after_atom
                self._flush(self._atoms[one.begin].begin if is_before else self._atoms[one.begin - 1].end)
            self._out.append(one.what)

    def _flush(self, end: int) -> None:
        """Write the translation up to this index."""
        while self._written_kept < len(self._kept) and self._kept[self._written_kept][0] < end:
            kept_begin, kept_end, raw = self._kept[self._written_kept]
            self._out += [escape(self._target[self._written : kept_begin], self._markup), raw]
            self._written = kept_end
            self._written_kept += 1
        if self._written < end:
            self._out.append(escape(self._target[self._written : end], self._markup))
            self._written = end

    def _places(self, element: Element, begin: int, end: int) -> Iterator[_Placed]:
        """Yield the place of everything that is directly inside of an element."""
        inside = self._inside[element]
        ranges = self._ranges(element, begin, end) if inside else {}
        borders = sorted(ranges.values())
        for order, one in enumerate(inside):
            if isinstance(one, Element) and one in ranges:
                yield _Placed(*ranges[one], False, order, one)
                continue
            place, is_after = self._anchor(one.begin, element, begin, end)
            place = min(max(place, begin), end)
            number = bisect_left(borders, (place, 0)) - 1
            if number >= 0 and place < borders[number][1]:  # not inside of another element
                place = borders[number][is_after]
            # Markup may follow the space after the text, which the translator does not see.
            space = "" if self._ended or one.begin <= len(self._source.text) else " "
            self._ended |= space != ""
            yield _Placed(place, place, is_after, order, space + self._raw(one))

    def _ranges(self, element: Element, begin: int, end: int) -> dict[Element, Range]:
        """Return the range of atoms of each element directly inside of an element."""
        inside = [_inside(self._atoms[number].owner, element) for number in range(begin, end)]
        count = self._runs.count(element.begin, element.end)
        found: dict[Element, Range] = {}
        for one in dict.fromkeys(each for each in inside if each is not None):
            if count and self._runs.count(one.begin, one.end) == count:
                # It contains everything except for punctuation.
                others = [
                    self._atoms[number].is_sign and inside[number - begin] is not one for number in range(begin, end)
                ]
                first, last = others.index(False), len(others) - others[::-1].index(False)
                found[one] = begin + first, begin + last
                inside[first:last] = [one] * (last - first)
                break
        best: dict[Element, tuple[int, Range]] = {}
        for first, last, size, owner in self._stretches(inside, begin):
            if owner not in found and (owner not in best or size > best[owner][0]):
                best[owner] = size, (first, last)
        return {**found, **{owner: span for owner, (_, span) in best.items()}}

    def _stretches(self, inside: list[Element | None], begin: int) -> Iterator[tuple[int, int, int, Element]]:
        """Yield the stretches of atoms of one element: the first, the one after the last, and how many words.

        One word that is in no other element may be between two of them.
        """
        first = last = size = gap = 0
        owner: Element | None = None
        for number, one in enumerate(inside):
            is_word = not self._atoms[begin + number].is_sign
            if one is None:
                gap += is_word
                continue
            if owner is not None and (one is not owner or gap > 1):
                yield begin + first, begin + last, size, owner
                owner = None
            if owner is None:
                first, size, owner = number, 0, one
            last, size, gap = number + 1, size + is_word, 0
        if owner is not None:
            yield begin + first, begin + last, size, owner

    def _anchor(self, index: int, element: Element, begin: int, end: int) -> tuple[int, bool]:
        """Return the atom before which markup is put, and whether it directly follows the atom before."""
        before = self._runs.before(index)
        if not self._runs.count(element.begin, index):
            return begin, False
        if not self._runs.count(index, element.end):
            after = self._runs.after(index)
            has_sign_after = after < len(self._runs.all) and self._runs.all[after].begin < element.end
            place = max(begin, self._before_signs[end]) if has_sign_after else end
            return place, place > 0
        if before is not None and self._runs.all[before].kind != "sign":
            if self._runs.all[before].end > index and before in self._first:  # inside of a word
                return self._first[before], False
            if before in self._last:
                return self._last[before] + 1, True
        following = self._translated[self._runs.after(index)]
        return (self._first[following], False) if following is not None else (end, end > 0)

    def _raw(self, one: Element | Point) -> str:
        """Return markup as it is in the document, without the text inside of it."""
        if isinstance(one, Point):
            return one.raw
        return "".join([one.open_tag, *map(self._raw, self._inside[one]), one.close_tag])


def _inside(owner: Element, element: Element) -> Element | None:
    """Return what is directly inside of an element and contains its part `owner`, or None."""
    if owner.depth <= element.depth:
        return None
    found = owner.ancestor(element.depth + 1)
    return found if found.parent is element else None


def _kept_ranges(source: SegmentText, translation: Translation) -> tuple[dict[Range, Range], list[Range]]:
    """Return the range in the source of each protected part of a translation, and the ranges that are lost."""
    kept: dict[Range, Range] = {}
    found: set[Range] = set()
    for span in translation.spans:
        if span.source in source.kept and span.source not in found:
            kept[span.target] = span.source
            found.add(span.source)
    lost = [own for own in source.kept if own not in found]
    if not lost or MARK_OPEN not in translation.text:
        return kept, lost
    # The translator has not protected them, or a longer span contains them: they may be there with their signs.
    places: dict[str, deque[Range]] = defaultdict(deque)
    for match in _MARKED.finditer(translation.text):
        places[match[0]].append(match.span())
    for own in lost:
        if places[source.text[slice(*own)]]:
            kept[places[source.text[slice(*own)]].popleft()] = own
            found.add(own)
    return kept, [own for own in lost if own not in found]
