"""The interface of a tokenizer that the other packages use."""

from collections.abc import Sequence
from typing import Protocol


class Tokenizer(Protocol):
    """A tokenizer converts texts to token ids and back. It neither adds nor expects BOS or EOS."""

    @property
    def generable(self) -> list[bool]:
        """For each row of the embedding matrix, whether the decoder may generate the token of that row."""

    @property
    def placeholders(self) -> tuple[str, ...]:
        """The characters that have a token which stands for a protected span; empty if there is none."""

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text."""

    def encode_masked(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of texts in which the characters of placeholders stand for the placeholders."""

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each list of token ids."""

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """Return the token of each id as a string."""
