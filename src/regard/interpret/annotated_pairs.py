"""What heads and layers are measured on: pairs of texts as the model reads them and, where it is known, the truth.

In the built-in language the grammar tells which words belong together; its words are found again among the pieces. A
piece that reaches over two words ("l'a" of "l'animal") counts for the one it has more of; a word may be left without.
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
from regard.tokenizers.word_spans import WordSpan, places_of, token_bytes, whitespace_words, words_among

SPLIT = "test"

SEED = 1


@dataclass(frozen=True)
class AnnotatedPair:
    """One pair: what the encoder reads, what the decoder writes, and which pieces each word has.

    With `truth`, `source_words` and `target_words` are those of the truth, by the same numbers; without, they end at
    white space.
    """

    source: str
    target: str
    source_ids: tuple[int, ...]  # closed by the end mark
    written_ids: tuple[int, ...]  # closed by the end mark
    source_words: tuple[WordSpan, ...]
    target_words: tuple[WordSpan, ...]
    annotations: Annotations | None = None

    @property
    def read_ids(self) -> tuple[int, ...]:
        """What the decoder has read before it writes each piece."""
        return (BOS, *self.written_ids[:-1])


@dataclass(frozen=True)
class PairSample:
    """The pairs of a measurement, and where they are from."""

    name: str
    pairs: tuple[AnnotatedPair, ...]

    def __len__(self) -> int:
        return len(self.pairs)


def synthetic_sample(tokenizer: SentencePieceTokenizer, count: int) -> PairSample:
    """Pairs of the built-in language that no training had."""
    pairs = islice(generator.pairs(SEED, SPLIT), count)
    return PairSample(
        f"pairs of the built-in language ({SPLIT} split, seed {SEED})",
        tuple(item_of(pair, tokenizer) for pair in pairs),
    )


def reversed_synthetic_sample(tokenizer: SentencePieceTokenizer, count: int) -> PairSample:
    """The same pairs from French to English; of what is known about them, the alignment is left."""
    pairs = islice(generator.pairs(SEED, SPLIT), count)
    return PairSample(
        f"pairs of the built-in language, turned round ({SPLIT} split, seed {SEED})",
        tuple(_turned(item_of(pair, tokenizer)) for pair in pairs),
    )


def _turned(item: AnnotatedPair) -> AnnotatedPair:
    assert item.annotations is not None
    truth = Annotations(
        item.annotations.kind,
        source=item.annotations.target,
        target=item.annotations.source,
        alignment=tuple((target, source) for source, target in item.annotations.alignment),
        verbs=(),
        adjectives=(),
        tense=None,
        sentiment=None,
        it=None,
    )
    return AnnotatedPair(
        item.target,
        item.source,
        source_ids=item.written_ids,
        written_ids=item.source_ids,
        source_words=item.target_words,
        target_words=item.source_words,
        annotations=truth,
    )


def files_sample(tokenizer: SentencePieceTokenizer, paths: Sequence[Path], count: int, longest: int) -> PairSample:
    """The first pairs of the user's files; what is blank or too long for the model is passed over."""
    pairs = ((pair.source, pair.target) for corpus in corpora(paths) for pair in Pairs(corpus).or_raise())
    return pairs_sample(
        tokenizer, pairs, count, longest, escape_control_characters(f"pairs of {', '.join(map(str, paths))}")
    )


def pairs_sample(
    tokenizer: SentencePieceTokenizer, pairs: Iterable[tuple[str, str]], count: int, longest: int, name: str
) -> PairSample:
    """The first pairs that are neither blank nor too long for the model."""
    items = (text_item(*pair, tokenizer) for pair in pairs if all(map(str.strip, pair)))
    fitting = (item for item in items if max(len(item.source_ids), len(item.written_ids)) <= longest)
    found = tuple(islice(fitting, count))
    if not found:
        raise DataError(f"{name}: there is none that this model could read (at most {longest} pieces)")
    return PairSample(name, found)


def check_languages(languages: tuple[str | None, str | None]) -> None:
    """Whether the built-in language is the one a model was made for, as far as is known."""
    source, target = languages
    if source not in (None, "en") or target not in (None, "fr"):
        raise LookError(
            f"this model translates from {source} to {target}, and the built-in language is English and French; "
            "give pairs of your own: regard measure heads --model MODEL test.tsv"
        )


def text_item(source: str, target: str, tokenizer: SentencePieceTokenizer) -> AnnotatedPair:
    """A pair of which nothing else is known."""
    read, written = tokenizer.encode([source, target])
    words = [Tokens.of(ids, tokenizer).words for ids in (read, written)]
    return AnnotatedPair(source, target, (*read, EOS), (*written, EOS), words[0], words[1])


def spaced_item(source: str, target: str, tokenizer: SentencePieceTokenizer) -> AnnotatedPair:
    """A pair whose words are what white space divides, as programs that exchange alignments count them."""
    item = text_item(source, target, tokenizer)
    words = [whitespace_words(ids[:-1], tokenizer) for ids in (item.source_ids, item.written_ids)]
    return replace(item, source_words=words[0], target_words=words[1])


def item_of(pair: synthetic.Pair, tokenizer: SentencePieceTokenizer) -> AnnotatedPair:
    """A pair of the built-in language with its truth."""
    truth = pair.truth
    read, written = tokenizer.encode([pair.source, pair.target])
    return AnnotatedPair(
        pair.source,
        pair.target,
        (*read, EOS),
        (*written, EOS),
        _words(pair.source, read, truth.source, tokenizer),
        _words(pair.target, written, truth.target, tokenizer),
        truth,
    )


def _words(
    text: str, ids: Sequence[int], words: Sequence[synthetic.WordAnnotation], tokenizer: SentencePieceTokenizer
) -> tuple[WordSpan, ...]:
    """The words of the truth with their pieces."""
    spans = [_span(text, word.start, word.start + len(word.text)) for word in words]
    each = token_bytes(ids, tokenizer)
    before = len(text.encode()) - sum(map(len, each))  # SentencePiece puts a space before the text
    return words_among([word.text for word in words], spans, places_of(each, before))


def _span(text: str, start: int, end: int) -> tuple[int, int]:
    return len(text[:start].encode()), len(text[:end].encode())


def measurement_sample(
    tokenizer: SentencePieceTokenizer,
    longest: int,
    languages: tuple[str | None, str | None],
    count: int,
    *,
    pairs: Iterable[tuple[str, str]] | None = None,
    files: Sequence[Path] = (),
) -> PairSample:
    """The pairs of a measurement: from files, as given, or else of the synthetic language."""
    if files:
        return files_sample(tokenizer, files, count, longest)
    if pairs is not None:
        return pairs_sample(tokenizer, pairs, count, longest, "pairs that were given")
    check_languages(languages)
    return synthetic_sample(tokenizer, count)
