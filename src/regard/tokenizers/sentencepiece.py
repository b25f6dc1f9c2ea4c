"""A lossless SentencePiece tokenizer, which encodes characters outside its vocabulary as bytes.

Ids: `<pad>` 0, `<unk>` 1, `<s>` 2, `</s>` 3, bytes 4-259, then subwords. `<unk>` has an id but never occurs. A text
that is encoded and then decoded is unchanged, including all of its white space.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import sentencepiece

from regard.errors import DataError, FolderError
from regard.tokenizers.special_ids import BYTES, EOS, FIRST_SUBWORD

ROW_MULTIPLE = 8  # the number of rows of the embedding matrix is a multiple of this, which makes products faster

_MANY_TEXTS = 64

# SentencePiece represents a space as U+2581, so a U+2581 in the text would be decoded as a space. Before encoding, each
# U+2581 is therefore replaced by `_ESCAPE`, a private-use character, followed by 1. An `_ESCAPE` that is already in the
# text is replaced by `_ESCAPE` followed by 0.
_SPACE_SIGN = "\u2581"

_ESCAPE = "\uf8fe"

_ESCAPED = {_ESCAPE + "0": _ESCAPE, _ESCAPE + "1": _SPACE_SIGN}

_TO_ESCAPE = re.compile(f"[{_ESCAPE}{_SPACE_SIGN}]")

_TO_UNESCAPE = re.compile(f"{_ESCAPE}[01]")


class SentencePieceTokenizer:
    """A SentencePiece tokenizer with the ids that Regard uses for special tokens and bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        try:
            self._model = sentencepiece.SentencePieceProcessor(model_proto=data)
            self.size: int = self._model.get_piece_size()
            # This raises an exception if a token is not valid UTF-8.
            self._tokens: list[str] = self._model.id_to_piece(list(range(self.size)))
        except (RuntimeError, TypeError, ValueError) as error:
            raise FolderError(
                "the tokenizer is not a SentencePiece model; copy the model again, or train it again"
            ) from error
        if not self._has_expected_ids():
            raise FolderError(
                "the tokenizer is a SentencePiece model of another program (Regard's starts with <pad> <unk> <s> "
                "</s> and 256 bytes); use the tokenizer that was saved with the model"
            )

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a `tokenizer.model` file."""
        try:
            return cls(path.read_bytes())
        except OSError as error:
            raise FolderError(f"{path}: cannot be read ({error.strerror}); copy the model folder again") from error
        except FolderError as error:
            raise FolderError(f"{path}: {error}") from error

    @property
    def embedding_rows(self) -> int:
        """The number of rows of the embedding matrix: the number of token ids, rounded up to a multiple of 8."""
        return -(-self.size // ROW_MULTIPLE) * ROW_MULTIPLE

    @property
    def generable(self) -> list[bool]:
        """For each row of the embedding matrix, whether the decoder may generate the token of that row."""
        return [EOS <= token_id < self.size for token_id in range(self.embedding_rows)]

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text."""
        escaped = [_utf8(text) for text in texts]
        # Given a list, SentencePiece starts threads, which takes longer than encoding a few sentences.
        if len(texts) < _MANY_TEXTS:
            return [self._model.encode(text) for text in escaped]
        encoded: list[list[int]] = self._model.encode(escaped)
        return encoded

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each list of token ids. Bytes that do not form valid UTF-8 become U+FFFD."""
        plain = [list(map(int, text_ids)) for text_ids in ids]
        many = len(ids) >= _MANY_TEXTS
        texts = self._model.decode(plain) if many else [self._model.decode(text_ids) for text_ids in plain]
        return [_unescape(text) for text in texts]

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """Return the token of each id as a string: U+2581 stands for a space, `<0xE2>` for a byte."""
        return [self._tokens[token_id] for token_id in ids]

    def _has_expected_ids(self) -> bool:
        expected = ["<pad>", "<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(BYTES))]
        return self.size > FIRST_SUBWORD and self.tokens(range(FIRST_SUBWORD)) == expected


def _utf8(text: str) -> bytes:
    try:
        return escape(text).encode()
    except UnicodeEncodeError as error:
        # A lone surrogate in a string comes from an invalid byte in a command line, or from broken JSON.
        surrogate = error.object[error.start]
        raise DataError(
            f"character {text.index(surrogate) + 1} of the text (U+{ord(surrogate):04X}) is half of a surrogate pair, "
            f"not a character; send the text as UTF-8; the text is {text[:60]!a}"
        ) from error


def escape(text: str) -> str:
    """Replace the characters that would be changed by encoding and decoding with SentencePiece."""
    return _TO_ESCAPE.sub(lambda match: _ESCAPE + "01"[match[0] == _SPACE_SIGN], text)


def _unescape(text: str) -> str:
    return _TO_UNESCAPE.sub(lambda match: _ESCAPED[match[0]], text)
