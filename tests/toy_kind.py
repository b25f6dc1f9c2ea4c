"""A toy kind of model, which proves the interface: settings, one model class, and one entry in the dictionary of kinds.

The encoder only embeds the source. The decoder has one layer: each target position attends to the source from the
embedding of its input token, so the state of the decoder is the source alone.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.models.attention import attend
from regard.models.dropout import Dropout
from regard.models.inputs import Inputs
from regard.models.interface import AutoregressiveModel
from regard.models.lens import Lens, record
from regard.settings.anatomy import SCALED_DOT_PRODUCT, Anatomy, Attention, Stack, Sublayer, Vector
from regard.settings.fields import Overrides, setting
from regard.settings.kinds import KINDS, Kind
from regard.settings.model import ModelSettings
from regard.settings.recipes import QUICK


@dataclass(frozen=True, kw_only=True)
class ToySettings(ModelSettings):
    """The settings of the toy kind."""

    kind: Literal["toy"] = setting("toy", "the architecture")
    activation: Literal["tanh", "relu"] = setting("tanh", "function after the sum of word and attention")

    def describe(self) -> str:
        return f"Toy, width {self.width}, {self.activation}, {self.source_vocab_size:,} rows of token embeddings."

    def anatomy(self) -> Anatomy:
        attention = Attention(
            address="decoder.1.cross",
            kind="decoder.cross",
            layer=1,
            heads=1,
            head_width=self.width,
            queries="target",
            keys="source",
            causal=False,
            scoring=SCALED_DOT_PRODUCT,
        )
        encoder = Stack("encoder", "source", "embedding", (), ("encoder.embedding",), (_vector("encoder"),))
        decoder = Stack(
            "decoder",
            "target",
            "embedding",
            (Sublayer("Cross-attention", f"1 head of {self.width}"),),
            ("decoder.embedding", "decoder.1"),
            (_vector("decoder"), Vector("decoder.1", "sum of word and attention")),
        )
        return Anatomy((encoder, decoder), (attention,))


def _vector(stack: str) -> Vector:
    return Vector(f"{stack}.embedding", "row {token} of the embedding matrix")


@dataclass(frozen=True)
class ToyState:
    """The embedded sources. Nothing depends on earlier target tokens, so all beams share them."""

    source_B1SE: Tensor
    mask: Tensor | None

    def select(self, beams_BK: Tensor) -> Self:
        return self

    def keep(self, sentences: Tensor) -> Self:
        mask = None if self.mask is None else self.mask[sentences]
        return replace(self, source_B1SE=self.source_B1SE[sentences], mask=mask)


class ToyModel(AutoregressiveModel):
    """Each target position attends to the source, and adds the result to the embedding of its input token."""

    settings: ToySettings

    def __init__(self, settings: ToySettings, dropout: float = 0.0) -> None:
        super().__init__(settings)
        self.embedding = nn.Embedding(settings.source_vocab_size, settings.width)
        self.query = nn.Linear(settings.width, settings.width)
        self.dropout = Dropout(dropout)
        self.output = nn.Linear(settings.width, settings.target_vocab_size)

    def encode(self, inputs: Inputs, lens: Lens | None = None) -> ToyState:
        embedding_BSD = self.embedding(inputs.values)
        record(lens, "encoder", embedding=embedding_BSD)
        mask = None if inputs.mask_BS is None else inputs.mask_BS[:, None, None]
        return ToyState(self.dropout(embedding_BSD)[:, None], mask)

    def start(self, encoded: ToyState) -> ToyState:
        return encoded

    def decode(self, tokens_NT: Tensor, state: ToyState, lens: Lens | None = None) -> tuple[Tensor, ToyState]:
        embedding_NTD = self.embedding(tokens_NT)
        record(lens, "decoder", embedding=embedding_NTD)
        sentences = len(state.source_B1SE)
        beams = len(tokens_NT) // sentences
        query_B1LE = self.query(embedding_NTD).unflatten(0, (sentences, beams)).flatten(1, 2)[:, None]
        mixed_B1LE = attend(
            query_B1LE, state.source_B1SE, state.source_B1SE, state.mask, name="decoder.1.cross", lens=lens
        )
        mixed_NTD = mixed_B1LE[:, 0].unflatten(1, (beams, -1)).flatten(0, 1)
        total_NTD = embedding_NTD + mixed_NTD
        record(lens, "decoder.1.cross", input=embedding_NTD, joined=mixed_NTD, output=mixed_NTD, residual=total_NTD)
        hidden_NTD = torch.tanh(total_NTD) if self.settings.activation == "tanh" else F.relu(total_NTD)
        record(lens, "decoder", **{"1": hidden_NTD})
        return self.dropout(hidden_NTD), state

    def project(self, hidden: Tensor) -> Tensor:
        logits: Tensor = self.output(hidden)
        return logits


SIZES: dict[str, Overrides] = {"tiny": {"model": {"width": 16}, "train": {**QUICK, "learning_rate": 0.01}}}

TOY = Kind(settings=ToySettings, sizes=SIZES, model="tests.toy_kind:ToyModel")


@contextmanager
def toy_kind() -> Iterator[Any]:
    """Within the context, the toy kind can be used like any other."""
    KINDS["toy"] = TOY
    try:
        yield TOY
    finally:
        del KINDS["toy"]
