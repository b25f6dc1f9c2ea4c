"""Measures on one sentence what changes without positional encoding or without the scaling of scores.

Without positional encoding, attention cannot distinguish two orders of the same words (section 3.5 of the paper).
Without the division by the square root of the head width, scores are so large that softmax puts nearly all weight on
one word (section 3.2.1).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from regard.interpret.interventions import without_positions
from regard.interpret.tokens import Tokens
from regard.interpret.trace import Recorder, Trace
from regard.tokenizers.special_ids import EOS

if TYPE_CHECKING:
    from regard.models.interface import AutoregressiveModel


@dataclass(frozen=True)
class PositionShift:
    """How much the encoder output of a token changes if the order of the source tokens is reversed.

    A shift is the norm of the difference of the two vectors, divided by the norm of the original vector.
    """

    token: str
    with_positions: float
    without_positions: float


def position_effect(model: "AutoregressiveModel", source: Tokens) -> list[PositionShift]:
    """Return, for each source token, how much its encoder output changes if the source is reversed."""
    ids = source.ids[:-1] if source.ids[-1] == EOS else source.ids
    shifts = zip(_relative_shifts(model, ids), _relative_shifts(without_positions(model), ids), strict=True)
    return [PositionShift(token, *pair) for token, pair in zip(source.texts[: len(ids)], shifts, strict=True)]


def _relative_shifts(model: "AutoregressiveModel", ids: tuple[int, ...]) -> list[float]:
    import torch

    from regard.models.inputs import Inputs

    last = next(stack for stack in model.anatomy().stacks if stack.side == "source").vectors[-1].address
    vectors = []
    with torch.inference_mode():
        for order in (ids, ids[::-1]):
            lens = Recorder()
            model.encode(Inputs(torch.tensor([[*order, EOS]], device=model.device)), lens)
            vectors.append(lens.tensors[last][0, :-1])
    forwards, backwards = vectors[0], vectors[1].flip(0)
    shifts: list[float] = ((forwards - backwards).norm(dim=-1) / forwards.norm(dim=-1)).tolist()
    return shifts


@dataclass(frozen=True)
class Sharpness:
    """The largest attention weight of a query in one head, averaged over all queries, with and without scaling."""

    address: str
    scaled: float
    unscaled: float


def scaling_effect(scaled: Trace, unscaled: Trace) -> list[Sharpness]:
    """Return the sharpness of every head, from a trace of the model with scaling and one without."""
    return [
        Sharpness(head, *(float(np.mean(trace[f"{head}.weight"].max(axis=-1))) for trace in (scaled, unscaled)))
        for head in scaled.anatomy.heads
    ]
