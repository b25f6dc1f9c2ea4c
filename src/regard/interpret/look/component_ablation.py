"""The same sentence without a part of the model: what the part is there for shows when it is gone.

Without positions, attention cannot tell one order of the words from another (section 3.5). Without the division by the
root of the width, dot products are so large that softmax gives nearly all to one word (section 3.2.1).
"""

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from regard.data.tokenizer import END
from regard.errors import LookError
from regard.inside.edits import Edit, Edited, check_head
from regard.inside.maps import all_heads
from regard.inside.trace import Recorder, Trace
from regard.inside.words import Tokens

if TYPE_CHECKING:
    from torch import Tensor

    from regard.model.transformer import Transformer

PARTS = ("positions", "scaling")


def changed(model: "Transformer", without: str | None) -> "tuple[Transformer, Recorder]":
    """A model and a lens that together do without that part; the model given is left as it is."""
    match without:
        case None:
            return model, Recorder()
        case "positions":
            return without_positions(model), Recorder()
        case "scaling":
            return model, _Unscaled()
    if "." in without:
        return model, Headless(check_head(without, model.settings))
    raise LookError(
        f"a sentence can be looked at without {', '.join(PARTS)} or a head such as encoder.1.self.1, not without "
        f"{without!r}"
    )


def headless_model(model: "Transformer", without: str | None) -> Edited | None:
    """The model without that head, if it is one that is to be left out."""
    if without is None or "." not in without:
        return None
    return Edited(model, Edit([check_head(without, model.settings)]))


def without_positions(model: "Transformer") -> "Transformer":
    """The same weights, shared, with zero for every position."""
    import torch

    shared = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    blind = copy.deepcopy(model, shared)
    zeros = torch.zeros_like(model.positions.weight)
    blind.positions.weight = torch.nn.Parameter(zeros) if model.settings.positions == "learned" else zeros
    return blind


class Headless(Recorder):
    """Records what the model does without one head."""

    def __init__(self, head: str) -> None:
        super().__init__()
        self._edit = Edit([head])

    def weights(self, name: str, weights_BHLM: "Tensor") -> "Tensor":
        return super().weights(name, self._edit.weights(name, weights_BHLM))


class _Unscaled(Recorder):
    """Gives each attention the softmax of its raw scores."""

    def weights(self, name: str, weights_BHLM: "Tensor") -> "Tensor":
        scores_BHLM = self.seen[f"{name}.score"]
        mask = self.seen.get(f"{name}.mask")
        if mask is not None:
            scores_BHLM = scores_BHLM.masked_fill(~mask, float("-inf"))
        return super().weights(name, scores_BHLM.softmax(dim=-1))


@dataclass(frozen=True)
class Moved:
    """How far a piece's last encoder vector moves, over its length, when the words come in reverse order."""

    piece: str
    with_positions: float
    without_positions: float


def lost_order(model: "Transformer", source: Tokens) -> list[Moved]:
    """The source read forwards and backwards, by the model as it is and without positions."""
    pieces = source.ids[:-1] if source.ids[-1] == END else source.ids
    whole, blind = _moves(model, pieces), _moves(without_positions(model), pieces)
    return [Moved(*both) for both in zip(source.pieces[: len(pieces)], whole, blind, strict=True)]


def _moves(model: "Transformer", pieces: tuple[int, ...]) -> list[float]:
    import torch

    device = model.embedding.weight.device
    with torch.inference_mode():
        forwards, backwards = (
            model.encode(torch.tensor([[*order, END]], device=device)).hidden_BSD[0, :-1]
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


def saturation(whole: Trace, unscaled: Trace) -> list[Sharpness]:
    """How sharply each head looks, in both."""
    return [
        Sharpness(head, *(float(np.mean(trace[f"{head}.weight"].max(axis=-1))) for trace in (whole, unscaled)))
        for head in all_heads(whole)
    ]
