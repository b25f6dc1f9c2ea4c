"""Replaces the protected spans of a text by stand-ins that the model copies, and puts them back into the translation.

The stand-ins are the placeholders of the vocabulary, if the model was trained with them, and otherwise names that most
models copy, such as "Tom". If a translation does not have each stand-in exactly once, other stand-ins are tried. What
still has no place is put where the word alignment says, or at the end, and reported.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from regard.inference.alignment import Link
from regard.inference.result import PlacedSpan, Range
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

_PLACEHOLDER = re.compile(f" ?[{ALL_PLACEHOLDERS}]")

_END = re.compile(r"\s*[.!?…。！？]*\s*$")


@dataclass(frozen=True)
class Group:
    """One span, or several with nothing but punctuation between them. A group gets one stand-in."""

    text: str  # as it stands in the translation
    spans: tuple[Span, ...]

    @property
    def begin(self) -> int:
        return self.spans[0].begin

    @property
    def end(self) -> int:
        return self.spans[-1].end

    def placed(self, begin: int, placed_by: str) -> Iterable[PlacedSpan]:
        """Return the place of each span, if the text of the group begins at this index of the translation."""
        end = self.begin
        for span in self.spans:
            begin += span.begin - end
            yield PlacedSpan(span.kind, span.text, (span.begin, span.end), (begin, begin + len(span.text)), placed_by)  # type: ignore[arg-type]
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
    stand_ins: tuple[tuple[str, ...], ...]

    @property
    def attempts(self) -> int:
        return len(self.stand_ins)

    def masked(self, attempt: int) -> Edited:
        """Return the text in which stand-ins replace the spans; `before` and `text` are exchanged."""
        return Edited.of(
            self.source,
            (((group.begin, group.end), new) for group, new in zip(self.groups, self.stand_ins[attempt], strict=True)),
        )

    def lost(self, target: str, attempt: int) -> list[int]:
        """Return the indices of the groups whose stand-ins the translation does not have exactly once."""
        return [n for n, one in enumerate(self.stand_ins[attempt]) if len(_occurrences(one, target)) != 1]

    def copied(self) -> "Restored":
        """Return the text without a translation: the spans, and the signs between them."""
        edited = Edited.of(self.source, (((group.begin, group.end), group.text) for group in self.groups))
        return self._restored(edited, list(range(len(self.groups))), ["model"] * len(self.groups))

    def restore(self, target: str, attempt: int, links: Iterable[Link] = ()) -> "Restored":
        """Put the spans into a translation. `links` are the links between its words and those of the masked source."""
        places: list[tuple[Range, int, str]] = []
        for number, stand_in in enumerate(self.stand_ins[attempt]):
            places += [(found, number, "model") for found in _occurrences(stand_in, target)]
        lost = sorted({*range(len(self.groups))} - {number for _, number, _ in places})
        if lost:
            places += self._align(lost, target, attempt, list(links), {place for place, _, _ in places})
        taken = [place for place, _, _ in places]
        # A placeholder that the source does not have is removed.
        for match in _PLACEHOLDER.finditer(target):
            if not any(begin < match.end() and match.start() < end for begin, end in taken):
                places.append((match.span(), -1, ""))
        places.sort()
        texts = [(place, self.groups[number].text if number >= 0 else "") for place, number, _ in places]
        for index, (place, text) in enumerate(texts):
            if place[0] == place[1]:  # inserted, so it needs spaces around it
                before, after = target[: place[0]][-1:], target[place[1] :][:1]
                texts[index] = (place, (" " if before.strip() else "") + text + (" " if after.isalnum() else ""))
        edited = Edited.of(target, texts)
        return self._restored(edited, [number for _, number, _ in places], [by for _, _, by in places])

    def _restored(self, edited: Edited, numbers: Sequence[int], placed_by: Sequence[str]) -> "Restored":
        placed: list[PlacedSpan] = []
        for number, (_, (begin, end)), by in zip(numbers, edited.replaced, placed_by, strict=True):
            if number >= 0:
                begin = edited.text.index(self.groups[number].text, begin, end)  # after a space, if it was inserted
                placed += self.groups[number].placed(begin, by)
        return Restored(edited, tuple(sorted(placed, key=lambda one: (one.source, one.target))))

    def _align(
        self, lost: list[int], target: str, attempt: int, links: list[Link], taken: set[Range]
    ) -> list[tuple[Range, int, str]]:
        """Return a place for each lost group: the words linked to its stand-in, or the end of the translation."""
        masked = self.masked(attempt)
        words = [match.span() for match in _WORD.finditer(masked.text)]
        target_words = [_core(target, *match.span()) for match in _WORD.finditer(target)]
        places: list[tuple[Range, int, str]] = []
        for number in lost:
            begin, _ = masked.replaced[number][1]
            word = next((index for index, (_, end) in enumerate(words) if begin < end), None)
            linked = sorted(t for s, t in links if s == word and t < len(target_words))
            free = [
                target_words[t]
                for t in linked
                if not any(begin < target_words[t][1] and target_words[t][0] < end for begin, end in taken)
            ]
            place = free[0] if free else None
            end = len(target) - len(_END.search(target)[0])  # type: ignore[index]
            places.append((place or (end, end), number, "alignment" if place else "end"))
            taken.add(place or (end, end))
        return places


@dataclass(frozen=True)
class Restored:
    """A translation with the spans of its source."""

    edited: Edited
    spans: tuple[PlacedSpan, ...]

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


def _core(text: str, begin: int, end: int) -> Range:
    """Return the range of a word without the punctuation around it."""
    while begin < end and not text[begin].isalnum():
        begin += 1
    while end > begin and not text[end - 1].isalnum():
        end -= 1
    return begin, end


class Masker:
    """Finds the spans of texts and chooses stand-ins for them."""

    def __init__(self, placeholders: Sequence[str]) -> None:
        self._placeholders = placeholders
        self.max_groups = len(placeholders) or MAX_SPANS

    def groups(self, text: str) -> list[Group]:
        """Return the spans of a text, in groups that get one stand-in each."""
        return _groups(text, find_spans(text))

    def mask(self, text: str) -> Mask | None:
        """Return the mask of a text, or None if it has nothing to protect."""
        groups = self.groups(text)
        if not groups:
            return None
        if _LETTER.search(_outside(text, groups)) is None:
            return Mask(text, tuple(groups), ())
        return Mask(text, tuple(groups), tuple(self._stand_ins(text, len(groups))))

    def _stand_ins(self, text: str, count: int) -> Iterable[tuple[str, ...]]:
        """Yield the stand-ins of each attempt."""
        if count <= len(self._placeholders):
            yield tuple(self._placeholders[:count])
            yield tuple(self._placeholders[-count:])
        free = [name for name in _NAMES if name not in text]
        free += [f"{a}{b.lower()}" for a in free for b in free][: max(0, count - len(free))]
        for attempt in range(_ATTEMPTS):
            first = attempt % len(free)
            names = [*free[first:], *free[:first]][:count]
            if len(names) == count:
                yield tuple(names)


def _groups(text: str, spans: list[Span]) -> list[Group]:
    groups: list[list[Span]] = []
    for span in spans:
        if groups and _JOINABLE.fullmatch(text, groups[-1][-1].end, span.begin):
            groups[-1].append(span)
        else:
            groups.append([span])
    return [Group(_group_text(text, group), tuple(group)) for group in groups]


def _group_text(text: str, spans: list[Span]) -> str:
    end = spans[0].begin
    parts = []
    for span in spans:
        parts += [text[end : span.begin], span.text]
        end = span.end
    return "".join(parts)


def _outside(text: str, groups: list[Group]) -> str:
    """Return the text outside of the groups."""
    return Edited.of(text, (((group.begin, group.end), " ") for group in groups)).text
