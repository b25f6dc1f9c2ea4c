"""The Transformer (section 3, Figure 1): an encoder that reads, a decoder that writes, one embedding for both.

`encode` the source, `start` a state from it, `decode` pieces (many at once or one at a time, the same method),
`project` to the vocabulary. The state belongs to the caller; the model keeps none.
Shapes: B sentences, K beams, N = B * K rows, S source length, T target length, D width, V vocabulary.
"""

from dataclasses import dataclass, replace
from typing import Generic, Self, TypeVar, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.models.dropout import Dropout
from regard.models.layers import DecoderLayer, EncoderLayer, KVCache
from regard.models.lens import Lens, record
from regard.models.positions import Positions
from regard.settings.kinds.transformer import TransformerSettings

PAD = 0

AnyLayer = TypeVar("AnyLayer", EncoderLayer, DecoderLayer)


@dataclass(frozen=True)
class EncoderOutput:
    """What the encoder made of the source, and where the source is real. No mask means no padding anywhere."""

    hidden_BSD: Tensor
    mask: Tensor | None


@dataclass(frozen=True)
class TransformerState:
    """What the decoder carries from piece to piece."""

    layers: tuple[KVCache, ...]
    source_mask: Tensor | None
    length: int = 0

    def select(self, beams_BK: Tensor) -> Self:
        """Beam k of sentence b goes on from what was its beam `beams_BK[b, k]`."""
        sentences = self.layers[0].cross_keys_BHSE.size(0)
        keys = self.layers[0].keys_NHTE
        before = keys.size(0) // sentences if keys is not None else 1
        rows_N = (torch.arange(sentences, device=beams_BK.device)[:, None] * before + beams_BK).flatten()
        return replace(self, layers=tuple(layer.beams(rows_N) for layer in self.layers))

    def keep(self, sentences: Tensor) -> Self:
        """Only these sentences go on, with all their beams."""
        keys = self.layers[0].keys_NHTE
        beams = keys.size(0) // self.layers[0].cross_keys_BHSE.size(0) if keys is not None else 1
        rows_N = (sentences[:, None] * beams + torch.arange(beams, device=sentences.device)).flatten()
        mask = self.source_mask[sentences] if self.source_mask is not None else None
        layers = tuple(layer.beams(rows_N).sentences(sentences) for layer in self.layers)
        return replace(self, layers=layers, source_mask=mask)


class Stack(nn.ModuleDict, Generic[AnyLayer]):
    """Layers with names that count from 1, and, with pre-norm, a last norm over what they add up to."""

    def __init__(self, layers: list[AnyLayer], settings: TransformerSettings) -> None:
        super().__init__({str(number): layer for number, layer in enumerate(layers, start=1)})
        if settings.norm == "pre":
            self["norm"] = nn.LayerNorm(settings.width)

    def layers(self) -> list[tuple[str, AnyLayer]]:
        return [(name, cast(AnyLayer, layer)) for name, layer in self.items() if name != "norm"]

    def last(self, x: Tensor) -> Tensor:
        out: Tensor = self["norm"](x) if "norm" in self else x
        return out


class Transformer(nn.Module):
    """Give it ids, get ids' scores; text, files and learning are others' work."""

    def __init__(self, settings: TransformerSettings, dropout: float = 0.0) -> None:
        super().__init__()
        self.settings = settings
        self.vocab_size = settings.vocab_size
        shape = (settings.width, settings.heads, settings.feedforward, settings.norm, dropout)
        self.embedding = nn.Embedding(settings.vocab_size, settings.width)
        self.positions = Positions(settings.positions, settings.max_positions, settings.width)
        self.dropout = Dropout(dropout)
        self.encoder = Stack([EncoderLayer(*shape) for _ in range(settings.encoder_layers)], settings)
        self.decoder = Stack([DecoderLayer(*shape) for _ in range(settings.decoder_layers)], settings)
        self._initialise()

    def encode(self, source_BS: Tensor, lens: Lens | None = None) -> EncoderOutput:
        """Read the source."""
        real_BS = source_BS != PAD
        # The fused kernel is quicker with no mask at all.
        mask = None if bool(real_BS.all()) else real_BS[:, None, None, :]
        x_BSD = self._embed(source_BS, 0, "encoder", lens)
        for number, layer in self.encoder.layers():
            x_BSD = layer(x_BSD, mask, f"encoder.{number}", lens)
            if lens is not None:
                lens.see(f"encoder.{number}", x_BSD)
        hidden_BSD = self.encoder.last(x_BSD)
        record(lens, "encoder", output=hidden_BSD)
        return EncoderOutput(hidden_BSD, mask)

    def start(self, memory: EncoderOutput) -> TransformerState:
        """A state in which nothing is written yet. The source's keys and values are projected here, once."""
        layers = (KVCache(*layer.cross.keys_and_values(memory.hidden_BSD)) for _, layer in self.decoder.layers())
        return TransformerState(tuple(layers), memory.mask)

    def decode(
        self, tokens_NT: Tensor, state: TransformerState, lens: Lens | None = None
    ) -> tuple[Tensor, TransformerState]:
        """Add these pieces to what is written; what the model thinks after each of them, and the new state."""
        x_NTD = self._embed(tokens_NT, state.length, "decoder", lens)
        layers: list[KVCache] = []
        for (number, layer), before in zip(self.decoder.layers(), state.layers, strict=True):
            x_NTD, after = layer(x_NTD, before, state.source_mask, f"decoder.{number}", lens)
            layers.append(after)
            if lens is not None:
                lens.see(f"decoder.{number}", x_NTD)
        length = state.length + tokens_NT.size(1)
        hidden_NTD = self.decoder.last(x_NTD)
        record(lens, "decoder", output=hidden_NTD)
        return hidden_NTD, replace(state, layers=tuple(layers), length=length)

    def project(self, hidden: Tensor) -> Tensor:
        """Scores of every piece, by the same matrix that embeds them (section 3.4)."""
        return F.linear(hidden, self.embedding.weight)

    def forward(self, source_BS: Tensor, target_BT: Tensor, lens: Lens | None = None) -> Tensor:
        """Scores (B, T, V) of what follows each target piece, all at once."""
        hidden_BTD, _ = self.decode(target_BT, self.start(self.encode(source_BS, lens)), lens)
        return self.project(hidden_BTD)

    def _embed(self, tokens_BT: Tensor, start: int, name: str, lens: Lens | None) -> Tensor:
        embedding_BTD = self.embedding(tokens_BT)
        # Embeddings are small, so that the shared matrix projects well; sqrt(width) makes them match the positions.
        scaled_BTD = embedding_BTD * self.settings.width**0.5
        position_TD = self.positions(start, tokens_BT.size(1))
        x_BTD = scaled_BTD + position_TD
        record(lens, name, embedding=embedding_BTD, scaled=scaled_BTD, position=position_TD, sum=x_BTD)
        out: Tensor = self.dropout(x_BTD)
        return out

    def _initialise(self) -> None:
        nn.init.normal_(self.embedding.weight, std=self.settings.width**-0.5)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
