"""What heads and layers are measured on: pairs of texts as the model reads them and, where it is known, the truth.

In the built-in language the grammar tells which words belong together; its words are found again among the pieces. A
piece that reaches over two words ("l'a" of "l'animal") counts for the one it has more of; a word may be left without.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from regard.data import language
from regard.data.language import Truth
from regard.data.pairs import Pairs, corpora
from regard.data.tokenizer import END, START, Tokenizer
from regard.decoding.linking import Word, piece_bytes, places_of, spaced_words, words_among
from regard.errors import DataError, LookError
from regard.inside.words import Tokens, visible

SPLIT = "test"
SEED = 1


@dataclass(frozen=True)
class Item:
    """One pair: what the encoder reads, what the decoder writes, and which pieces each word has.

    With `truth`, `source_words` and `target_words` are those of the truth, by the same numbers; without, they end at
    white space.
    """

    source: str
    target: str
    source_ids: tuple[int, ...]  # closed by the end mark
    written_ids: tuple[int, ...]  # closed by the end mark
    source_words: tuple[Word, ...]
    target_words: tuple[Word, ...]
    truth: Truth | None = None

    @property
    def read_ids(self) -> tuple[int, ...]:
        """What the decoder has read before it writes each piece."""
        return (START, *self.written_ids[:-1])


@dataclass(frozen=True)
class Sample:
    """The pairs of a measurement, and where they are from."""

    name: str
    items: tuple[Item, ...]

    def __len__(self) -> int:
        return len(self.items)


def language_sample(tokenizer: Tokenizer, count: int) -> Sample:
    """Pairs of the built-in language that no training had."""
    pairs = islice(language.pairs(SEED, SPLIT), count)
    return Sample(
        f"pairs of the built-in language ({SPLIT} split, seed {SEED})",
        tuple(item_of(pair, tokenizer) for pair in pairs),
    )


def turned_sample(tokenizer: Tokenizer, count: int) -> Sample:
    """The same pairs from French to English; of what is known about them, the alignment is left."""
    pairs = islice(language.pairs(SEED, SPLIT), count)
    return Sample(
        f"pairs of the built-in language, turned round ({SPLIT} split, seed {SEED})",
        tuple(_turned(item_of(pair, tokenizer)) for pair in pairs),
    )


def _turned(item: Item) -> Item:
    assert item.truth is not None
    truth = Truth(
        item.truth.kind,
        source=item.truth.target,
        target=item.truth.source,
        alignment=tuple((target, source) for source, target in item.truth.alignment),
        verbs=(),
        adjectives=(),
        tense=None,
        sentiment=None,
        it=None,
    )
    return Item(
        item.target,
        item.source,
        source_ids=item.written_ids,
        written_ids=item.source_ids,
        source_words=item.target_words,
        target_words=item.source_words,
        truth=truth,
    )


def files_sample(tokenizer: Tokenizer, paths: Sequence[Path], count: int, longest: int) -> Sample:
    """The first pairs of the user's files; what is blank or too long for the model is passed over."""
    pairs = ((pair.source, pair.target) for corpus in corpora(paths) for pair in Pairs(corpus).strictly())
    return pairs_sample(tokenizer, pairs, count, longest, visible(f"pairs of {', '.join(map(str, paths))}"))


def pairs_sample(tokenizer: Tokenizer, pairs: Iterable[tuple[str, str]], count: int, longest: int, name: str) -> Sample:
    """The first pairs that are neither blank nor too long for the model."""
    items = (text_item(*pair, tokenizer) for pair in pairs if all(map(str.strip, pair)))
    fitting = (item for item in items if max(len(item.source_ids), len(item.written_ids)) <= longest)
    found = tuple(islice(fitting, count))
    if not found:
        raise DataError(f"{name}: there is none that this model could read (at most {longest} pieces)")
    return Sample(name, found)


def check_languages(languages: tuple[str | None, str | None]) -> None:
    """Whether the built-in language is the one a model was made for, as far as is known."""
    source, target = languages
    if source not in (None, "en") or target not in (None, "fr"):
        raise LookError(
            f"this model translates from {source} to {target}, and the built-in language is English and French; "
            "give pairs of your own: regard measure heads --model MODEL test.tsv"
        )


def text_item(source: str, target: str, tokenizer: Tokenizer) -> Item:
    """A pair of which nothing else is known."""
    read, written = tokenizer.encode([source, target])
    words = [Tokens.of(ids, tokenizer).words for ids in (read, written)]
    return Item(source, target, (*read, END), (*written, END), words[0], words[1])


def spaced_item(source: str, target: str, tokenizer: Tokenizer) -> Item:
    """A pair whose words are what white space divides, as programs that exchange alignments count them."""
    item = text_item(source, target, tokenizer)
    words = [spaced_words(ids[:-1], tokenizer) for ids in (item.source_ids, item.written_ids)]
    return replace(item, source_words=words[0], target_words=words[1])


def item_of(pair: language.Pair, tokenizer: Tokenizer) -> Item:
    """A pair of the built-in language with its truth."""
    truth = pair.truth
    read, written = tokenizer.encode([pair.source, pair.target])
    return Item(
        pair.source,
        pair.target,
        (*read, END),
        (*written, END),
        _words(pair.source, read, truth.source, tokenizer),
        _words(pair.target, written, truth.target, tokenizer),
        truth,
    )


def _words(text: str, ids: Sequence[int], words: Sequence[language.Word], tokenizer: Tokenizer) -> tuple[Word, ...]:
    """The words of the truth with their pieces."""
    spans = [_span(text, word.start, word.start + len(word.text)) for word in words]
    each = piece_bytes(ids, tokenizer)
    before = len(text.encode()) - sum(map(len, each))  # SentencePiece puts a space before the text
    return words_among([word.text for word in words], spans, places_of(each, before))


def _span(text: str, start: int, end: int) -> tuple[int, int]:
    return len(text[:start].encode()), len(text[:end].encode())
