"""A lossless SentencePiece tokenizer, which encodes characters outside its vocabulary as bytes.

Ids: `<pad>` 0, `<unk>` 1, `<s>` 2, `</s>` 3, bytes 4-259, then subwords. `<unk>` has an id but never occurs. A text
that is encoded and then decoded is unchanged, including all of its white space.

The last tokens of a vocabulary may be placeholders, which stand for spans that must not be translated. Only
`encode_masked` gives their ids: in ordinary text, their characters are escaped.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import sentencepiece

from regard.errors import DataError, FolderError
from regard.tokenizers.placeholders import ALL_PLACEHOLDERS, FIRST_PLACEHOLDER, PLACEHOLDERS
from regard.tokenizers.special_ids import BYTES, EOS, FIRST_SUBWORD

ROW_MULTIPLE = 8  # the number of rows of the embedding matrix is a multiple of this, which makes products faster

_MANY_TEXTS = 64

# SentencePiece represents a space as U+2581, so a U+2581 in the text would be decoded as a space. Before encoding, each
# U+2581 is therefore replaced by `_ESCAPE`, a private-use character, followed by 1. An `_ESCAPE` that is already in the
# text is replaced by `_ESCAPE` followed by 0. If the vocabulary has placeholders, the character of a placeholder in the
# text is replaced by `_ESCAPE` followed by a letter.
_SPACE_SIGN = "\u2581"

_ESCAPE = "\uf8fe"

_FIRST_LETTER = "A"

_TO_ESCAPE = re.compile(f"[{_ESCAPE}{_SPACE_SIGN}]")

_TO_ESCAPE_WITH_PLACEHOLDERS = re.compile(f"[{_ESCAPE}{_SPACE_SIGN}{ALL_PLACEHOLDERS}]")

_TO_UNESCAPE = re.compile(f"{_ESCAPE}([01])")

_TO_UNESCAPE_WITH_PLACEHOLDERS = re.compile(f"{_ESCAPE}([01A-Z])")


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
        self.placeholders = _placeholders_at_end(data)
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
        return self._encode([_utf8(text, with_placeholders=bool(self.placeholders)) for text in texts])

    def encode_masked(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of texts in which the characters of placeholders stand for the placeholders."""
        return self._encode([_utf8(text) for text in texts])

    def _encode(self, escaped: list[bytes]) -> list[list[int]]:
        # Given a list, SentencePiece starts threads, which takes longer than encoding a few sentences.
        if len(escaped) < _MANY_TEXTS:
            return [self._model.encode(text) for text in escaped]
        encoded: list[list[int]] = self._model.encode(escaped)
        return encoded

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each list of token ids. Bytes that do not form valid UTF-8 become U+FFFD."""
        plain = [list(map(int, text_ids)) for text_ids in ids]
        many = len(ids) >= _MANY_TEXTS
        texts = self._model.decode(plain) if many else [self._model.decode(text_ids) for text_ids in plain]
        pattern = _TO_UNESCAPE_WITH_PLACEHOLDERS if self.placeholders else _TO_UNESCAPE
        return [pattern.sub(_unescape, text) for text in texts]

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """Return the token of each id as a string: U+2581 stands for a space, `<0xE2>` for a byte."""
        return [self._tokens[token_id] for token_id in ids]

    def _has_expected_ids(self) -> bool:
        expected = ["<pad>", "<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(BYTES))]
        return self.size > FIRST_SUBWORD and self.tokens(range(FIRST_SUBWORD)) == expected


def placeholder_entries(count: int) -> bytes:
    """Return the first placeholders as tokens that can be appended to the file of a vocabulary.

    SentencePiece never divides these tokens. Its own option, `user_defined_symbols`, would move the ids of the bytes.
    """
    return b"".join(map(_placeholder_entry, PLACEHOLDERS[:count]))


def _placeholder_entry(character: str) -> bytes:
    # A protocol buffer: field 1 of the token is its text, 2 its score (0.0), 3 its type (4: defined by the user).
    text = character.encode()
    token = b"\x0a" + bytes([len(text)]) + text + b"\x15\0\0\0\0" + b"\x18\x04"
    return b"\x0a" + bytes([len(token)]) + token


def _placeholders_at_end(data: bytes) -> tuple[str, ...]:
    """Return the placeholders with which a vocabulary ends."""
    counts = range(len(PLACEHOLDERS), 0, -1)
    return PLACEHOLDERS[: next((count for count in counts if data.endswith(placeholder_entries(count))), 0)]


def _utf8(text: str, *, with_placeholders: bool = False) -> bytes:
    try:
        return escape(text, with_placeholders=with_placeholders).encode()
    except UnicodeEncodeError as error:
        # A lone surrogate in a string comes from an invalid byte in a command line, or from broken JSON.
        surrogate = error.object[error.start]
        raise DataError(
            f"character {text.index(surrogate) + 1} of the text (U+{ord(surrogate):04X}) is half of a surrogate pair, "
            f"not a character; send the text as UTF-8; the text is {text[:60]!a}"
        ) from error


def escape(text: str, *, with_placeholders: bool = False) -> str:
    """Replace the characters that would be changed by encoding and decoding with SentencePiece."""
    return (_TO_ESCAPE_WITH_PLACEHOLDERS if with_placeholders else _TO_ESCAPE).sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    if character in (_ESCAPE, _SPACE_SIGN):
        return _ESCAPE + "01"[character == _SPACE_SIGN]
    return _ESCAPE + chr(ord(_FIRST_LETTER) + ord(character) - FIRST_PLACEHOLDER)


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if code in "01":
        return _SPACE_SIGN if code == "1" else _ESCAPE
    return chr(FIRST_PLACEHOLDER + ord(code) - ord(_FIRST_LETTER))
