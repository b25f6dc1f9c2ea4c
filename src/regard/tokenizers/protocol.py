"""The interface of a tokenizer that the other packages use."""

from collections.abc import Sequence
from typing import Protocol


class Tokenizer(Protocol):
    """A tokenizer converts texts to token ids and back. It neither adds nor expects BOS or EOS."""

    @property
    def generable(self) -> list[bool]:
        """For each row of the embedding matrix, whether the decoder may generate the token of that row."""

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text."""

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each list of token ids."""

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """Return the token of each id as a string."""
