"""A toy kind that does not translate: an encoder that learns to predict masked source tokens.

It has no decoder, and its objective makes random choices. The hidden vector of a position depends on its own token and
on the mean of all tokens of the sentence.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.data.batching.batches import Batch
from regard.models.dropout import Dropout
from regard.models.inputs import Inputs
from regard.models.interface import SequenceModel
from regard.models.lens import Lens, record
from regard.settings.anatomy import Anatomy, Stack, Vector
from regard.settings.fields import Overrides, setting
from regard.settings.kinds import KINDS, Kind
from regard.settings.model import ModelSettings
from regard.settings.recipes import QUICK
from regard.tokenizers.special_ids import UNK
from regard.training.objectives import Objective, Predictions, inputs_on


@dataclass(frozen=True, kw_only=True)
class MaskedSettings(ModelSettings):
    """The settings of the masked kind."""

    kind: Literal["masked"] = setting("masked", "the architecture")

    def describe(self) -> str:
        return f"Masked, width {self.width}, {self.source_vocab_size:,} rows of token embeddings."

    def anatomy(self) -> Anatomy:
        vector = Vector("encoder.embedding", "row {token} of the embedding matrix")
        return Anatomy((Stack("encoder", "source", "embedding", (), ("encoder.embedding",), (vector,)),), ())


class MaskedModel(SequenceModel):
    """Adds the mean of the embeddings of a sentence to each embedding."""

    def __init__(self, settings: MaskedSettings, dropout: float = 0.0) -> None:
        super().__init__(settings)
        self.embedding = nn.Embedding(settings.source_vocab_size, settings.width)
        self.dropout = Dropout(dropout)
        self.hidden = nn.Linear(settings.width, settings.width)
        self.output = nn.Linear(settings.width, settings.source_vocab_size)

    def encode(self, inputs: Inputs, lens: Lens | None = None) -> Tensor:
        embedding_BSD = self.dropout(self.embedding(inputs.values))
        record(lens, "encoder", embedding=embedding_BSD)
        if inputs.mask_BS is not None:
            embedding_BSD = embedding_BSD * inputs.mask_BS[:, :, None]
        mean_B1D = embedding_BSD.sum(dim=1, keepdim=True) / inputs.lengths[:, None, None]
        return torch.tanh(self.hidden(embedding_BSD + mean_B1D))

    def project(self, hidden: Tensor) -> Tensor:
        logits: Tensor = self.output(hidden)
        return logits


def masked(batch: Batch, seed: int) -> NDArray[np.bool_]:
    """Return which source tokens are masked: the first of each sentence, and a random fifth of the others."""
    columns = np.arange(batch.source.values.shape[1])
    is_masked_BS = np.random.default_rng(seed).random(batch.source.values.shape) < 0.2
    is_masked_BS[:, 0] = True
    return is_masked_BS & (columns < batch.source.lengths[:, None])


def _count(batch: Batch, seed: int) -> int:
    return int(masked(batch, seed).sum())


def _predict(model: SequenceModel, batch: Batch, seed: int) -> Predictions:
    source, is_masked_BS = inputs_on(batch.source, model.device), torch.from_numpy(masked(batch, seed))
    hidden_BSD = model.encode(Inputs(source.values.masked_fill(is_masked_BS, UNK), source.mask_BS))
    return Predictions(hidden_BSD[is_masked_BS], source.values[is_masked_BS], None)


masked_prediction = Objective(_count, _predict, translates=False)

SIZES: dict[str, Overrides] = {"mini": {"model": {"width": 16}, "train": {**QUICK, "learning_rate": 0.01}}}

MASKED = Kind(
    settings=MaskedSettings,
    sizes=SIZES,
    model="tests.masked_kind:MaskedModel",
    objective="tests.masked_kind:masked_prediction",
)


@contextmanager
def masked_kind() -> Iterator[Any]:
    """Within the context, the masked kind can be used like any other."""
    KINDS["masked"] = MASKED
    try:
        yield MASKED
    finally:
        del KINDS["masked"]
