"""Several models as one: what comes next has the mean of the probabilities they give it.

It has the face of a model, so search and translator need not know. Where one model has what it thinks (D numbers), this
one has what each of them thinks, side by side.

Shapes: B sentences, K beams, N = B * K rows, S source length, T target length, D widths together, V vocabulary.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

import torch
from torch import Tensor, nn

from regard.models.kinds.transformer import Transformer


@dataclass(frozen=True)
class States:
    """Each model's own state."""

    each: tuple[Any, ...]

    def select(self, beams_BK: Tensor) -> Self:
        return type(self)(tuple(state.select(beams_BK) for state in self.each))

    def keep(self, sentences: Tensor) -> Self:
        return type(self)(tuple(state.keep(sentences) for state in self.each))


class Ensemble(nn.Module):
    """Models with the same vocabulary, of any shapes."""

    def __init__(self, models: Sequence[Transformer]) -> None:
        super().__init__()
        self.models = nn.ModuleList(models)
        self.vocab_size = models[0].vocab_size
        self._widths = [model.settings.width for model in models]
        self.eval()

    def encode(self, source_BS: Tensor) -> list[Any]:
        return [model.encode(source_BS) for model in self._each()]

    def start(self, memories: list[Any]) -> States:
        return States(tuple(model.start(memory) for model, memory in zip(self._each(), memories, strict=True)))

    def decode(self, tokens_NT: Tensor, states: States) -> tuple[Tensor, States]:
        decoded = [model.decode(tokens_NT, state) for model, state in zip(self._each(), states.each, strict=True)]
        return torch.cat([hidden for hidden, _ in decoded], dim=-1), States(tuple(state for _, state in decoded))

    def project(self, hidden: Tensor) -> Tensor:
        """The logarithm of the mean probability: as good as logits, because it differs from them by a constant."""
        parts = zip(self._each(), hidden.split(self._widths, dim=-1), strict=True)
        each = torch.stack([model.project(part).float().log_softmax(dim=-1) for model, part in parts])
        return each.logsumexp(dim=0) - math.log(len(each))

    def _each(self) -> list[Transformer]:
        return [cast(Transformer, model) for model in self.models]
