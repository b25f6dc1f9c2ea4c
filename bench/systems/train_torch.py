"""A plain loop around `torch.nn.Transformer`; both sides and the output projection share one embedding."""

import torch
from model_weights import sinusoids
from plain_loop import PAD, train
from torch import Tensor, nn
from training_gate import Gate


class Translator(nn.Module):
    def __init__(self, shape: dict, dropout: float) -> None:
        super().__init__()
        width = shape["width"]
        self.embedding = nn.Embedding(shape["source_vocab_size"], width)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)
        self.register_buffer("positions", sinusoids(shape["max_positions"], width))
        self.dropout = nn.Dropout(dropout)
        self.transformer = nn.Transformer(
            width,
            shape["heads"],
            shape["encoder_layers"],
            shape["decoder_layers"],
            shape["feedforward"],
            dropout,
            batch_first=True,
            norm_first=shape["norm"] == "pre",
        )
        for module in self.modules():
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0  # dropout of attention weights would disable the fused kernel

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        causal = nn.Transformer.generate_square_subsequent_mask(target.size(1), dtype=torch.bool)
        hidden = self.transformer(
            self._embed(source),
            self._embed(target),
            tgt_mask=causal,
            tgt_is_causal=True,
            src_key_padding_mask=source == PAD,
            memory_key_padding_mask=source == PAD,
        )
        return hidden @ self.embedding.weight.T

    def _embed(self, ids: Tensor) -> Tensor:
        scaled = self.embedding(ids) * self.embedding.embedding_dim**0.5
        return self.dropout(scaled + self.positions[: ids.size(1)])


gate = Gate()
model = Translator(gate.job["shape"], gate.job["dropout"])
train(model, model, gate)
