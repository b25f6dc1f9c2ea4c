"""Scaled dot-product attention and multi-head attention (section 3.2).

Shapes: B batch, H heads, L queries, M keys, E width of a head, D width of the model.
Masks are boolean and broadcast to (B, H, L, M): True means that the query may attend to the key.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.models.lens import Lens, record, replace_outputs


def attend(
    q_BHLE: Tensor,
    k_BHME: Tensor,
    v_BHME: Tensor,
    mask: Tensor | None = None,
    *,
    causal: bool = False,
    name: str = "",
    lens: Lens | None = None,
) -> Tensor:
    """Return, for each query, the sum of the values, weighted by how well the query matches the key of each value.

    Without a lens, a fused kernel computes the result without storing the attention weights. With a lens, the weights
    are computed explicitly and passed to the lens, and those that the lens returns are used. With `causal`, query i may
    attend only to keys 0 to i.
    """
    if lens is None:
        return F.scaled_dot_product_attention(q_BHLE, k_BHME, v_BHME, attn_mask=mask, is_causal=causal)
    if causal:
        mask = q_BHLE.new_ones(q_BHLE.size(-2), k_BHME.size(-2), dtype=torch.bool).tril()
    products_BHLM = q_BHLE @ k_BHME.mT
    # Dot products grow with the width of a head. Without this division, the softmax would saturate (section 3.2.1).
    scores_BHLM = products_BHLM / q_BHLE.size(-1) ** 0.5
    record(lens, name, query=q_BHLE, key=k_BHME, value=v_BHME, score=products_BHLM, scaled=scores_BHLM)
    if mask is not None:
        record(lens, name, mask=mask)
        scores_BHLM = scores_BHLM.masked_fill(~mask, float("-inf"))
    mixed_BHLE = replace_outputs(lens, name, lens.weights(name, scores_BHLM.softmax(dim=-1)) @ v_BHME)
    record(lens, name, mixed=mixed_BHLE)
    return mixed_BHLE


def causal_mask(new: int, total: int, device: torch.device) -> Tensor:
    """Return the mask for the last `new` of `total` positions: each attends to itself and to all earlier positions."""
    return torch.ones(new, total, dtype=torch.bool, device=device).tril(total - new)


class MultiHeadAttention(nn.Module):
    """Several attention heads in parallel, each on its own projection of the input (section 3.2.2)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)

    def queries(self, x_BLD: Tensor) -> Tensor:
        return self._split(self.query(x_BLD))

    def keys_and_values(self, x_BMD: Tensor) -> tuple[Tensor, Tensor]:
        return self._split(self.key(x_BMD)), self._split(self.value(x_BMD))

    def join(self, mixed_BHLE: Tensor, name: str = "", lens: Lens | None = None) -> Tensor:
        """Concatenate the outputs of the heads and project them to the width of the model."""
        joined_BLD = mixed_BHLE.transpose(1, 2).flatten(2)
        out_BLD: Tensor = self.output(joined_BLD)
        record(lens, name, joined=joined_BLD)
        return out_BLD

    def _split(self, x_BLD: Tensor) -> Tensor:
        return x_BLD.unflatten(-1, (self.heads, -1)).transpose(1, 2)
