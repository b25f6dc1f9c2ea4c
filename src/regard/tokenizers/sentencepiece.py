"""Text to pieces and back, without loss: SentencePiece with bytes for whatever has no piece of its own.

Ids: `<pad>` 0, `<unk>` 1, `<s>` 2, `</s>` 3, bytes 4-259, then pieces. `<unk>` keeps its place in the table but never
occurs. Decoding what was encoded returns every text unchanged, white space of all kinds included.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import sentencepiece

from regard.errors import DataError, FolderError
from regard.tokenizers.special_ids import BYTES, EOS, FIRST_SUBWORD

_MULTIPLE = 8

_MANY = 64

# SentencePiece writes a space as U+2581, so a U+2581 in the text would come back as a space. It travels as this
# private character and a 1, and the private character itself as itself and a 0.
_SPACE_SIGN = "\u2581"

_ESCAPE = "\uf8fe"

_ESCAPED = {_ESCAPE + "0": _ESCAPE, _ESCAPE + "1": _SPACE_SIGN}

_TO_ESCAPE = re.compile(f"[{_ESCAPE}{_SPACE_SIGN}]")

_TO_UNESCAPE = re.compile(f"{_ESCAPE}[01]")


class SentencePieceTokenizer:
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
        if not self._has_expected_ids():
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
    def embedding_rows(self) -> int:
        """Rows of the embedding: the ids, rounded up to a multiple of 8, which hardware multiplies faster."""
        return -(-self.size // _MULTIPLE) * _MULTIPLE

    @property
    def generable(self) -> list[bool]:
        """For every row, whether a decoder may write it."""
        return [identity >= EOS and identity < self.size for identity in range(self.embedding_rows)]

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

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """The pieces as people read them: U+2581 marks a space, `<0xE2>` a byte."""
        return [self._pieces[identity] for identity in ids]

    def _has_expected_ids(self) -> bool:
        expected = ["<pad>", "<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(BYTES))]
        return self.size > FIRST_SUBWORD and self.tokens(range(FIRST_SUBWORD)) == expected


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
