"""The Transformer (section 3, Figure 1): an encoder and a decoder with a shared embedding.

`encode` encodes the source, `start` makes a decoder state from the result, `decode` computes the hidden vectors of one
or more target tokens, and `project` maps them to logits. The caller keeps the state; the model does not store it.
Shapes: B sentences, K beams, N = B * K hypotheses, S source length, T target length, D width, V vocabulary.
"""

from dataclasses import dataclass, replace
from typing import Generic, Self, TypeVar, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.models.dropout import Dropout
from regard.models.inputs import Inputs
from regard.models.interface import AutoregressiveModel
from regard.models.layers import DecoderLayer, EncoderLayer, KVCache
from regard.models.lens import Lens, record
from regard.models.positions import Positions
from regard.settings.kinds.transformer import TransformerSettings

AnyLayer = TypeVar("AnyLayer", EncoderLayer, DecoderLayer)


@dataclass(frozen=True)
class EncoderOutput:
    """The output of the encoder, and the mask of the source (B, 1, 1, S), or None if there is no padding."""

    hidden_BSD: Tensor
    mask: Tensor | None


@dataclass(frozen=True)
class TransformerState:
    """The decoder state: the KV caches of the layers, the source mask, and the number of target tokens so far."""

    layers: tuple[KVCache, ...]
    source_mask: Tensor | None
    length: int = 0

    def select(self, beams_BK: Tensor) -> Self:
        """Return the state in which beam k of sentence b continues the former beam `beams_BK[b, k]`."""
        sentences = self.layers[0].cross_keys_BHSE.size(0)
        keys = self.layers[0].keys_NHTE
        before = keys.size(0) // sentences if keys is not None else 1
        rows_N = (torch.arange(sentences, device=beams_BK.device)[:, None] * before + beams_BK).flatten()
        return replace(self, layers=tuple(layer.select_beams(rows_N) for layer in self.layers))

    def keep(self, sentences: Tensor) -> Self:
        """Return a state with only these sentences and all of their beams. `sentences` contains their indices."""
        keys = self.layers[0].keys_NHTE
        beams = keys.size(0) // self.layers[0].cross_keys_BHSE.size(0) if keys is not None else 1
        rows_N = (sentences[:, None] * beams + torch.arange(beams, device=sentences.device)).flatten()
        mask = self.source_mask[sentences] if self.source_mask is not None else None
        layers = tuple(layer.select_beams(rows_N).keep_sentences(sentences) for layer in self.layers)
        return replace(self, layers=layers, source_mask=mask)


class Stack(nn.ModuleDict, Generic[AnyLayer]):
    """The layers of the encoder or the decoder, named "1", "2" and so on; with pre-norm, also a final layer norm."""

    def __init__(self, layers: list[AnyLayer], settings: TransformerSettings) -> None:
        super().__init__({str(number): layer for number, layer in enumerate(layers, start=1)})
        if settings.norm == "pre":
            self["norm"] = nn.LayerNorm(settings.width)

    def layers(self) -> list[tuple[str, AnyLayer]]:
        return [(name, cast(AnyLayer, layer)) for name, layer in self.items() if name != "norm"]

    def final_norm(self, x: Tensor) -> Tensor:
        out: Tensor = self["norm"](x) if "norm" in self else x
        return out


class Transformer(AutoregressiveModel):
    """The Transformer, which maps source and target token ids to the logits of the next target token.

    A source of vectors instead of token ids needs a `front_end`, which maps them to the width of the model.
    """

    settings: TransformerSettings
    positions: Positions

    def __init__(self, settings: TransformerSettings, dropout: float = 0.0, front_end: nn.Module | None = None) -> None:
        super().__init__(settings)
        shape = (settings.width, settings.heads, settings.feedforward, settings.norm, dropout)
        self.front_end = front_end
        self.embedding = nn.Embedding(settings.source_vocab_size, settings.width)
        self.positions = Positions(settings.positions, settings.max_positions, settings.width)
        self.dropout = Dropout(dropout)
        self.encoder = Stack([EncoderLayer(*shape) for _ in range(settings.encoder_layers)], settings)
        self.decoder = Stack([DecoderLayer(*shape) for _ in range(settings.decoder_layers)], settings)
        self._initialise()

    def encode(self, inputs: Inputs, lens: Lens | None = None) -> EncoderOutput:
        """Encode a batch of sources."""
        if self.front_end is not None:
            inputs = self.front_end(inputs)
            x_BSD = self._add_positions(inputs.values, 0, "encoder", lens)
        else:
            x_BSD = self._embed(inputs.values, 0, "encoder", lens)
        mask = None if inputs.mask_BS is None else inputs.mask_BS[:, None, None, :]
        for number, layer in self.encoder.layers():
            x_BSD = layer(x_BSD, mask, f"encoder.{number}", lens)
            if lens is not None:
                lens.see(f"encoder.{number}", x_BSD)
        hidden_BSD = self.encoder.final_norm(x_BSD)
        record(lens, "encoder", output=hidden_BSD)
        return EncoderOutput(hidden_BSD, mask)

    def start(self, encoded: EncoderOutput) -> TransformerState:
        """Return the decoder state before the first token."""
        caches = tuple(layer.start(encoded.hidden_BSD) for _, layer in self.decoder.layers())
        return TransformerState(caches, encoded.mask)

    def decode(
        self, tokens_NT: Tensor, state: TransformerState, lens: Lens | None = None
    ) -> tuple[Tensor, TransformerState]:
        """Give the decoder one or more new target tokens; return their hidden vectors and the new state."""
        x_NTD = self._embed(tokens_NT, state.length, "decoder", lens)
        caches: list[KVCache] = []
        for (number, layer), cache in zip(self.decoder.layers(), state.layers, strict=True):
            x_NTD, extended = layer(x_NTD, cache, state.source_mask, f"decoder.{number}", lens)
            caches.append(extended)
            if lens is not None:
                lens.see(f"decoder.{number}", x_NTD)
        length = state.length + tokens_NT.size(1)
        hidden_NTD = self.decoder.final_norm(x_NTD)
        record(lens, "decoder", output=hidden_NTD)
        return hidden_NTD, replace(state, layers=tuple(caches), length=length)

    def project(self, hidden: Tensor) -> Tensor:
        """Return the logits of hidden vectors. The projection matrix is the embedding matrix (section 3.4)."""
        return F.linear(hidden, self.embedding.weight)

    def _embed(self, tokens_BT: Tensor, start: int, name: str, lens: Lens | None) -> Tensor:
        embedding_BTD = self.embedding(tokens_BT)
        # The embedding matrix is also the projection matrix, which needs small values. The factor sqrt(width) makes the
        # embeddings as large as the positional encodings.
        scaled_BTD = embedding_BTD * self.settings.width**0.5
        record(lens, name, embedding=embedding_BTD, scaled=scaled_BTD)
        return self._add_positions(scaled_BTD, start, name, lens)

    def _add_positions(self, vectors_BTD: Tensor, start: int, name: str, lens: Lens | None) -> Tensor:
        position_TD = self.positions(start, vectors_BTD.size(1))
        x_BTD = vectors_BTD + position_TD
        record(lens, name, position=position_TD, sum=x_BTD)
        out: Tensor = self.dropout(x_BTD)
        return out

    def _initialise(self) -> None:
        nn.init.normal_(self.embedding.weight, std=self.settings.width**-0.5)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
