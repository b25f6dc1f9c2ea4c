"""What heads and layers are measured on: pairs of texts as the model reads them and, where it is known, the truth.

In the built-in language the grammar tells which words belong together; its words are found again among the pieces. A
piece that reaches over two words ("l'a" of "l'animal") counts for the one it has more of; a word may be left without.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from regard.data import language
from regard.data.language import Truth
from regard.data.pairs import Pairs, corpora
from regard.data.tokenizer import END, FIRST_PIECE, START, Tokenizer
from regard.errors import DataError, LookError
from regard.inside.words import Tokens, Word

SPLIT = "test"
_SPACED = re.compile(r"\S+")
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
    pairs = (pair for corpus in corpora(paths) for pair in Pairs(corpus).strictly())
    items = (text_item(pair.source, pair.target, tokenizer) for pair in pairs if min(map(str.strip, pair[:2])))
    fitting = (item for item in items if max(len(item.source_ids), len(item.written_ids)) <= longest)
    found = tuple(islice(fitting, count))
    name = ", ".join(str(path) for path in paths)
    if not found:
        raise DataError(f"{name}: there is no pair that this model could read (at most {longest} pieces)")
    return Sample(f"pairs of {name}", found)


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
    sides = ((source, item.source_ids[:-1]), (target, item.written_ids[:-1]))
    words = [
        words_among(text, ids, [language.Word(one[0], one.start(), "") for one in _SPACED.finditer(text)], tokenizer)
        for text, ids in sides
    ]
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
        words_among(pair.source, read, truth.source, tokenizer),
        words_among(pair.target, written, truth.target, tokenizer),
        truth,
    )


def words_among(
    text: str, ids: Sequence[int], words: Iterable[language.Word], tokenizer: Tokenizer
) -> tuple[Word, ...]:
    """Each word with its pieces; one whose pieces are all others' has none: it ends where it begins."""
    known = [(word.text, *_bytes(text, word.start, word.start + len(word.text))) for word in words]
    owners = [_owner(start, end, known) for start, end in _places(text, ids, tokenizer)]
    found = []
    for number, (name, _, _) in enumerate(known):
        begin = next((at for at, owner in enumerate(owners) if owner is not None and owner >= number), len(ids))
        mine = [at for at, owner in enumerate(owners) if owner == number]
        found.append(Word(name, mine[0], mine[-1] + 1) if mine else Word(name, begin, begin))
    return tuple(found)


def _bytes(text: str, start: int, end: int) -> tuple[int, int]:
    return len(text[:start].encode()), len(text[:end].encode())


def _places(text: str, ids: Sequence[int], tokenizer: Tokenizer) -> list[tuple[int, int]]:
    """From which byte of the text to which each piece reaches."""
    sizes = [
        1 if identity < FIRST_PIECE else len(piece.replace("\u2581", " ").encode())
        for identity, piece in zip(ids, tokenizer.pieces(ids), strict=True)
    ]
    at = len(text.encode()) - sum(sizes)  # SentencePiece puts a space before the text
    places = []
    for size in sizes:
        places.append((at, at + size))
        at += size
    return places


def _owner(start: int, end: int, words: Sequence[tuple[str, int, int]]) -> int | None:
    """The word a piece has most bytes of."""
    most, owner = 0, None
    for number, (_, begin, stop) in enumerate(words):
        common = min(end, stop) - max(start, begin)
        if common > most:
            most, owner = common, number
    return owner
