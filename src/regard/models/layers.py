"""The layers of the encoder and the decoder (section 3.1).

A layer consists of attention and feed-forward sublayers, each with dropout, a residual connection and a layer norm.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.models.attention import MultiHeadAttention, attend, causal_mask
from regard.models.dropout import Dropout
from regard.models.lens import Lens, record


class FeedForward(nn.Module):
    """The feed-forward network max(0, x W1 + b1) W2 + b2, applied to each position separately (section 3.3)."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.inner = nn.Linear(width, inner)
        self.outer = nn.Linear(inner, width)

    def forward(self, x: Tensor, name: str = "", lens: Lens | None = None) -> Tensor:
        inner = self.inner(x)
        active = F.relu(inner, inplace=lens is None)
        record(lens, name, inner=inner, active=active)
        out: Tensor = self.outer(active)
        return out


class Layer(nn.Module):
    """The base class of all layers, with the dropout, residual connection and layer norm around each sublayer."""

    def __init__(self, norm: str, dropout: float) -> None:
        super().__init__()
        self.pre = norm == "pre"
        self.dropout = Dropout(dropout)

    def residual(
        self, x: Tensor, norm: nn.LayerNorm, sublayer: Callable[[Tensor], Tensor], name: str, lens: Lens | None
    ) -> Tensor:
        """Apply a sublayer with its residual connection.

        The layer norm comes before the sublayer (pre-norm) or after the residual connection (post-norm).
        """
        inputs = norm(x) if self.pre else x
        output = sublayer(inputs)
        total = x + self.dropout(output)
        out: Tensor = total if self.pre else norm(total)
        record(lens, name, input=inputs, output=output, residual=total, norm=inputs if self.pre else out)
        if self.pre:
            record(lens, name, skip=x)
        return out


class EncoderLayer(Layer):
    """An encoder layer: self-attention over all source positions, then a feed-forward network."""

    def __init__(self, width: int, heads: int, feedforward: int, norm: str, dropout: float) -> None:
        super().__init__(norm, dropout)
        self.self = MultiHeadAttention(width, heads)
        self.self_norm = nn.LayerNorm(width)
        self.feedforward = FeedForward(width, feedforward)
        self.feedforward_norm = nn.LayerNorm(width)

    def forward(self, x_BSD: Tensor, mask: Tensor | None, name: str, lens: Lens | None) -> Tensor:
        def attend_to_source(x: Tensor) -> Tensor:
            keys, values = self.self.keys_and_values(x)
            mixed = attend(self.self.queries(x), keys, values, mask, name=f"{name}.self", lens=lens)
            return self.self.join(mixed, f"{name}.self", lens)

        def feed_forward(x: Tensor) -> Tensor:
            return self.feedforward(x, f"{name}.feedforward", lens)

        x_BSD = self.residual(x_BSD, self.self_norm, attend_to_source, f"{name}.self", lens)
        return self.residual(x_BSD, self.feedforward_norm, feed_forward, f"{name}.feedforward", lens)


@dataclass(frozen=True)
class KVCache:
    """The KV cache of one decoder layer.

    It holds the keys and values of the source, which all beams of a sentence share, and the keys and values of the
    target so far, separately for each beam (None before the first token).
    """

    cross_keys_BHSE: Tensor
    cross_values_BHSE: Tensor
    keys_NHTE: Tensor | None = None
    values_NHTE: Tensor | None = None

    def extended(self, keys_NHTE: Tensor, values_NHTE: Tensor) -> Self:
        """Return the cache with the keys and values of new target positions appended."""
        if self.keys_NHTE is not None and self.values_NHTE is not None:
            keys_NHTE = torch.cat([self.keys_NHTE, keys_NHTE], dim=2)
            values_NHTE = torch.cat([self.values_NHTE, values_NHTE], dim=2)
        return replace(self, keys_NHTE=keys_NHTE, values_NHTE=values_NHTE)

    def select_beams(self, rows_N: Tensor) -> Self:
        """Return a cache with the target keys and values of these hypotheses. Source keys and values stay the same."""
        if self.keys_NHTE is None or self.values_NHTE is None:
            return self
        return replace(self, keys_NHTE=self.keys_NHTE[rows_N], values_NHTE=self.values_NHTE[rows_N])

    def keep_sentences(self, kept_B: Tensor) -> Self:
        """Return a cache with the source keys and values of these sentences.

        The target keys and values do not change; the caller selects them with `select_beams`.
        """
        return replace(
            self, cross_keys_BHSE=self.cross_keys_BHSE[kept_B], cross_values_BHSE=self.cross_values_BHSE[kept_B]
        )


class DecoderLayer(Layer):
    """A decoder layer: causal self-attention, cross-attention to the source, then a feed-forward network."""

    def __init__(self, width: int, heads: int, feedforward: int, norm: str, dropout: float) -> None:
        super().__init__(norm, dropout)
        self.self = MultiHeadAttention(width, heads)
        self.self_norm = nn.LayerNorm(width)
        self.cross = MultiHeadAttention(width, heads)
        self.cross_norm = nn.LayerNorm(width)
        self.feedforward = FeedForward(width, feedforward)
        self.feedforward_norm = nn.LayerNorm(width)

    def start(self, encoded_BSD: Tensor) -> KVCache:
        """Return the KV cache before the first target token. It contains the keys and values of the source."""
        return KVCache(*self.cross.keys_and_values(encoded_BSD))

    def forward(
        self, x_NTD: Tensor, cache: KVCache, source_mask: Tensor | None, name: str, lens: Lens | None
    ) -> tuple[Tensor, KVCache]:
        def attend_to_target(x: Tensor) -> Tensor:
            nonlocal cache
            cache = cache.extended(*self.self.keys_and_values(x))
            keys, values = cache.keys_NHTE, cache.values_NHTE
            assert keys is not None and values is not None
            new, total = x.size(1), keys.size(2)
            # A single new token attends to all positions and needs no mask. If all target tokens are new, `causal` is
            # used instead of a mask.
            mask = causal_mask(new, total, x.device) if 1 < new < total else None
            mixed = attend(
                self.self.queries(x), keys, values, mask, causal=1 < new == total, name=f"{name}.self", lens=lens
            )
            return self.self.join(mixed, f"{name}.self", lens)

        def attend_to_source(x: Tensor) -> Tensor:
            keys, values = cache.cross_keys_BHSE, cache.cross_values_BHSE
            beams = x.size(0) // keys.size(0)
            # The queries of all beams of a sentence are concatenated, so that they share one copy of keys and values.
            q_BHLE = self.cross.queries(x).unflatten(0, (-1, beams)).transpose(1, 2).flatten(2, 3)
            mixed = attend(q_BHLE, keys, values, source_mask, name=f"{name}.cross", lens=lens)
            return self.cross.join(mixed.unflatten(2, (beams, -1)).transpose(1, 2).flatten(0, 1), f"{name}.cross", lens)

        def feed_forward(x: Tensor) -> Tensor:
            return self.feedforward(x, f"{name}.feedforward", lens)

        x_NTD = self.residual(x_NTD, self.self_norm, attend_to_target, f"{name}.self", lens)
        x_NTD = self.residual(x_NTD, self.cross_norm, attend_to_source, f"{name}.cross", lens)
        return self.residual(x_NTD, self.feedforward_norm, feed_forward, f"{name}.feedforward", lens), cache
