"""Replaces the protected spans of a text by stand-ins that the model copies, and puts them back into the translation.

The stand-ins are the placeholders of the vocabulary, if the model was trained with them, and otherwise names that most
models copy, such as "Tom". If a translation does not have each stand-in exactly once, other stand-ins are tried. What
still has no place is put where the word alignment says, or at the end, and reported.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from regard.inference.alignment import Link
from regard.inference.locator import Locator
from regard.inference.result import PlacedBy, PlacedSpan, Range
from regard.spans.glossary import TERM, Glossary
from regard.spans.patterns import Span, find_spans
from regard.tokenizers.placeholders import ALL_PLACEHOLDERS

# Names that models of European languages copy, in the order in which they are tried. They start with a consonant, so
# that the words before them keep their form in French and Italian.
_NAMES = ("Tom", "Boston", "Mary", "Tokyo", "John", "Berlin", "Bob", "Madrid", "Jim", "London", "Ken", "Peter")

MAX_SPANS = len(_NAMES) // 2  # a text with more spans is divided, if the vocabulary has no placeholders

_ATTEMPTS = 4

_LETTER = re.compile(r"[^\W\d_]")

_JOINABLE = re.compile(r"[^\w\n.!?]{0,3}")

_WORD = re.compile(r"\S+")

_TAG_NAME = re.compile(r"</?([A-Za-z][^\s/>]*)")

_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "„": "“"}

_PLACEHOLDER = re.compile(f" ?[{ALL_PLACEHOLDERS}]")

_END = re.compile(r"\s*[.!?…。！？]*\s*$")


@dataclass(frozen=True)
class Group:
    """One span, or several with nothing but punctuation between them. A group gets one stand-in.

    Quotation marks around the group belong to it.
    """

    begin: int
    end: int
    text: str  # as it stands in the translation
    spans: tuple[Span, ...]
    partner: int | None = None  # of an opening tag, the index of the group of its closing tag, and the other way round

    @property
    def is_tag(self) -> bool:
        return self.spans[0].kind == "tag"

    @property
    def is_closing(self) -> bool:
        return self.is_tag and self.spans[0].text.startswith(("</", "]("))

    def placed(self, begin: int, placed_by: PlacedBy) -> Iterable[PlacedSpan]:
        """Return the place of each span, if the text of the group begins at this index of the translation."""
        end = self.begin
        for span in self.spans:
            begin += span.begin - end
            yield PlacedSpan(span.kind, span.text, (span.begin, span.end), (begin, begin + len(span.text)), placed_by)
            begin += len(span.text)
            end = span.end


@dataclass(frozen=True)
class Edited:
    """A text in which some ranges were replaced, with the place of each replacement."""

    before: str
    text: str
    replaced: tuple[tuple[Range, Range], ...]  # for each replacement: its range in the text before, and in this text

    @classmethod
    def of(cls, before: str, replacements: Iterable[tuple[Range, str]]) -> "Edited":
        """Replace the ranges, which are in order and do not overlap."""
        parts, replaced, end, length = [], [], 0, 0
        for (begin, stop), new in replacements:
            parts += [before[end:begin], new]
            length += begin - end
            replaced.append(((begin, stop), (length, length + len(new))))
            length += len(new)
            end = stop
        return cls(before, "".join([*parts, before[end:]]), tuple(replaced))

    def words(self) -> list[list[int]]:
        """Return, for each word of the text before, the numbers of the words of this text that it has become."""
        ranges = [match.span() for match in _WORD.finditer(self.text)]
        words: list[list[int]] = []
        number = 0
        for match in _WORD.finditer(self.before):
            begin, end = self._range(*match.span())
            while number < len(ranges) and ranges[number][1] <= begin:
                number += 1
            last = number
            while last < len(ranges) and ranges[last][0] < end:
                last += 1
            words.append(list(range(number, last)))
        return words

    def _range(self, begin: int, end: int) -> Range:
        """Return the range in this text of a word of the text before; a word has all or nothing of a replacement."""
        shift_begin = shift_end = 0
        for (old_begin, old_end), (_, new_end) in self.replaced:
            if old_begin >= end:
                break
            shift_end = new_end - old_end
            if old_end <= begin:
                shift_begin = shift_end
        return begin + shift_begin, end + shift_end


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
        end = len(target) - len(_END.search(target)[0])  # type: ignore[index]
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
                    place = _around(group.text, target, place)
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


def _around(text: str, target: str, place: Range) -> Range:
    """Return the place of a text that a translation has already, if it overlaps the given place; else the place."""
    begin = target.find(text, max(0, place[0] - len(text)), place[1] + len(text))
    end = begin + len(text)
    return (begin, end) if begin >= 0 and begin < place[1] and place[0] < end else place


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


def _inverse(edited: Edited) -> Edited:
    return Edited(edited.text, edited.before, tuple((new, old) for old, new in edited.replaced))


def _occurrences(stand_in: str, text: str) -> list[Range]:
    if len(stand_in) == 1:
        return [(match.start(), match.end()) for match in re.finditer(stand_in, text)]
    return [match.span() for match in re.finditer(rf"(?<!\w){stand_in}(?!\w)", text)]


class Masker:
    """Finds the spans of texts and chooses stand-ins for them."""

    def __init__(self, placeholders: Sequence[str], *, has_alignment: bool) -> None:
        """Make a masker for a model with these placeholders, and perhaps with an alignment head.

        With an alignment head, pairs of tags and terms of a glossary are placed by the alignment, because the words
        around them need no change then.
        """
        self._placeholders = placeholders
        self._has_alignment = has_alignment
        self.max_groups = len(placeholders) or MAX_SPANS

    def groups(self, text: str, glossary: Glossary | None = None, *, protect: bool = True) -> list[Group]:
        """Return the spans of a text, in groups that get one stand-in each."""
        spans = find_spans(text) if protect else []
        if glossary is not None:
            spans = sorted([*spans, *glossary.find(text, spans)], key=lambda span: span.begin)
        return _with_partners(_groups(text, spans)) if spans else []

    def mask(self, text: str, glossary: Glossary | None = None, *, protect: bool = True) -> Mask | None:
        """Return the mask of a text, or None if it has nothing to protect."""
        groups = self.groups(text, glossary, protect=protect)
        if not groups:
            return None
        if _LETTER.search(_outside(text, groups)) is None:
            return Mask(text, tuple(groups), ())
        return Mask(text, tuple(groups), tuple(self._stand_ins(text, groups)))

    def _stand_ins(self, text: str, groups: list[Group]) -> Iterator[tuple[str | None, ...]]:
        """Yield the stand-ins of each attempt."""
        for attempt, names in enumerate(self._names(text, len(groups))):
            yield tuple(
                None if self._is_aligned(group, attempt) else name for name, group in zip(names, groups, strict=True)
            )

    def _is_aligned(self, group: Group, attempt: int) -> bool:
        """Return whether a group gets no stand-in: a tag, and a term in the first attempt."""
        if not self._has_alignment:
            return False
        return group.partner is not None or (attempt == 0 and group.spans[0].kind == TERM)

    def _names(self, text: str, count: int) -> Iterator[Sequence[str]]:
        if count <= len(self._placeholders):
            yield self._placeholders[:count]
            yield self._placeholders[-count:]
        free = [name for name in _NAMES if name not in text]
        free += [first + second.lower() for first in free for second in free][: max(0, count - len(free))]
        for attempt in range(_ATTEMPTS):
            names = [*free[attempt:], *free[:attempt]][:count]
            if len(names) == count:
                yield names


def _groups(text: str, spans: list[Span]) -> list[Group]:
    groups: list[list[Span]] = []
    for span in spans:
        if (
            groups
            and not {TERM, "tag"} & {span.kind, groups[-1][-1].kind}
            and _JOINABLE.fullmatch(text, groups[-1][-1].end, span.begin)
        ):
            groups[-1].append(span)
        else:
            groups.append([span])
    return [_group(text, group) for group in groups]


def _group(text: str, spans: list[Span]) -> Group:
    begin, end = spans[0].begin, spans[-1].end
    before, after = text[max(0, begin - 1) : begin], text[end : end + 1]
    if before and _QUOTES.get(before) == after and spans[0].kind not in (TERM, "tag"):
        begin, end = begin - 1, end + 1
    return Group(begin, end, _group_text(text, begin, end, spans), tuple(spans))


def _with_partners(groups: list[Group]) -> list[Group]:
    """Connect each opening tag with its closing tag."""
    open_tags: list[tuple[str, int]] = []
    for number, group in enumerate(groups):
        if not group.is_tag or group.text.endswith("/>"):
            continue
        name = _tag_name(group.text)
        opens = open_tags[-1][0] != name if name == "**" and open_tags else not group.is_closing
        if opens:
            open_tags.append((name, number))
        elif open_tags and open_tags[-1][0] == name:
            _, other = open_tags.pop()
            groups[number] = replace(group, partner=other)
            groups[other] = replace(groups[other], partner=number)
    return groups


def _tag_name(tag: str) -> str:
    """Return the name that an opening tag and its closing tag have in common."""
    found = _TAG_NAME.match(tag)
    return found[1] if found else "**" if tag == "**" else "["


def _group_text(text: str, begin: int, stop: int, spans: list[Span]) -> str:
    end, parts = begin, []
    for span in spans:
        parts += [text[end : span.begin], span.text]
        end = span.end
    return "".join([*parts, text[end:stop]])


def _outside(text: str, groups: list[Group]) -> str:
    """Return the text outside of the groups."""
    return Edited.of(text, (((group.begin, group.end), " ") for group in groups)).text
