"""The interface of all models. Search, training, evaluation and inspection use it instead of a concrete class.

Each model defines its own types for the results of `encode` and `start`; the result of `start` must implement
`DecoderState`. The caller keeps these results, and a model stores nothing between two calls.

Shapes: B sentences, N hypotheses (B times the beam size), S source length, T target length, D width, V vocabulary.
"""

from abc import ABC, abstractmethod
from typing import Any, Protocol, Self

import torch
from torch import Tensor, nn

from regard.errors import UserError
from regard.models.inputs import Inputs
from regard.models.lens import Lens
from regard.models.positions import Positions
from regard.settings.anatomy import Anatomy
from regard.settings.model import ModelSettings


class SequenceModel(nn.Module, ABC):
    """A model that encodes a sequence, and maps hidden vectors to the logits of tokens."""

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()
        self.settings = settings
        # The positional encodings that the model adds to its embeddings, for models that do.
        self.positions: Positions | None = None

    @abstractmethod
    def encode(self, inputs: Inputs, lens: Lens | None = None) -> Any:
        """Encode a batch of sources."""

    @abstractmethod
    def project(self, hidden: Tensor) -> Tensor:
        """Return the logits of tokens (…, V), given hidden vectors (…, D)."""

    def matrices(self) -> dict[Tensor, int]:
        """Return the weight matrices inside the layers, for optimizers that treat them in a special way.

        The number of each matrix is that of the matrices of equal height that it consists of: 4 for the gates of an
        LSTM, which share one parameter, and otherwise 1.
        """
        return {module.weight: 1 for module in self.modules() if isinstance(module, nn.Linear)}

    def anatomy(self) -> Anatomy:
        """Return which stacks, layers and attentions the model has."""
        return self.settings.anatomy()

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device


class DecoderState(Protocol):
    """The state of a decoder between two steps of a search."""

    def select(self, beams_BK: Tensor) -> Self:
        """Return the state in which beam k of sentence b continues the former beam `beams_BK[b, k]`."""
        ...

    def keep(self, sentences: Tensor) -> Self:
        """Return a state with only these sentences and all of their beams. `sentences` contains their indices."""
        ...


class AutoregressiveModel(SequenceModel):
    """A model that generates the target sequence one token at a time."""

    @abstractmethod
    def start(self, encoded: Any) -> Any:
        """Return the decoder state before the first token."""

    @abstractmethod
    def decode(self, tokens_NT: Tensor, state: Any, lens: Lens | None = None) -> tuple[Tensor, Any]:
        """Give the decoder one or more new target tokens; return their hidden vectors (N, T, D) and the new state."""

    def forward(self, source: Inputs, target_BT: Tensor, lens: Lens | None = None) -> Tensor:
        """Return, for each target token, the logits of the token that follows it (B, T, V)."""
        hidden_BTD, _ = self.decode(target_BT, self.start(self.encode(source, lens)), lens)
        return self.project(hidden_BTD)


def as_autoregressive(model: SequenceModel) -> AutoregressiveModel:
    """Return the model, and raise a `UserError` if it cannot generate text."""
    if not isinstance(model, AutoregressiveModel):
        raise UserError(f"a model of the kind {model.settings.kind} does not generate text; use a model with a decoder")
    return model
