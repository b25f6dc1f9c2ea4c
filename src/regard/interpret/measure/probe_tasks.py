"""The properties that probes read: of which words, the right answers, and what a control goes by.

In the encoder a word is its own pieces. In the decoder a row knows two words: the one it has just read, and the one it
is about to write, of which it has seen nothing yet.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from regard.data.synthetic.grammar.lexicon import nouns
from regard.interpret.annotated_pairs import AnnotatedPair

MOST_PLACES = 12

CATEGORIES = ("person", "animal", "vehicle", "building", "food", "furniture", "wearable", "event", "container", "way")

UNTESTED = "discourse and world knowledge"


@dataclass(frozen=True)
class Case:
    """The words a probe reads (one, two, or all of a sentence), the right answer, and what a control goes by."""

    words: tuple[int, ...]
    label: str
    type: str


@dataclass(frozen=True)
class Property:
    """A property of words of one side, and in which rows of a stack it is looked for."""

    stack: str
    ask: Callable[[AnnotatedPair], Iterator[Case]]
    rows: Callable[[AnnotatedPair, int], range]


def source_rows(item: AnnotatedPair, word: int) -> range:
    """The pieces of a source word."""
    return range(item.source_words[word].begin, item.source_words[word].end)


def read_row(item: AnnotatedPair, word: int) -> range:
    """The row that has just read the last piece of a target word."""
    end = item.target_words[word].end
    return range(end, end + 1)


def writing_row(item: AnnotatedPair, word: int) -> range:
    """The row that is about to write the first piece of a target word."""
    begin = item.target_words[word].begin
    return range(begin, begin + 1)


def _single(item: AnnotatedPair, found: Iterator[tuple[int, str]], *, target: bool = False) -> Iterator[Case]:
    """Cases of one word each, where it has pieces of its own."""
    for at, label in found:
        word = (item.target_words if target else item.source_words)[at]
        if word.begin < word.end:
            yield Case((at,), label, word.text.lower())


def _word_class(item: AnnotatedPair) -> Iterator[Case]:
    assert item.annotations is not None
    return _single(item, ((at, word.kind) for at, word in enumerate(item.annotations.source)))


def _position(item: AnnotatedPair) -> Iterator[Case]:
    return _single(item, ((at, f"{at:02}") for at in range(min(len(item.source_words), MOST_PLACES))))


def _nouns(item: AnnotatedPair) -> Iterator[tuple[int, str, bool]]:
    """Each noun of the word lists: where it stands, its name, and whether there are several."""
    assert item.annotations is not None
    for at, word in enumerate(item.annotations.source):
        for plural, names in ((False, _singular()), (True, _plural())):
            if word.kind == "noun" and word.text.lower() in names:
                yield at, names[word.text.lower()], plural


@cache
def _singular() -> dict[str, str]:
    return {noun.english: noun.english for noun in nouns().values() if noun.english != noun.english_plural}


@cache
def _plural() -> dict[str, str]:
    return {noun.english_plural: noun.english for noun in nouns().values() if noun.english != noun.english_plural}


def _number(item: AnnotatedPair) -> Iterator[Case]:
    return _single(item, ((at, "plural" if plural else "singular") for at, _, plural in _nouns(item)))


def _category(item: AnnotatedPair) -> Iterator[Case]:
    known = ((at, [name for name in CATEGORIES if name in nouns()[noun].classes]) for at, noun, _ in _nouns(item))
    return _single(item, ((at, names[0]) for at, names in known if names))


def _tense(item: AnnotatedPair) -> Iterator[Case]:
    assert item.annotations is not None
    return _single(item, ((verb.at, verb.tense) for verb in item.annotations.verbs))


def _gender(item: AnnotatedPair) -> Iterator[Case]:
    """The gender, in French, of what "it" stands for, where the other noun has another: only the sentence tells."""
    it = item.annotations.it if item.annotations else None
    if it and it.decider is not None and not it.same_gender:
        decider = item.source_words[it.decider].text
        yield from (Case(case.words, case.label, decider) for case in _single(item, iter([(it.at, it.gender)])))


def _subject(item: AnnotatedPair) -> Iterator[Case]:
    """A verb and a noun: is this its subject?"""
    assert item.annotations is not None
    words = item.source_words
    for verb in item.annotations.verbs:
        for at, word in enumerate(item.annotations.source):
            if word.kind in ("noun", "name") and verb.subject is not None and verb.at != at:
                spans = (words[verb.at], words[at])
                if all(span.begin < span.end for span in spans):
                    type_ = f"{spans[0].text} {spans[1].text}".lower()
                    yield Case((verb.at, at), "subject" if verb.subject == at else "other", type_)


def _sentiment(item: AnnotatedPair) -> Iterator[Case]:
    assert item.annotations is not None
    whole = tuple(at for at, word in enumerate(item.source_words) if word.begin < word.end)
    if len(whole) > 2:
        yield Case(whole, item.annotations.sentiment or "neither", item.source)


def _target_class(item: AnnotatedPair) -> Iterator[Case]:
    assert item.annotations is not None
    return _single(item, ((at, word.kind) for at, word in enumerate(item.annotations.target)), target=True)


def _target_position(item: AnnotatedPair) -> Iterator[Case]:
    return _single(item, ((at, f"{at:02}") for at in range(min(len(item.target_words), MOST_PLACES))), target=True)


def _target_number(item: AnnotatedPair) -> Iterator[Case]:
    assert item.annotations is not None
    known = (
        (at, _french().get(word.text.lower())) for at, word in enumerate(item.annotations.target) if word.kind == "noun"
    )
    return _single(item, ((at, number) for at, number in known if number), target=True)


@cache
def _french() -> dict[str, str]:
    """The number of each French noun that shows it."""
    told = [noun for noun in nouns().values() if noun.french != noun.french_plural]
    return {noun.french: "singular" for noun in told} | {noun.french_plural: "plural" for noun in told}


def _target_tense(item: AnnotatedPair, *, last: bool) -> Iterator[Case]:
    """The French tense at the first or last word of what a verb became ("a", "mangé")."""
    assert item.annotations is not None
    for verb in item.annotations.verbs:
        words = [
            target
            for source, target in item.annotations.alignment
            if source == verb.at and item.annotations.target[target].kind in ("verb", "auxiliary")
        ]
        if words:
            yield from _single(item, iter([(sorted(words)[-1 if last else 0], verb.target_tense)]), target=True)


def _pronoun(item: AnnotatedPair) -> Iterator[Case]:
    """The gender of the pronoun, where the other noun has another: the same cases as the encoder's."""
    it = item.annotations.it if item.annotations else None
    if it and it.decider is not None and not it.same_gender:
        decider = item.source_words[it.decider].text
        found = _single(item, iter([(it.target, it.gender)]), target=True)
        yield from (Case(case.words, case.label, decider) for case in found)


TASKS = {
    "position": Property("encoder", _position, source_rows),
    "word class": Property("encoder", _word_class, source_rows),
    "number": Property("encoder", _number, source_rows),
    "noun category": Property("encoder", _category, source_rows),
    "tense": Property("encoder", _tense, source_rows),
    "subject of verb": Property("encoder", _subject, source_rows),
    "gender of antecedent": Property("encoder", _gender, source_rows),
    "sentiment": Property("encoder", _sentiment, source_rows),
    "position of the word read": Property("decoder", _target_position, read_row),
    "class of the word read": Property("decoder", _target_class, read_row),
    "number of the noun read": Property("decoder", _target_number, read_row),
    "tense of the verb read": Property("decoder", lambda item: _target_tense(item, last=True), read_row),
    "class of the word to write": Property("decoder", _target_class, writing_row),
    "number of the noun to write": Property("decoder", _target_number, writing_row),
    "tense of the verb to write": Property("decoder", lambda item: _target_tense(item, last=False), writing_row),
    "gender of the pronoun to write": Property("decoder", _pronoun, writing_row),
}
