"""Finds the element of the source that each part of a translation belongs to, from the word alignment.

A part is a run of letters, a run of punctuation or a protected part. Punctuation belongs where the punctuation of the
linked word is. What is linked to nothing belongs to the smallest element that contains its neighbours.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from regard.documents.runs import Run, Runs
from regard.documents.segment_text import Element, SegmentText
from regard.inference.alignment import Link
from regard.inference.result import Range

_MAX_RUNS = 64  # of a word of the source that are compared with those of the words that are linked to it

_NEIGHBOURS = 3  # words before and after an element, of which one may give a link to it


@dataclass(frozen=True, slots=True)
class Atom:
    """A part of a translation that is in one element."""

    begin: int
    end: int
    is_sign: bool
    owner: Element
    source: int | None  # the index of the run of the source that it translates


@dataclass(frozen=True, slots=True)
class _Open:
    """An atom whose owner may be unknown."""

    run: Run
    owner: Element | None
    source: int | None


def find_atoms(
    source: SegmentText,
    source_runs: Runs,
    target: str,
    target_runs: Runs,
    links: Sequence[Link],
    kept: Mapping[Range, Range],
) -> list[Atom]:
    """Return the atoms of a translation. `kept` has, for each protected part, its range in the source."""
    return _Finder(source, source_runs, target, target_runs, links, kept).atoms()


class _Finder:
    def __init__(
        self,
        source: SegmentText,
        source_runs: Runs,
        target: str,
        target_runs: Runs,
        links: Sequence[Link],
        kept: Mapping[Range, Range],
    ) -> None:
        self._source, self._target = source, target
        self._source_runs, self._target_runs = source_runs, target_runs
        self._linked: dict[int, int] = {}  # by target word: the source word
        with_letters = self._words_with_letters()
        for source_word, target_word in links:
            if source_word < len(source_runs.words) and target_word < len(target_runs.words):
                kinds = {target_runs.all[index].kind for index in target_runs.of_word(target_word)}
                self._linked.setdefault(target_word, with_letters[source_word] if "word" in kinds else source_word)
        self._link_lost_elements()
        self._kept = kept
        self._owners: dict[int, Element] = {}  # by run of the source

    def atoms(self) -> list[Atom]:
        found: list[_Open] = []
        for number in range(len(self._target_runs.words)):
            runs = [self._target_runs.all[index] for index in self._target_runs.of_word(number)]
            runs = [run for run in runs if run.word == number]  # a protected part may have several words
            linked = self._linked.get(number)
            if linked is None:
                found += (self._protected(run) or _Open(run, None, None) for run in runs)
            else:
                found += self._word(number, runs, linked)
        return self._closed(found)

    def _words_with_letters(self) -> list[int]:
        """Return for each word of the source the word that stands for it in links of words with letters.

        It is the word itself, or, for a word that is only punctuation, the last word with letters before it: models
        often write the last word of a sentence when they attend to the full stop.
        """
        found: list[int] = []
        last: int | None = None
        for number in range(len(self._source_runs.words)):
            kinds = {self._source_runs.all[index].kind for index in self._source_runs.of_word(number)}
            last = number if "word" in kinds else last
            found.append(last if last is not None and kinds == {"sign"} else number)
        return found

    def _link_lost_elements(self) -> None:
        """Link a word of the translation to each element without a link, if a neighbour has several words.

        Most models attend to the noun when they write an adjective before it: "old dogs" becomes "vieux chiens", and
        both words are linked to "dogs".
        """
        targets: dict[int, list[int]] = defaultdict(list)  # by source word
        for target_word, source_word in sorted(self._linked.items()):
            targets[source_word].append(target_word)
        for element in self._source.markup:
            if not isinstance(element, Element) or not self._source_runs.count(element.begin, element.end):
                continue
            first, last = (self._source_runs.word(at) for at in (element.begin, element.end - 1))
            if any(targets.get(word) for word in range(first, last + 1)):
                continue
            after = (word for word in range(last + 1, last + 1 + _NEIGHBOURS) if len(targets.get(word, ())) > 1)
            before = (word for word in range(first - 1, first - 1 - _NEIGHBOURS, -1) if len(targets.get(word, ())) > 1)
            if (donor := next(after, None)) is not None:
                taken, new = targets[donor].pop(0), first
            elif (donor := next(before, None)) is not None:
                taken, new = targets[donor].pop(), last
            else:
                continue
            self._linked[taken] = new
            targets[new].append(taken)

    def _protected(self, run: Run) -> _Open | None:
        if run.kind != "protected":
            return None
        begin, _ = self._kept[run.begin, run.end]
        return _Open(run, self._source.owner(begin), self._source_runs.after(begin))

    def _word(self, number: int, runs: list[Run], linked: int) -> Iterator[_Open]:
        """Yield the atoms of a word that is linked to a word of the source."""
        begin, end = self._target_runs.words[number]
        source_begin, source_end = self._source_runs.words[linked]
        indices = self._source_runs.of_word(linked)
        # The lengths are compared first: copying a very long word for each of its links would take quadratic time.
        is_same = end - begin == source_end - source_begin and len(runs) == len(indices)
        is_same = is_same and all(run.kind != "protected" for run in runs)
        if is_same and self._target[begin:end] == self._source.text[source_begin:source_end]:
            for run, index in zip(runs, indices, strict=True):
                yield from self._copied(run, index, source_begin - begin)
            return
        indices = indices[:_MAX_RUNS]
        contents = [index for index in indices if self._source_runs.all[index].kind != "sign"]
        count = sum(run.kind != "sign" for run in runs)
        seen = 0  # runs of the word that are not punctuation
        for run in runs:
            if run.kind == "sign":
                match = self._sign(seen, count, indices, contents)
            elif len(contents) == count:
                match = contents[seen]
            else:
                match = max(contents, key=lambda one: self._owner(one).depth, default=indices[0])
            seen += run.kind != "sign"
            yield self._protected(run) or _Open(run, self._owner(match) if match is not None else None, match)

    def _copied(self, run: Run, index: int, shift: int) -> Iterator[_Open]:
        """Yield the atoms of a run that is the same in the source: each character stays in its element."""
        begin = run.begin
        for position in range(run.begin + 1, run.end + 1):
            owner = self._source.owner(begin + shift)
            if position == run.end or self._source.owner(position + shift) is not owner:
                yield _Open(replace(run, begin=begin, end=position), owner, index)
                begin = position

    def _sign(self, seen: int, count: int, indices: range, contents: list[int]) -> int | None:
        """Return the punctuation of the source word at the same place: before it, after it or inside.

        In the word of the translation, `seen` of `count` runs of letters come before the punctuation.
        """
        signs = [index for index in indices if self._source_runs.all[index].kind == "sign"]
        if not contents or not signs:
            return signs[0] if signs else None
        if seen == count:
            return signs[-1] if signs[-1] > contents[-1] else None
        if seen == 0:
            return signs[0] if signs[0] < contents[0] else None
        between = range(contents[seen - 1], contents[seen]) if count == len(contents) else range(0)
        return next((index for index in signs if index in between), None)

    def _owner(self, index: int) -> Element:
        """Return the innermost of the elements that contain a part of a run of the source."""
        if index not in self._owners:
            run = self._source_runs.all[index]
            owners = (self._source.owner(at) for at in range(run.begin, run.end))
            self._owners[index] = max(owners, key=lambda owner: owner.depth)
        return self._owners[index]

    def _closed(self, found: list[_Open]) -> list[Atom]:
        """Return the atoms, with an owner for each."""
        owners = [one.owner for one in found]
        common = self._common()
        nexts: list[Element | None] = []
        following: Element | None = None
        for owner in reversed(owners):
            nexts.append(following)
            following = owner or following
        nexts.reverse()
        atoms: list[Atom] = []
        before: Element | None = None
        for one, after in zip(found, nexts, strict=True):
            is_sign = one.run.kind == "sign"
            owner = one.owner
            if owner is None:
                default = common if is_sign or (before is None and after is None) else before or after
                assert default is not None
                owner = (before or default).common(after or default)
            before = one.owner or before
            atoms.append(Atom(one.run.begin, one.run.end, is_sign, owner, one.source))
        return atoms

    def _common(self) -> Element:
        """Return the smallest element that contains the whole text."""
        owners = self._source.owners
        if not owners:
            return self._source.root
        common = owners[0]
        for owner in owners[1:]:
            common = common.common(owner)
        return common
