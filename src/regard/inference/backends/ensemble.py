"""An ensemble: several models that act as one model, by averaging their probabilities for the next token.

An ensemble has the interface of a model, so search and translator need no special case for it. Its hidden vectors are
the hidden vectors of its models, concatenated.

Shapes: B sentences, K beams, N = B * K hypotheses, S source length, T target length, D sum of the models' widths, V
vocabulary.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

import torch
from torch import Tensor, nn

from regard.models.inputs import Inputs
from regard.models.interface import AutoregressiveModel
from regard.models.lens import Lens


@dataclass(frozen=True)
class EnsembleState:
    """The state of an ensemble: the decoder states of its models."""

    states: tuple[Any, ...]

    def select(self, beams_BK: Tensor) -> Self:
        return type(self)(tuple(state.select(beams_BK) for state in self.states))

    def keep(self, sentences: Tensor) -> Self:
        return type(self)(tuple(state.keep(sentences) for state in self.states))


class Ensemble(AutoregressiveModel):
    """Several models that act as one. They share a vocabulary, but may differ in shape and kind.

    Its settings are those of the first model.
    """

    def __init__(self, models: Sequence[AutoregressiveModel]) -> None:
        super().__init__(models[0].settings)
        self.models = nn.ModuleList(models)
        self._widths = [model.settings.width for model in models]
        self.eval()

    def encode(self, inputs: Inputs, lens: Lens | None = None) -> list[Any]:
        return [model.encode(inputs, lens) for model in self._models()]

    def start(self, encoded: list[Any]) -> EnsembleState:
        return EnsembleState(tuple(model.start(output) for model, output in zip(self._models(), encoded, strict=True)))

    def decode(self, tokens_NT: Tensor, state: EnsembleState, lens: Lens | None = None) -> tuple[Tensor, EnsembleState]:
        decoded = [model.decode(tokens_NT, own, lens) for model, own in zip(self._models(), state.states, strict=True)]
        return torch.cat([hidden for hidden, _ in decoded], dim=-1), EnsembleState(tuple(own for _, own in decoded))

    def project(self, hidden: Tensor) -> Tensor:
        """Return the logarithm of the mean probability of each token. It serves as logits: its softmax is that mean."""
        vectors = zip(self._models(), hidden.split(self._widths, dim=-1), strict=True)
        log_probabilities = torch.stack(
            [model.project(vector).float().log_softmax(dim=-1) for model, vector in vectors]
        )
        return log_probabilities.logsumexp(dim=0) - math.log(len(log_probabilities))

    def _models(self) -> list[AutoregressiveModel]:
        return [cast(AutoregressiveModel, model) for model in self.models]
