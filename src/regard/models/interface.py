"""The interface of all models. Search, training and evaluation use it instead of a concrete class.

Each model defines its own types for the results of `encode` and `start`; the result of `start` must implement
`DecoderState`.

Shapes: B sentences, N hypotheses (B times the beam size), S source length, T target length, D width, V vocabulary.
"""

from collections.abc import Iterator
from typing import Any, Protocol, Self

from torch import Tensor, nn


class SequenceModel(Protocol):
    """A model that encodes a source and generates the target sequence one token at a time."""

    training: bool
    vocab_size: int

    def encode(self, source_BS: Tensor) -> Any:
        """Encode a batch of sources, given as padded token ids."""

    def start(self, encoded: Any) -> Any:
        """Return the decoder state before the first token."""

    def decode(self, tokens_NT: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Give the decoder one or more new target tokens; return their hidden vectors (N, T, D) and the new state."""

    def project(self, hidden: Tensor) -> Tensor:
        """Return the logits of the next token (…, V), given hidden vectors (…, D)."""

    def train(self, mode: bool = True) -> Any: ...

    def parameters(self) -> Iterator[nn.Parameter]: ...

    def zero_grad(self, set_to_none: bool = True) -> None: ...


class DecoderState(Protocol):
    """The state of a decoder between two steps of a search."""

    def select(self, beams_BK: Tensor) -> Self:
        """Return the state in which beam k of sentence b continues the former beam `beams_BK[b, k]`."""
        ...

    def keep(self, sentences: Tensor) -> Self:
        """Return a state with only these sentences and all of their beams. `sentences` contains their indices."""
        ...
