"""The interface of all sequence models, which search, training and evaluation use instead of a concrete class.

The types that `encode` and `start` return are private to each model; the state has `select` and `keep`.
Shapes: B sentences, N rows (B times the beams), S source length, T target length, D width, V vocabulary.
"""

from collections.abc import Iterator
from typing import Any, Protocol, Self

from torch import Tensor, nn


class SequenceModel(Protocol):
    """A model that encodes a source and generates a target token by token."""

    training: bool
    vocab_size: int

    def encode(self, source_BS: Tensor) -> Any:
        """Encode the padded token ids of the sources."""

    def start(self, encoded: Any) -> Any:
        """Return the decoder state before the first token."""

    def decode(self, tokens_NT: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Feed one or more target tokens; return the hidden vector of each (N, T, D) and the new state."""

    def project(self, hidden: Tensor) -> Tensor:
        """Return the logits (…, V) of hidden vectors."""

    def train(self, mode: bool = True) -> Any: ...

    def parameters(self) -> Iterator[nn.Parameter]: ...

    def zero_grad(self, set_to_none: bool = True) -> None: ...


class DecoderState(Protocol):
    """The state of a decoder between two steps of a search."""

    def select(self, beams_BK: Tensor) -> Self:
        """Return the state in which beam k of sentence b continues the former beam `beams_BK[b, k]`."""
        ...

    def keep(self, sentences: Tensor) -> Self:
        """Return the state of these sentences only, with all their beams."""
        ...
