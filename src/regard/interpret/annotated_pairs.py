"""The sentence pairs that heads and layers are measured on, with the tokens of each word.

Pairs of the synthetic language also have annotations, which say for example which noun is the subject of a verb. A
token that contains parts of two words ("l'a" in "l'animal") belongs to the word with which it shares more bytes, so a
word may have no token.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from regard.data import synthetic
from regard.data.formats.corpus import corpora
from regard.data.formats.pairs import Pairs
from regard.data.synthetic import Annotations, generator
from regard.errors import DataError, LookError
from regard.interpret.tokens import Tokens
from regard.render.text import escape_control_characters
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import BOS, EOS
from regard.tokenizers.word_spans import WordSpan, assign_tokens, byte_spans, token_bytes, whitespace_words

SPLIT = "test"

SEED = 1


@dataclass(frozen=True)
class AnnotatedPair:
    """A sentence pair with its token ids and the tokens of each word.

    If the pair has `annotations`, `source_words` and `target_words` hold the words of `annotations.source` and
    `annotations.target`, in the same order.
    """

    source: str
    target: str
    source_ids: tuple[int, ...]  # ends with EOS
    target_ids: tuple[int, ...]  # ends with EOS
    source_words: tuple[WordSpan, ...]
    target_words: tuple[WordSpan, ...]
    annotations: Annotations | None = None

    @property
    def decoder_input_ids(self) -> tuple[int, ...]:
        """The target tokens shifted right: BOS, then every target token except the last."""
        return (BOS, *self.target_ids[:-1])


@dataclass(frozen=True)
class PairSample:
    """The sentence pairs that a measurement uses, and a description of where they come from."""

    name: str
    pairs: tuple[AnnotatedPair, ...]
    is_reversed: bool = False  # whether these are pairs of the synthetic language from French to English

    def __len__(self) -> int:
        return len(self.pairs)


def synthetic_sample(tokenizer: SentencePieceTokenizer, count: int) -> PairSample:
    """Return pairs of the synthetic language from the test split, which is not used for training."""
    pairs = islice(generator.pairs(SEED, SPLIT), count)
    return PairSample(
        f"pairs of the synthetic language ({SPLIT} split, seed {SEED})",
        tuple(annotated_pair(pair, tokenizer) for pair in pairs),
    )


def reversed_synthetic_sample(tokenizer: SentencePieceTokenizer, count: int) -> PairSample:
    """Return the pairs of `synthetic_sample` from French to English, annotated only with words and alignment."""
    pairs = islice(generator.pairs(SEED, SPLIT), count)
    return PairSample(
        f"pairs of the synthetic language, reversed ({SPLIT} split, seed {SEED})",
        tuple(_reversed(annotated_pair(pair, tokenizer)) for pair in pairs),
        is_reversed=True,
    )


def _reversed(pair: AnnotatedPair) -> AnnotatedPair:
    assert pair.annotations is not None
    annotations = Annotations(
        pair.annotations.kind,
        source=pair.annotations.target,
        target=pair.annotations.source,
        alignment=tuple((target, source) for source, target in pair.annotations.alignment),
        verbs=(),
        adjectives=(),
        tense=None,
        sentiment=None,
        coreference=None,
    )
    return AnnotatedPair(
        pair.target,
        pair.source,
        source_ids=pair.target_ids,
        target_ids=pair.source_ids,
        source_words=pair.target_words,
        target_words=pair.source_words,
        annotations=annotations,
    )


def files_sample(
    tokenizer: SentencePieceTokenizer, paths: Sequence[Path], count: int, max_positions: int
) -> PairSample:
    """Read pairs from the files; return the first `count` that are neither blank nor too long for the model."""
    pairs = ((pair.source, pair.target) for corpus in corpora(paths) for pair in Pairs(corpus).or_raise())
    name = escape_control_characters(f"pairs of {', '.join(map(str, paths))}")
    return pairs_sample(tokenizer, pairs, count, max_positions, name)


def pairs_sample(
    tokenizer: SentencePieceTokenizer, pairs: Iterable[tuple[str, str]], count: int, max_positions: int, name: str
) -> PairSample:
    """Return the first `count` pairs that are neither blank nor too long for the model."""
    candidates = (unannotated_pair(*pair, tokenizer) for pair in pairs if all(map(str.strip, pair)))
    usable = (pair for pair in candidates if max(len(pair.source_ids), len(pair.target_ids)) <= max_positions)
    chosen = tuple(islice(usable, count))
    if not chosen:
        raise DataError(
            f"{name}: none can be used; both sides of a pair must have text and at most {max_positions} tokens"
        )
    return PairSample(name, chosen)


def check_languages(languages: tuple[str | None, str | None], measured: str | None = None) -> None:
    """Raise an error unless the model translates from English to French. Unknown languages are accepted.

    `measured` is what is measured, if it can be measured on the synthetic language only.
    """
    source, target = languages
    if source in (None, "en") and target in (None, "fr"):
        return
    reason = "the synthetic language is English to French; measure on your own pairs: give files, such as test.tsv"
    if measured is not None:
        reason = f"{measured} are measured for English to French only, on the synthetic language"
    raise LookError(f"this model translates from {source} to {target}, but {reason}")


def unannotated_pair(source: str, target: str, tokenizer: SentencePieceTokenizer) -> AnnotatedPair:
    """Return a pair without annotations, divided into words by `Tokens`."""
    source_ids, target_ids = tokenizer.encode([source, target])
    source_words, target_words = (Tokens.from_ids(ids, tokenizer).words for ids in (source_ids, target_ids))
    return AnnotatedPair(source, target, (*source_ids, EOS), (*target_ids, EOS), source_words, target_words)


def whitespace_pair(source: str, target: str, tokenizer: SentencePieceTokenizer) -> AnnotatedPair:
    """Return a pair without annotations, divided into words at white space, as alignment formats require."""
    pair = unannotated_pair(source, target, tokenizer)
    source_words, target_words = (whitespace_words(ids[:-1], tokenizer) for ids in (pair.source_ids, pair.target_ids))
    return replace(pair, source_words=source_words, target_words=target_words)


def annotated_pair(pair: synthetic.Pair, tokenizer: SentencePieceTokenizer) -> AnnotatedPair:
    """Return a pair of the synthetic language with its annotations."""
    annotations = pair.annotations
    source_ids, target_ids = tokenizer.encode([pair.source, pair.target])
    return AnnotatedPair(
        pair.source,
        pair.target,
        (*source_ids, EOS),
        (*target_ids, EOS),
        _word_spans(pair.source, source_ids, annotations.source, tokenizer),
        _word_spans(pair.target, target_ids, annotations.target, tokenizer),
        annotations,
    )


def _word_spans(
    text: str, ids: Sequence[int], words: Sequence[synthetic.WordAnnotation], tokenizer: SentencePieceTokenizer
) -> tuple[WordSpan, ...]:
    """Return each annotated word with the range of its tokens."""
    spans = [_byte_span(text, word.start, word.start + len(word.text)) for word in words]
    each = token_bytes(ids, tokenizer)
    # `before` is the byte at which the first token begins. It is usually -1, because SentencePiece adds a space before
    # the text.
    before = len(text.encode()) - sum(map(len, each))
    return assign_tokens([word.text for word in words], spans, byte_spans(each, before))


def _byte_span(text: str, start: int, end: int) -> tuple[int, int]:
    return len(text[:start].encode()), len(text[:end].encode())


def measurement_sample(
    tokenizer: SentencePieceTokenizer,
    max_positions: int,
    languages: tuple[str | None, str | None],
    count: int,
    *,
    pairs: Iterable[tuple[str, str]] | None = None,
    files: Sequence[Path] = (),
) -> PairSample:
    """Return pairs from `files` or, without files, from `pairs`; with neither, pairs of the synthetic language."""
    if files:
        return files_sample(tokenizer, files, count, max_positions)
    if pairs is not None:
        return pairs_sample(tokenizer, pairs, count, max_positions, "given pairs")
    check_languages(languages)
    return synthetic_sample(tokenizer, count)
