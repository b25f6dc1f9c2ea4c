"""Recurrent models (RNN, GRU, LSTM): an encoder and a decoder that read one token after the other.

The final hidden states of the encoder, a vector of fixed size, start the decoder. Without attention, the decoder knows
nothing else of the source (Cho et al. 2014, Sutskever et al. 2014). With attention, it also looks at all encoder
outputs after every step (Bahdanau et al. 2015, Luong et al. 2015).

Sequences are padded and never packed, because torch's fast kernels do not take packed sequences. For the direction from
the end to the beginning, the real positions of each sentence are reversed, so that padding stays behind them.
Shapes: B sentences, K beams, N = B * K hypotheses, S source length, T target length, D width, V vocabulary.
"""

from dataclasses import dataclass, replace
from typing import Self, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.models.dropout import Dropout
from regard.models.inputs import Inputs
from regard.models.interface import AutoregressiveModel
from regard.models.lens import Lens, StepLens, record
from regard.models.recurrence import LayerState, Recurrence, ReversingLens, reversed_rows
from regard.models.recurrent_attention import AttendedSource, RecurrentAttention
from regard.settings.kinds.recurrent import RecurrentSettings


@dataclass(frozen=True)
class EncoderOutput:
    """The hidden states of the last encoder layer, the final ones of all layers (B, layers * D), and the mask."""

    hidden_BSD: Tensor
    final_BF: Tensor
    mask_BS: Tensor | None


@dataclass(frozen=True)
class RecurrentState:
    """The decoder state: that of each layer, what is fed into the next step, and the source, which all beams share."""

    layers: tuple[LayerState, ...]
    fed_ND: Tensor | None
    source: AttendedSource | None
    beams: int = 1

    def select(self, beams_BK: Tensor) -> Self:
        """Return the state in which beam k of sentence b continues the former beam `beams_BK[b, k]`."""
        sentences, beams = beams_BK.shape
        first_B1 = torch.arange(sentences, device=beams_BK.device)[:, None] * self.beams
        return replace(self._rows((first_B1 + beams_BK).flatten()), beams=beams)

    def keep(self, sentences: Tensor) -> Self:
        """Return a state with only these sentences and all of their beams. `sentences` contains their indices."""
        rows_N = (sentences[:, None] * self.beams + torch.arange(self.beams, device=sentences.device)).flatten()
        source = self.source.keep(sentences) if self.source is not None else None
        return replace(self._rows(rows_N), source=source)

    def _rows(self, rows_N: Tensor) -> Self:
        fed_ND = None if self.fed_ND is None else self.fed_ND[rows_N]
        return replace(self, layers=tuple(layer.rows(rows_N) for layer in self.layers), fed_ND=fed_ND)


