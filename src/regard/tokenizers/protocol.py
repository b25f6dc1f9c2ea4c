"""What the other packages require of a tokenizer."""

from collections.abc import Sequence
from typing import Protocol


class TextTokenizer(Protocol):
    """What is needed of `regard.tokenizers.sentencepiece.Tokenizer`."""

    def encode(self, texts: Sequence[str]) -> list[list[int]]: ...

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]: ...

    def tokens(self, ids: Sequence[int]) -> list[str]: ...


class NamingTokenizer(Protocol):
    """What is needed of a tokenizer."""

    def tokens(self, ids: Sequence[int]) -> list[str]: ...


class WritingTokenizer(TextTokenizer, Protocol):
    """A tokenizer that also says which rows of the vocabulary may be written."""

    @property
    def generable(self) -> list[bool]: ...


class Reader(Protocol):
    """What is needed of a tokenizer."""

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]: ...

    def tokens(self, ids: Sequence[int]) -> list[str]: ...
