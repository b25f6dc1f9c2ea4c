"""The same sentence without a part of the model: what the part is there for shows when it is gone.

Without positions, attention cannot tell one order of the words from another (section 3.5). Without the division by the
root of the width, dot products are so large that softmax gives nearly all to one word (section 3.2.1).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from regard.interpret.interventions import without_positions
from regard.interpret.tokens import Tokens
from regard.interpret.trace import Trace, all_heads
from regard.tokenizers.special_ids import EOS

if TYPE_CHECKING:
    from regard.models.kinds.transformer import Transformer


@dataclass(frozen=True)
class PositionShift:
    """How far a piece's last encoder vector moves, over its length, when the words come in reverse order."""

    token: str
    with_positions: float
    without_positions: float


def position_effect(model: "Transformer", source: Tokens) -> list[PositionShift]:
    """The source read forwards and backwards, by the model as it is and without positions."""
    pieces = source.ids[:-1] if source.ids[-1] == EOS else source.ids
    whole, blind = _moves(model, pieces), _moves(without_positions(model), pieces)
    return [PositionShift(*both) for both in zip(source.texts[: len(pieces)], whole, blind, strict=True)]


def _moves(model: "Transformer", pieces: tuple[int, ...]) -> list[float]:
    import torch

    device = model.embedding.weight.device
    with torch.inference_mode():
        forwards, backwards = (
            model.encode(torch.tensor([[*order, EOS]], device=device)).hidden_BSD[0, :-1]
            for order in (pieces, pieces[::-1])
        )
        backwards = backwards.flip(0)
    moved: list[float] = ((forwards - backwards).norm(dim=-1) / forwards.norm(dim=-1)).tolist()
    return moved


@dataclass(frozen=True)
class Sharpness:
    """The mean, over the pieces that look, of their largest weight: with scaling and without."""

    address: str
    scaled: float
    unscaled: float


def scaling_effect(whole: Trace, unscaled: Trace) -> list[Sharpness]:
    """How sharply each head looks, in both."""
    return [
        Sharpness(head, *(float(np.mean(trace[f"{head}.weight"].max(axis=-1))) for trace in (whole, unscaled)))
        for head in all_heads(whole)
    ]
