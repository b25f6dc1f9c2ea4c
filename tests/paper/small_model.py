"""A small model for the tests of the paper, and attention and layer norm computed by their definitions.

Shapes: B batch, H heads, L queries, M keys, E width of a head, S source length, T target length, D width, V vocabulary.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from regard.models.attention import MultiHeadAttention
from regard.models.inputs import Inputs
from regard.models.kinds.transformer import Transformer
from regard.settings.kinds.transformer import TransformerSettings
from regard.tokenizers.special_ids import EOS


class AttentionLens:
    """A lens that records attention weights."""

    def __init__(self) -> None:
        self.recorded: dict[str, Tensor] = {}

    def see(self, name: str, tensor: Tensor) -> None:
        pass

    def weights(self, name: str, weights_BHLM: Tensor, first_row: int = 0) -> Tensor:
        self.recorded[name] = weights_BHLM
        return weights_BHLM


def tiny(*, dropout: float = 0.0, **shape: Any) -> Transformer:
    """Return a small model of the paper's architecture."""
    values = {"width": 16, "heads": 2, "feedforward": 32, "encoder_layers": 2, "decoder_layers": 2, "max_positions": 16}
    return Transformer(
        TransformerSettings(source_vocab_size=24, target_vocab_size=24, **{**values, **shape}), dropout
    ).eval()


def random_tokens(sentences: int, length: int) -> Tensor:
    return torch.randint(EOS + 1, 24, (sentences, length))


def random_source(sentences: int, length: int) -> Inputs:
    return Inputs(random_tokens(sentences, length))


def record_inputs(module: nn.Module, run: Any) -> list[Tensor]:
    """Return the first argument of every call of a module during `run`."""
    recorded: list[Tensor] = []
    handle = module.register_forward_pre_hook(lambda _, args: recorded.append(args[0]))
    run()
    handle.remove()
    return recorded


def influence(out_1LD: Tensor, in_1MD: Tensor) -> Tensor:
    """Return which inputs each output depends on, by its gradient: (L, M)."""
    weight_D = torch.randn(out_1LD.size(-1))  # the plain sum over the output of a layer norm is constant
    rows = []
    for out_D in out_1LD[0]:
        (gradient_1MD,) = torch.autograd.grad((out_D * weight_D).sum(), in_1MD, retain_graph=True)
        rows.append((gradient_1MD[0] != 0).any(dim=-1))
    return torch.stack(rows)


class StepCounter:
    """A decoder state that counts the steps."""

    def __init__(self) -> None:
        self.count = 0

    def select(self, beams_BK: Tensor) -> "StepCounter":
        return self

    def keep(self, sentences: Tensor) -> "StepCounter":
        return self


def reference_attention(
    attention: MultiHeadAttention, x: Tensor, encoded: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Compute multi-head attention as in section 3.2.2: head by head, concatenated, times W^O.

    The paper's projections are matrices; ours also have a bias.
    """

    def projected(layer: nn.Linear, x: Tensor, rows: slice) -> Tensor:
        return x @ layer.weight[rows].T + layer.bias[rows]

    head_width = attention.query.out_features // attention.heads
    heads = []
    for first in range(0, head_width * attention.heads, head_width):
        rows = slice(first, first + head_width)
        query, key = projected(attention.query, x, rows), projected(attention.key, encoded, rows)
        scores = query @ key.mT / math.sqrt(head_width)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        heads.append(scores.softmax(dim=-1) @ projected(attention.value, encoded, rows))
    return projected(attention.output, torch.cat(heads, dim=-1), slice(None))


def layer_norm(x: Tensor, norm: nn.LayerNorm) -> Tensor:
    """Compute layer normalisation by its definition."""
    centred = x - x.mean(dim=-1, keepdim=True)
    scaled = centred / (centred.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt()
    return scaled * norm.weight + norm.bias
