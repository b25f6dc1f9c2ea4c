"""The probing tasks: the words whose vectors a probe gets, the correct labels, and the types of words.

Where the type of a word gives the label away ("cats" is always plural), a probe is tested on types that it was not
trained on. Otherwise it could look the answer up.

In the encoder, a probe gets the vectors of the tokens of a word. In the decoder, it gets the vector of one position.
For tasks about "the word read", this is the position whose input is the last token of the word. For tasks about "the
word to write", it is the position that predicts the first token of the word; no token of the word is in its input.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from regard.data.synthetic.grammar.lexicon import nouns
from regard.interpret.annotated_pairs import AnnotatedPair
from regard.settings.anatomy import Side
from regard.tokenizers.special_ids import FIRST_SUBWORD

MAX_POSITION = 12

NEIGHBOURS = 12  # the number of frequent tokens that serve as labels

CATEGORIES = ("person", "animal", "vehicle", "building", "food", "furniture", "wearable", "event", "container", "way")

UNTESTED = "discourse and world knowledge"


@dataclass(frozen=True)
class Case:
    """One example for a probe: the indices of one word, two words or all words of a sentence, and the correct label.

    In tasks without annotations, the indices are those of tokens. The control task gives all cases of the same `type`
    the same random label.
    """

    words: tuple[int, ...]
    label: str
    type: str


@dataclass(frozen=True)
class ProbeTask:
    """A property of words that a probe predicts from the vectors of the source or target positions.

    `cases` yields the examples of a sentence pair, and `rows` returns the token positions whose vectors stand for a
    word. With `new_types`, the probe is tested on types that it was not trained on; otherwise on other sentences. A
    task that is not `annotated` can be measured on any text.
    """

    side: Side
    cases: Callable[[AnnotatedPair], Iterator[Case]]
    rows: Callable[[AnnotatedPair, int], range]
    new_types: bool = True
    annotated: bool = True


def source_rows(pair: AnnotatedPair, word: int) -> range:
    """Return the positions of the tokens of a source word."""
    return range(pair.source_words[word].begin, pair.source_words[word].end)


def read_row(pair: AnnotatedPair, word: int) -> range:
    """Return the decoder position whose input is the last token of a target word."""
    end = pair.target_words[word].end
    return range(end, end + 1)


def writing_row(pair: AnnotatedPair, word: int) -> range:
    """Return the decoder position that predicts the first token of a target word."""
    begin = pair.target_words[word].begin
    return range(begin, begin + 1)


def _single_words(pair: AnnotatedPair, labels: Iterator[tuple[int, str]], *, target: bool = False) -> Iterator[Case]:
    """Yield a case for each labelled word to which at least one token belongs."""
    for index, label in labels:
        word = (pair.target_words if target else pair.source_words)[index]
        if word.begin < word.end:
            yield Case((index,), label, word.text.lower())


def _word_class(pair: AnnotatedPair) -> Iterator[Case]:
    assert pair.annotations is not None
    return _single_words(pair, ((index, word.kind) for index, word in enumerate(pair.annotations.source)))


def token_row(pair: AnnotatedPair, token: int) -> range:
    """Return the position of a token."""
    return range(token, token + 1)


def _positions(ids: Sequence[int]) -> Iterator[Case]:
    """Yield the first tokens of a sentence with their positions, which is what a positional encoding encodes."""
    for position, token in enumerate(ids[:MAX_POSITION]):
        yield Case((position,), f"{position:02}", str(token))


def _neighbours(ids: Sequence[int], offset: int) -> Iterator[Case]:
    """Yield the tokens whose neighbour is one of a few frequent tokens, with this neighbour as the label.

    The ids of frequent tokens are the lowest ones.
    """
    for position, token in enumerate(ids):
        if 0 <= position + offset < len(ids) and FIRST_SUBWORD <= ids[position + offset] < FIRST_SUBWORD + NEIGHBOURS:
            yield Case((position,), str(ids[position + offset]), str(token))


def _nouns(pair: AnnotatedPair) -> Iterator[tuple[int, str, bool]]:
    """Yield the index and the singular of each source noun, and whether the noun is plural.

    Nouns that are not in the word lists, or whose singular and plural are the same, are left out.
    """
    assert pair.annotations is not None
    for index, word in enumerate(pair.annotations.source):
        for plural, names in ((False, _singulars()), (True, _plurals())):
            if word.kind == "noun" and word.text.lower() in names:
                yield index, names[word.text.lower()], plural


@cache
def _singulars() -> dict[str, str]:
    return {noun.english: noun.english for noun in nouns().values() if noun.english != noun.english_plural}


@cache
def _plurals() -> dict[str, str]:
    return {noun.english_plural: noun.english for noun in nouns().values() if noun.english != noun.english_plural}


def _number(pair: AnnotatedPair) -> Iterator[Case]:
    return _single_words(pair, ((index, "plural" if plural else "singular") for index, _, plural in _nouns(pair)))


def _category(pair: AnnotatedPair) -> Iterator[Case]:
    known = ((index, [name for name in CATEGORIES if name in nouns()[noun].classes]) for index, noun, _ in _nouns(pair))
    return _single_words(pair, ((index, names[0]) for index, names in known if names))


def _tense(pair: AnnotatedPair) -> Iterator[Case]:
    assert pair.annotations is not None
    return _single_words(pair, ((verb.at, verb.tense) for verb in pair.annotations.verbs))


def _antecedent_gender(pair: AnnotatedPair) -> Iterator[Case]:
    """Label "it" with the French gender of its antecedent, in sentences whose distractor has the other gender."""
    it = pair.annotations.coreference if pair.annotations else None
    if it and it.cue is not None and not it.same_gender:
        cue = pair.source_words[it.cue].text
        yield from (Case(case.words, case.label, cue) for case in _single_words(pair, iter([(it.at, it.gender)])))


def _subject(pair: AnnotatedPair) -> Iterator[Case]:
    """Label each pair of a verb and a noun by whether the noun is the subject of the verb."""
    assert pair.annotations is not None
    words = pair.source_words
    for verb in pair.annotations.verbs:
        for index, word in enumerate(pair.annotations.source):
            if word.kind in ("noun", "name") and verb.subject is not None and verb.at != index:
                spans = (words[verb.at], words[index])
                if all(span.begin < span.end for span in spans):
                    label = "subject" if verb.subject == index else "other"
                    yield Case((verb.at, index), label, spans[1].text.lower())


def _sentiment(pair: AnnotatedPair) -> Iterator[Case]:
    assert pair.annotations is not None
    words = tuple(index for index, word in enumerate(pair.source_words) if word.begin < word.end)
    if len(words) > 2:
        yield Case(words, pair.annotations.sentiment or "neither", pair.source)


def _target_class(pair: AnnotatedPair) -> Iterator[Case]:
    assert pair.annotations is not None
    return _single_words(pair, ((index, word.kind) for index, word in enumerate(pair.annotations.target)), target=True)


def _target_number(pair: AnnotatedPair) -> Iterator[Case]:
    assert pair.annotations is not None
    numbers = (
        (index, _french_numbers().get(word.text.lower()))
        for index, word in enumerate(pair.annotations.target)
        if word.kind == "noun"
    )
    return _single_words(pair, ((index, number) for index, number in numbers if number), target=True)


@cache
def _french_numbers() -> dict[str, str]:
    """Return "singular" or "plural" for each form of the French nouns whose two forms differ."""
    marked = [noun for noun in nouns().values() if noun.french != noun.french_plural]
    return {noun.french: "singular" for noun in marked} | {noun.french_plural: "plural" for noun in marked}


def _target_tense(pair: AnnotatedPair, *, last: bool) -> Iterator[Case]:
    """Label one word of the French translation of each verb with the French tense.

    With `last`, this is the last word ("mangé" of "a mangé"); otherwise the first ("a").
    """
    assert pair.annotations is not None
    for verb in pair.annotations.verbs:
        words = [
            target
            for source, target in pair.annotations.alignment
            if source == verb.at and pair.annotations.target[target].kind in ("verb", "auxiliary")
        ]
        if words:
            yield from _single_words(pair, iter([(sorted(words)[-1 if last else 0], verb.target_tense)]), target=True)


def _pronoun_gender(pair: AnnotatedPair) -> Iterator[Case]:
    """Label the French pronoun for "it" with its gender, in the same sentences as `_antecedent_gender`."""
    it = pair.annotations.coreference if pair.annotations else None
    if it and it.cue is not None and not it.same_gender:
        cue = pair.source_words[it.cue].text
        cases = _single_words(pair, iter([(it.target, it.gender)]), target=True)
        yield from (Case(case.words, case.label, cue) for case in cases)


TASKS = {
    "position": ProbeTask("source", lambda pair: _positions(pair.source_ids), token_row, annotated=False),
    "previous token": ProbeTask("source", lambda pair: _neighbours(pair.source_ids, -1), token_row, annotated=False),
    "next token": ProbeTask("source", lambda pair: _neighbours(pair.source_ids, 1), token_row, annotated=False),
    "word class": ProbeTask("source", _word_class, source_rows),
    "number": ProbeTask("source", _number, source_rows),
    "noun category": ProbeTask("source", _category, source_rows),
    "tense": ProbeTask("source", _tense, source_rows),
    "subject of verb": ProbeTask("source", _subject, source_rows),
    "gender of antecedent": ProbeTask("source", _antecedent_gender, source_rows, new_types=False),
    "sentiment": ProbeTask("source", _sentiment, source_rows, new_types=False),
    "position of the token read": ProbeTask(
        "target", lambda pair: _positions(pair.decoder_input_ids), token_row, annotated=False
    ),
    "token before the one read": ProbeTask(
        "target", lambda pair: _neighbours(pair.decoder_input_ids, -1), token_row, annotated=False
    ),
    "token to write": ProbeTask(
        "target", lambda pair: _neighbours(pair.decoder_input_ids, 1), token_row, annotated=False
    ),
    "class of the word read": ProbeTask("target", _target_class, read_row),
    "number of the noun read": ProbeTask("target", _target_number, read_row),
    "tense of the verb read": ProbeTask("target", lambda pair: _target_tense(pair, last=True), read_row),
    "class of the word to write": ProbeTask("target", _target_class, writing_row),
    "number of the noun to write": ProbeTask("target", _target_number, writing_row),
    "tense of the verb to write": ProbeTask("target", lambda pair: _target_tense(pair, last=False), writing_row),
    "gender of the pronoun to write": ProbeTask("target", _pronoun_gender, writing_row, new_types=False),
}
