"""Puts the protected spans of a text into its translation, in the places of their stand-ins.

A span whose stand-in the translation does not have is put where the word alignment says, or at the end, and reported.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from regard.inference.alignment import Link
from regard.inference.insertion import before_stop
from regard.inference.locator import Locator
from regard.inference.masking.edited_text import Edited
from regard.inference.masking.groups import Group
from regard.inference.result import PlacedBy, PlacedSpan, Range
from regard.tokenizers.placeholders import ALL_PLACEHOLDERS

_PLACEHOLDER = re.compile(f" ?[{ALL_PLACEHOLDERS}]")


@dataclass(frozen=True)
class Mask:
    """The protected spans of a part of a text, with the stand-ins for them in each attempt to translate it."""

    source: str
    groups: tuple[Group, ...]
    stand_ins: tuple[tuple[str | None, ...], ...]  # None: the alignment places the group

    @property
    def attempts(self) -> int:
        return len(self.stand_ins)

    def masked(self, attempt: int) -> Edited:
        """Return the text that the model translates: stand-ins replace the spans."""
        stand_ins = zip(self.groups, self.stand_ins[attempt], strict=True)
        return Edited.of(
            self.source, (((group.begin, group.end), self._masked(group, new)) for group, new in stand_ins)
        )

    def _masked(self, group: Group, stand_in: str | None) -> str:
        if stand_in is not None:
            return stand_in
        return "" if group.is_tag else self.source[group.begin : group.end]

    def missing(self, target: str, attempt: int) -> list[str]:
        """Return the stand-ins that a translation does not have."""
        return [each for each in self.stand_ins[attempt] if each is not None and not _occurrences(each, target)]

    def copied(self) -> "Restored":
        """Return the text without a translation: the spans, and the signs between them."""
        edited = Edited.of(self.source, (((group.begin, group.end), group.text) for group in self.groups))
        return self._restored(edited, [_Place((0, 0), number, "model") for number in range(len(self.groups))])

    def restore(self, target: str, attempt: int, locator: Callable[[], Locator | None]) -> "Restored":
        """Put the spans into a translation. `locator` is called if the alignment is needed."""
        places = self._found(target, attempt)
        lost = sorted({*range(len(self.groups))} - {place.group for place in places})
        if lost:
            places += self._align(lost, target, attempt, locator(), [place.range for place in places])
        # A placeholder that the source does not have is removed.
        taken = [place.range for place in places]
        for match in _PLACEHOLDER.finditer(target):
            if not any(begin < match.end() and match.start() < end for begin, end in taken):
                places.append(_Place(match.span(), None, "model"))
        places.sort(key=lambda place: (place.range, place.order))
        edited = Edited.of(target, [(place.range, self._inserted(place, target)) for place in places])
        return self._restored(edited, places)

    def _found(self, target: str, attempt: int) -> list["_Place"]:
        """Return the places of the stand-ins in a translation."""
        return [
            _Place(found, number, "model")
            for number, stand_in in enumerate(self.stand_ins[attempt])
            if stand_in is not None
            for found in _occurrences(stand_in, target)
        ]

    def _inserted(self, place: "_Place", target: str) -> str:
        """Return what takes a place in the translation, with spaces around it where they are needed."""
        if place.group is None:
            return ""
        group = self.groups[place.group]
        begin, end = place.range
        if begin < end or group.is_tag:
            return group.text
        return (" " if target[:begin][-1:].strip() else "") + group.text + (" " if target[end:][:1].isalnum() else "")

    def _restored(self, edited: Edited, places: Sequence["_Place"]) -> "Restored":
        placed: list[PlacedSpan] = []
        for place, (_, (begin, end)) in zip(places, edited.replaced, strict=True):
            if place.group is not None:
                group = self.groups[place.group]
                begin = edited.text.index(group.text, begin, end)  # after a space, if it was inserted
                placed += group.placed(begin, place.placed_by)
        lost = sum(place.is_lost for place in places)
        lost += len({place.group for place in places if place.group is not None}) != len(
            [place for place in places if place.group is not None]
        )
        return Restored(edited, tuple(sorted(placed, key=lambda one: (one.source, one.target))), lost)

    def _align(
        self, lost: list[int], target: str, attempt: int, locator: Locator | None, taken: list[Range]
    ) -> list["_Place"]:
        """Return a place for each group without a stand-in in the translation: by the alignment, or at the end."""
        masked = self.masked(attempt)
        end = before_stop(target)
        places: list[_Place] = []
        for number in lost:
            group, (_, part) = self.groups[number], masked.replaced[number]
            aligned = self.stand_ins[attempt][number] is None
            place: Range | None = None
            if group.partner is not None:
                first, last = sorted((number, group.partner))
                region = masked.replaced[first][1][1], masked.replaced[last][1][0]
                found = locator.find_region(region) if locator else None
                place = (found[number != first],) * 2 if found else None
            elif locator is not None:
                place = locator.find_word(part, taken)
                if place is not None and aligned:
                    place = _around(group.text, target, place, taken)
            if place is not None and place[0] < place[1]:
                taken.append(place)
            by: PlacedBy = "alignment" if place is not None else "end"
            order = number if place is None or not group.is_closing else -1
            places.append(_Place(place or (end, end), number, by, order, is_lost=not (aligned and place)))
        return places


@dataclass(frozen=True)
class _Place:
    """A place in a translation for a group, or a place that becomes empty if there is no group."""

    range: Range
    group: int | None
    placed_by: PlacedBy
    order: int = 0  # of the places with the same range
    is_lost: bool = False


def _around(text: str, target: str, place: Range, taken: Sequence[Range]) -> Range:
    """Return the place of a text that a translation has already, if it overlaps the given place; else the place."""
    begin = target.find(text, max(0, place[0] - len(text)), place[1] + len(text))
    end = begin + len(text)
    overlaps = begin >= 0 and begin < place[1] and place[0] < end
    is_free = not any(begin < other_end and other_begin < end for other_begin, other_end in taken)
    return (begin, end) if overlaps and is_free else place


@dataclass(frozen=True)
class Restored:
    """A translation with the spans of its source."""

    edited: Edited
    spans: tuple[PlacedSpan, ...]
    lost: int  # number of groups that the model lost or repeated

    @property
    def text(self) -> str:
        return self.edited.text

    def copied_links(self) -> tuple[Link, ...]:
        """Return the links between the words of a text and the same words in its copy."""
        return tuple((source, target) for source, words in enumerate(self.edited.words()) for target in words)

    def links(self, masked: Edited, links: Iterable[Link]) -> tuple[Link, ...]:
        """Turn links between the words of the masked texts into links between the words of the real ones."""
        sources, targets = _inverse(masked).words(), self.edited.words()
        real: dict[Link, None] = {}
        for source, target in links:
            if source < len(sources) and target < len(targets):
                before, after = sources[source], targets[target]
                pairs = zip(before, after, strict=True) if len(before) == len(after) else None
                real.update(dict.fromkeys(pairs or ((s, t) for s in before for t in after)))
        return tuple(sorted(real, key=lambda link: (link[1], link[0])))

    def of_words(self, values: Sequence[float | None]) -> tuple[float | None, ...]:
        """Return the values of the words of the model's text for the words of this text; None for those with spans."""
        before, after = self.edited.before.split(), self.text.split()
        of_words: list[float | None] = [None] * (len(after) if values else 0)
        for word, value, numbers in zip(before, values, self.edited.words(), strict=False):
            for number in numbers:
                of_words[number] = value if after[number] == word else None
        return tuple(of_words)


def _inverse(edited: Edited) -> Edited:
    return Edited(edited.text, edited.before, tuple((new, old) for old, new in edited.replaced))


def _occurrences(stand_in: str, text: str) -> list[Range]:
    if len(stand_in) == 1:
        return [(match.start(), match.end()) for match in re.finditer(stand_in, text)]
    return [match.span() for match in re.finditer(rf"(?<!\w){stand_in}(?!\w)", text)]