class Recurrent(AutoregressiveModel):
    """A recurrent encoder and decoder with a shared embedding, with or without attention."""

    settings: RecurrentSettings

    def __init__(self, settings: RecurrentSettings, dropout: float = 0.0) -> None:
        super().__init__(settings)
        width, kind = settings.width, settings.kind
        self.embedding = nn.Embedding(settings.source_vocab_size, width)
        self.dropout = Dropout(dropout)
        part = width // len(settings.directions)
        self.encoder = nn.ModuleDict(
            {
                str(layer): nn.ModuleDict({way: Recurrence(kind, width, part) for way in settings.directions})
                for layer in range(1, settings.encoder_layers + 1)
            }
        )
        fed = width if settings.input_feeding else 0
        self.decoder = nn.ModuleDict(
            {
                str(layer): Recurrence(kind, width + (fed if layer == 1 else 0), width)
                for layer in range(1, settings.decoder_layers + 1)
            }
        )
        states = 2 if kind == "lstm" else 1
        self.bridge = nn.Linear(settings.encoder_layers * width, states * settings.decoder_layers * width)
        self.attention = RecurrentAttention(settings.attention, width) if settings.attention != "none" else None
        self._initialise()

    def encode(self, inputs: Inputs, lens: Lens | None = None) -> EncoderOutput:
        """Encode a batch of sources."""
        lengths_B = inputs.lengths.to(self.device)
        x_BSD = self._embed(inputs.values, "encoder", lens)
        final = []
        for number, directions in self.encoder.items():
            outputs = []
            for way, layer in cast(nn.ModuleDict, directions).items():
                output_BSD = self._read(cast(Recurrence, layer), x_BSD, lengths_B, f"encoder.{number}.{way}", lens)
                # Whatever the direction, the last state is that of the position that was read last.
                last_B = lengths_B - 1 if way == "forwards" else torch.zeros_like(lengths_B)
                final.append(output_BSD[torch.arange(len(last_B), device=self.device), last_B])
                outputs.append(output_BSD)
            x_BSD = self._add(x_BSD, torch.cat(outputs, dim=-1), number)
            record(lens, "encoder", **{number: x_BSD})
            x_BSD = self.dropout(x_BSD)
        return EncoderOutput(x_BSD, torch.cat(final, dim=-1), inputs.mask_BS)

    def start(self, encoded: EncoderOutput) -> RecurrentState:
        """Return the decoder state before the first token."""
        start_BF = self.bridge(self.dropout(encoded.final_BF))
        parts = iter(start_BF.split(self.settings.width, dim=-1))
        with_cell = self.settings.kind == "lstm"
        layers = tuple(LayerState(torch.tanh(next(parts)), next(parts) if with_cell else None) for _ in self.decoder)
        source = None if self.attention is None else self.attention.start(encoded.hidden_BSD, encoded.mask_BS)
        return RecurrentState(layers, self._first_fed(encoded), source)

    def decode(
        self, tokens_NT: Tensor, state: RecurrentState, lens: Lens | None = None
    ) -> tuple[Tensor, RecurrentState]:
        """Give the decoder one or more new target tokens; return their hidden vectors and the new state."""
        x_NTD = self._embed(tokens_NT, "decoder", lens)
        if self.attention is None or not self.settings.input_feeding:
            output_NTD, state = self._advance(x_NTD, state, lens)
        else:
            # The attention output of a position is an input of the next one, so the positions cannot run together.
            steps = None if lens is None else StepLens(lens)
            outputs = []
            for x_N1D in x_NTD.split(1, dim=1):
                output_N1D, state = self._advance(x_N1D, state, steps)
                state = replace(state, fed_ND=output_N1D[:, 0])
                outputs.append(output_N1D)
            if steps is not None:
                steps.finish()
            output_NTD = torch.cat(outputs, dim=1)
        return self.dropout(output_NTD), state

    def project(self, hidden: Tensor) -> Tensor:
        """Return the logits of hidden vectors. The projection matrix is the embedding matrix, as in the Transformer."""
        return F.linear(hidden, self.embedding.weight)

    def matrices(self) -> dict[Tensor, int]:
        """Return the weight matrices inside the layers, with the number of gates of each recurrent layer."""
        layers = [module for module in self.modules() if isinstance(module, Recurrence)]
        gates = {matrix: layer.gates for layer in layers for matrix in layer.matrices}
        return {**super().matrices(), **gates}

    def _advance(self, x_NTD: Tensor, state: RecurrentState, lens: Lens | None) -> tuple[Tensor, RecurrentState]:
        """Run the layers of the decoder, and the attention after them, over one or more positions."""
        states = []
        for (number, layer), before in zip(self.decoder.items(), state.layers, strict=True):
            inputs = x_NTD
            if number == "1" and state.fed_ND is not None:
                inputs = torch.cat([x_NTD, state.fed_ND[:, None].expand(-1, x_NTD.size(1), -1)], dim=-1)
            hidden_NTD, after = layer(inputs, before, f"decoder.{number}", lens)
            x_NTD = self._add(x_NTD, hidden_NTD, number)
            record(lens, "decoder", **{number: x_NTD})
            if number != str(len(self.decoder)):
                x_NTD = self.dropout(x_NTD)
            states.append(after)
        state = replace(state, layers=tuple(states))
        if self.attention is None or state.source is None:
            return x_NTD, state
        # The queries of all beams of a sentence are concatenated, so that they share one copy of keys and values.
        query_BLD = x_NTD.unflatten(0, (-1, state.beams)).flatten(1, 2)
        output_BLD = self.attention(query_BLD, state.source, self.settings.cross, lens)
        return output_BLD.unflatten(1, (state.beams, -1)).flatten(0, 1), state

    def _read(self, layer: Recurrence, x_BSD: Tensor, lengths_B: Tensor, name: str, lens: Lens | None) -> Tensor:
        """Run a layer over a source, in the direction with which its name ends."""
        state = layer.zeros(len(x_BSD), x_BSD)
        if name.endswith("forwards"):
            output_BSD: Tensor = layer(x_BSD, state, name, lens)[0]
            return output_BSD
        own_lens = None if lens is None else ReversingLens(lens, lengths_B)
        return reversed_rows(layer(reversed_rows(x_BSD, lengths_B), state, name, own_lens)[0], lengths_B)

    def _add(self, x: Tensor, output: Tensor, number: str) -> Tensor:
        """Return the output of a layer; from the second layer on, with a residual connection."""
        return output if number == "1" else x + output

    def _first_fed(self, encoded: EncoderOutput) -> Tensor | None:
        """Return what is fed into the first step: zeros, or, without attention, the vector of the source."""
        if not self.settings.input_feeding:
            return None
        vector_BD = encoded.final_BF[:, -self.settings.width :]
        return vector_BD if self.attention is None else torch.zeros_like(vector_BD)

    def _embed(self, tokens_BT: Tensor, name: str, lens: Lens | None) -> Tensor:
        embedding_BTD = self.embedding(tokens_BT)
        # The embedding matrix is also the projection matrix, which needs small values.
        scaled_BTD = embedding_BTD * self.settings.width**0.5
        record(lens, name, embedding=embedding_BTD, scaled=scaled_BTD)
        out: Tensor = self.dropout(scaled_BTD)
        return out

    def _initialise(self) -> None:
        nn.init.normal_(self.embedding.weight, std=self.settings.width**-0.5)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
