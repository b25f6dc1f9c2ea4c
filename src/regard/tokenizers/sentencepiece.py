"""Text to pieces and back, without loss: SentencePiece with bytes for whatever has no piece of its own.

Ids: `<pad>` 0, `<unk>` 1, `<s>` 2, `</s>` 3, bytes 4-259, then pieces. `<unk>` keeps its place in the table but never
occurs. Decoding what was encoded returns every text unchanged, white space of all kinds included.
"""

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import isqrt
from pathlib import Path
from typing import Literal, Self

import sentencepiece

from regard.errors import DataError, FolderError

PAD, UNK, START, END = 0, 1, 2, 3
BYTES = 256
FIRST_PIECE = END + 1 + BYTES

SMALLEST, LARGEST = 500, 37_000  # The paper shares 37,000 pieces between English and German (section 5.1).
_MULTIPLE = 8
_SHARE_OF_TEXT_IN_ALPHABET = 0.9995
_LONGEST_SENTENCE = 10_000  # in training, which ends the process at a word beyond 65,535
_MANY = 64

# SentencePiece writes a space as U+2581, so a U+2581 in the text would come back as a space. It travels as this
# private character and a 1, and the private character itself as itself and a 0.
_SPACE_SIGN = "\u2581"
_ESCAPE = "\uf8fe"
_ESCAPED = {_ESCAPE + "0": _ESCAPE, _ESCAPE + "1": _SPACE_SIGN}
_TO_ESCAPE = re.compile(f"[{_ESCAPE}{_SPACE_SIGN}]")
_TO_UNESCAPE = re.compile(f"{_ESCAPE}[01]")

# SentencePiece keeps this character for itself and passes over every training sentence that has it.
_RESERVED_IN_TRAINING = "\u2585"
# It leaves this one out of the alphabet, and lets no piece reach across it.
_GAP = "\0"


class Tokenizer:
    """Texts to lists of ids and back. Neither START nor END is added or expected."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        try:
            self._model = sentencepiece.SentencePieceProcessor(model_proto=data)
            self.size: int = self._model.get_piece_size()
            # A piece that is not UTF-8 shows here.
            self._pieces: list[str] = self._model.id_to_piece(list(range(self.size)))
        except (RuntimeError, TypeError, ValueError) as error:
            raise FolderError("the tokenizer is not a SentencePiece model; train or copy the model again") from error
        if not self._has_our_ids():
            raise FolderError(
                "the tokenizer is a SentencePiece model of another program (Regard's begins with <pad> <unk> <s> "
                "</s> and 256 bytes); use the one that was written with the model"
            )

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a `tokenizer.model`."""
        try:
            return cls(path.read_bytes())
        except OSError as error:
            raise FolderError(f"{path}: cannot be read ({error.strerror}); copy the model folder again") from error
        except FolderError as error:
            raise FolderError(f"{path}: {error}") from error

    @property
    def rows(self) -> int:
        """Rows of the embedding: the ids, rounded up to a multiple of 8, which hardware multiplies faster."""
        return -(-self.size // _MULTIPLE) * _MULTIPLE

    @property
    def writable(self) -> list[bool]:
        """For every row, whether a decoder may write it."""
        return [identity >= END and identity < self.size for identity in range(self.rows)]

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of every text."""
        escaped = [_utf8(text) for text in texts]
        # SentencePiece starts threads for a list, which costs more than a few sentences take.
        if len(texts) < _MANY:
            return [self._model.encode(text) for text in escaped]
        encoded: list[list[int]] = self._model.encode(escaped)
        return encoded

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """The text of every list of ids. Bytes that are not UTF-8 together become U+FFFD."""
        plain = [list(map(int, one)) for one in ids]
        texts = [self._model.decode(one) for one in plain] if len(ids) < _MANY else self._model.decode(plain)
        return [_unescape(text) for text in texts]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The pieces as people read them: U+2581 marks a space, `<0xE2>` a byte."""
        return [self._pieces[identity] for identity in ids]

    def _has_our_ids(self) -> bool:
        expected = ["<pad>", "<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(BYTES))]
        return self.size > FIRST_PIECE and self.pieces(range(FIRST_PIECE)) == expected


def choose_size(words: int) -> int:
    """How many pieces suit a corpus of so many words, both sides counted together."""
    wanted = min(max(10 * isqrt(words), SMALLEST), LARGEST)
    return -(-wanted // _MULTIPLE) * _MULTIPLE


def train_tokenizer(sentences: Iterator[str], *, kind: Literal["unigram", "bpe"], pieces: int) -> bytes:
    """Find at most `pieces` ids for these sentences, which are held in memory. The same input gives the same bytes."""
    sample = list(_trainable(sentences))
    sample = _reduce_alphabet(sample, most=(pieces - FIRST_PIECE) // 2)
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sample or [" "]),
        model_writer=written,
        model_type=kind,
        vocab_size=pieces,
        hard_vocab_limit=False,
        pad_id=PAD,
        unk_id=UNK,
        bos_id=START,
        eos_id=END,
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        character_coverage=1.0,  # _reduce_alphabet has chosen
        max_sentence_length=4 * _LONGEST_SENTENCE + 1,
        num_threads=16,  # a fixed number: sums of floats depend on how the work is split
        minloglevel=2,
    )
    return written.getvalue()


def _trainable(sentences: Iterable[str]) -> Iterator[str]:
    for sentence in sentences:
        if sentence and not sentence.isspace():
            yield _escape(sentence[:_LONGEST_SENTENCE]).replace(_RESERVED_IN_TRAINING, _GAP)


def _reduce_alphabet(sample: list[str], *, most: int) -> list[str]:
    """Put a gap for characters too rare to deserve a piece; their bytes will do.

    The alphabet covers all but 0.05 % of the text, and takes at most half of the pieces. SentencePiece has an option
    for the first, but refuses an alphabet larger than the vocabulary: Chinese in 500 pieces.
    """
    counts: Counter[str] = Counter()
    for sentence in sample:
        counts.update(sentence)
    del counts[" "]
    ranked = sorted(counts, key=lambda character: (-counts[character], character))
    total, covered, kept = counts.total(), 0, 0
    while kept < min(len(ranked), most) and covered < _SHARE_OF_TEXT_IN_ALPHABET * total:
        covered += counts[ranked[kept]]
        kept += 1
    if kept == len(ranked):
        return sample
    rare = re.compile("[" + "".join(map(re.escape, ranked[kept:])) + "]")
    return [rare.sub(_GAP, sentence) for sentence in sample]


def _utf8(text: str) -> bytes:
    try:
        return _escape(text).encode()
    except UnicodeEncodeError as error:
        # It comes from a bad byte in a command, or from broken JSON.
        half = error.object[error.start]
        raise DataError(
            f"character {text.index(half) + 1} of the text (U+{ord(half):04X}) is half of a surrogate pair and no "
            f"character of its own; send the text as UTF-8; it is {text[:60]!a}"
        ) from error


def _escape(text: str) -> str:
    return _TO_ESCAPE.sub(lambda found: _ESCAPE + "01"[found[0] == _SPACE_SIGN], text)


def _unescape(text: str) -> str:
    return _TO_UNESCAPE.sub(lambda found: _ESCAPED[found[0]], text)
