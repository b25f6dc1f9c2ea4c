"""One layer of the encoder and one of the decoder (section 3.1): attention and feed-forward, each with a residual
connection and a layer norm around it."""

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
    """max(0, x W1 + b1) W2 + b2, the same at every position (section 3.3)."""

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
    """What all layers share: around each part dropout, the residual sum, and a layer norm after it (or before)."""

    def __init__(self, norm: str, dropout: float) -> None:
        super().__init__()
        self.pre = norm == "pre"
        self.dropout = Dropout(dropout)

    def residual(
        self, x: Tensor, norm: nn.LayerNorm, part: Callable[[Tensor], Tensor], name: str, lens: Lens | None
    ) -> Tensor:
        read = norm(x) if self.pre else x
        output = part(read)
        total = x + self.dropout(output)
        out: Tensor = total if self.pre else norm(total)
        record(lens, name, input=read, output=output, residual=total, norm=read if self.pre else out)
        return out


class EncoderLayer(Layer):
    """Every source position looks at every source position, then thinks by itself."""

    def __init__(self, width: int, heads: int, feedforward: int, norm: str, dropout: float) -> None:
        super().__init__(norm, dropout)
        self.self = MultiHeadAttention(width, heads)
        self.self_norm = nn.LayerNorm(width)
        self.feedforward = FeedForward(width, feedforward)
        self.feedforward_norm = nn.LayerNorm(width)

    def forward(self, x_BSD: Tensor, mask: Tensor | None, name: str, lens: Lens | None) -> Tensor:
        def look(x: Tensor) -> Tensor:
            keys, values = self.self.keys_and_values(x)
            mixed = attend(self.self.queries(x), keys, values, mask, name=f"{name}.self", lens=lens)
            return self.self.join(mixed, f"{name}.self", lens)

        def think(x: Tensor) -> Tensor:
            return self.feedforward(x, f"{name}.feedforward", lens)

        x_BSD = self.residual(x_BSD, self.self_norm, look, f"{name}.self", lens)
        return self.residual(x_BSD, self.feedforward_norm, think, f"{name}.feedforward", lens)


@dataclass(frozen=True)
class KVCache:
    """What one decoder layer remembers: the source's keys and values (one per sentence, whatever the number of
    beams), and those of the target so far (one per beam; None before the first piece)."""

    cross_keys_BHSE: Tensor
    cross_values_BHSE: Tensor
    keys_NHTE: Tensor | None = None
    values_NHTE: Tensor | None = None

    def extended(self, keys_NHTE: Tensor, values_NHTE: Tensor) -> Self:
        """With the keys and values of new target positions added."""
        if self.keys_NHTE is not None and self.values_NHTE is not None:
            keys_NHTE = torch.cat([self.keys_NHTE, keys_NHTE], dim=2)
            values_NHTE = torch.cat([self.values_NHTE, values_NHTE], dim=2)
        return replace(self, keys_NHTE=keys_NHTE, values_NHTE=values_NHTE)

    def beams(self, rows_N: Tensor) -> Self:
        """With the target side's rows picked anew; the source side stays."""
        if self.keys_NHTE is None or self.values_NHTE is None:
            return self
        return replace(self, keys_NHTE=self.keys_NHTE[rows_N], values_NHTE=self.values_NHTE[rows_N])

    def sentences(self, kept_B: Tensor) -> Self:
        """With the source side's rows picked anew; the target side stays."""
        return replace(
            self, cross_keys_BHSE=self.cross_keys_BHSE[kept_B], cross_values_BHSE=self.cross_values_BHSE[kept_B]
        )


class DecoderLayer(Layer):
    """Every target position looks at itself and those before it, then at the source, then thinks by itself."""

    def __init__(self, width: int, heads: int, feedforward: int, norm: str, dropout: float) -> None:
        super().__init__(norm, dropout)
        self.self = MultiHeadAttention(width, heads)
        self.self_norm = nn.LayerNorm(width)
        self.cross = MultiHeadAttention(width, heads)
        self.cross_norm = nn.LayerNorm(width)
        self.feedforward = FeedForward(width, feedforward)
        self.feedforward_norm = nn.LayerNorm(width)

    def forward(
        self, x_NTD: Tensor, state: KVCache, source_mask: Tensor | None, name: str, lens: Lens | None
    ) -> tuple[Tensor, KVCache]:
        def look_back(x: Tensor) -> Tensor:
            nonlocal state
            state = state.extended(*self.self.keys_and_values(x))
            keys, values = state.keys_NHTE, state.values_NHTE
            assert keys is not None and values is not None
            new, total = x.size(1), keys.size(2)
            # One new piece may look at all before it; many from the start are the kernel's own causal case.
            mask = causal_mask(new, total, x.device) if 1 < new < total else None
            mixed = attend(
                self.self.queries(x), keys, values, mask, causal=1 < new == total, name=f"{name}.self", lens=lens
            )
            return self.self.join(mixed, f"{name}.self", lens)

        def look_at_source(x: Tensor) -> Tensor:
            keys, values = state.cross_keys_BHSE, state.cross_values_BHSE
            beams = x.size(0) // keys.size(0)
            # Beams of a sentence share its keys: they stand side by side as queries instead of each having a copy.
            q_BHLE = self.cross.queries(x).unflatten(0, (-1, beams)).transpose(1, 2).flatten(2, 3)
            mixed = attend(q_BHLE, keys, values, source_mask, name=f"{name}.cross", lens=lens)
            return self.cross.join(mixed.unflatten(2, (beams, -1)).transpose(1, 2).flatten(0, 1), f"{name}.cross", lens)

        def think(x: Tensor) -> Tensor:
            return self.feedforward(x, f"{name}.feedforward", lens)

        x_NTD = self.residual(x_NTD, self.self_norm, look_back, f"{name}.self", lens)
        x_NTD = self.residual(x_NTD, self.cross_norm, look_at_source, f"{name}.cross", lens)
        return self.residual(x_NTD, self.feedforward_norm, think, f"{name}.feedforward", lens), state
