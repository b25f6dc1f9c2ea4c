"""The face all sequence models share. Search, training and evaluation know it, not the class behind it.

What `encode` and `start` return is the model's own business; a state also has `select` and `keep` (see search).
Shapes: B sentences, N rows (B times the beams), S source length, T target length, D width, V vocabulary.
"""

from collections.abc import Iterator
from typing import Any, Protocol, Self

from torch import Tensor, nn


class SequenceModel(Protocol):
    """Reads a source, then writes a target piece by piece."""

    training: bool
    vocab_size: int

    def encode(self, source_BS: Tensor) -> Any:
        """Read the source: ids, padded."""

    def start(self, memory: Any) -> Any:
        """A state in which nothing is written yet."""

    def decode(self, tokens_NT: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Add pieces, one or many: what the model thinks after each (N, T, D), and the new state."""

    def project(self, hidden: Tensor) -> Tensor:
        """Scores over the vocabulary (…, V)."""

    def train(self, mode: bool = True) -> Any: ...

    def parameters(self) -> Iterator[nn.Parameter]: ...

    def zero_grad(self, set_to_none: bool = True) -> None: ...


class DecoderState(Protocol):
    """What a step carries along. Search only says which parts of it go on."""

    def select(self, beams_BK: Tensor) -> Self:
        """Beam k of sentence b goes on from what was its beam `beams_BK[b, k]`."""
        ...

    def keep(self, sentences: Tensor) -> Self:
        """Only these sentences go on, with all their beams."""
        ...
