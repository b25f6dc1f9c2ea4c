"""How each sentence goes on: by its best continuations, or by pieces drawn at random.

Chance comes from outside, as a number between 0 and 1 for each draw, so that the same numbers draw the same pieces.

Shapes: B sentences still open, K beams, N = B * K rows, V vocabulary, C candidates of a sentence, E of one of its
beams, T steps.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.settings import DecodeSettings


@dataclass(frozen=True)
class Candidates:
    """Continuations of each sentence: the beam each continues, and by which piece."""

    total_BC: Tensor
    beams_BC: Tensor
    pieces_BC: Tensor
    gains_BC: Tensor  # the log-probability of the piece alone

    def pick(self, index_BK: Tensor) -> "Candidates":
        return Candidates(
            self.total_BC.gather(1, index_BK),
            self.beams_BC.gather(1, index_BK),
            self.pieces_BC.gather(1, index_BK),
            self.gains_BC.gather(1, index_BK),
        )

    def keep(self, sentences: Tensor) -> "Candidates":
        return Candidates(
            self.total_BC[sentences], self.beams_BC[sentences], self.pieces_BC[sentences], self.gains_BC[sentences]
        )


def best(log_NV: Tensor, total_BK: Tensor, beams: int) -> Candidates:
    """The likeliest continuations, best first."""
    # 2K candidates: even if K of them end here, K are left to go on. One beam needs no second: it ends or goes on.
    count = 2 * beams if beams > 1 else 1
    # The best of a sentence are among the best of each of its beams; looking there first spares adding K * V sums.
    each = min(count, log_NV.size(1))
    gains_NE, pieces_NE = log_NV.topk(each, dim=1)
    gains_BKE, pieces_BKE = gains_NE.unflatten(0, total_BK.shape), pieces_NE.unflatten(0, total_BK.shape)
    total_BX = (total_BK[:, :, None] + gains_BKE).flatten(1)
    total_BC, index_BC = total_BX.topk(min(count, total_BX.size(1)), dim=1)
    return Candidates(
        total_BC, index_BC // each, pieces_BKE.flatten(1).gather(1, index_BC), gains_BKE.flatten(1).gather(1, index_BC)
    )


def draw(log_NV: Tensor, total_BK: Tensor, chances_BK: Tensor, decode: DecodeSettings) -> Candidates:
    """One piece for each beam, drawn by its chance. Before the first piece all beams of a sentence are one."""
    before, beams = total_BK.size(1), chances_BK.size(1)
    log_BKV = log_NV.unflatten(0, total_BK.shape).expand(-1, beams, -1)
    # In the order of the vocabulary: an order by probability would hang on the last digit, and so on the batch.
    # Where the chances are, on the processor: not every device has double precision.
    sums_BKV = _weights(log_BKV.to(chances_BK.device).double(), decode).cumsum(dim=2)
    aims_BK1 = chances_BK[:, :, None] * sums_BKV[:, :, -1:]
    pieces_BK1 = torch.searchsorted(sums_BKV, aims_BK1, right=True).clamp(max=log_BKV.size(2) - 1).to(log_NV.device)
    gains_BK = log_BKV.gather(2, pieces_BK1).squeeze(2)
    beams_BK = torch.arange(beams, device=log_NV.device).clamp(max=before - 1).expand_as(gains_BK)
    return Candidates(total_BK + gains_BK, beams_BK, pieces_BK1.squeeze(2), gains_BK)


def _weights(log_BKV: Tensor, decode: DecodeSettings) -> Tensor:
    """How often each piece is drawn, in comparison with the others."""
    weights_BKV = ((log_BKV - log_BKV.amax(dim=2, keepdim=True)) / decode.temperature).exp().nan_to_num()
    if decode.top_k:
        kept = log_BKV.topk(min(decode.top_k, log_BKV.size(2)), dim=2).indices
        weights_BKV = weights_BKV * torch.zeros_like(weights_BKV).scatter_(2, kept, 1.0)
    if decode.top_p < 1:
        sorted_BKV, order = weights_BKV.sort(dim=2, descending=True, stable=True)
        sums_BKV = sorted_BKV.cumsum(dim=2)
        enough_BKV = sums_BKV - sorted_BKV >= decode.top_p * sums_BKV[:, :, -1:]
        weights_BKV = weights_BKV.masked_fill(torch.zeros_like(enough_BKV).scatter_(2, order, enough_BKV), 0.0)
    return weights_BKV


def chances(sources: Sequence[Sequence[int]], steps: int, decode: DecodeSettings) -> Tensor:
    """Numbers between 0 and 1 (B, T, K) that follow from the seed and from each source alone, whatever its company."""
    return torch.tensor([_chances(source, steps, decode) for source in sources], dtype=torch.float64)


def _chances(source: Sequence[int], steps: int, decode: DecodeSettings) -> list[list[float]]:
    numbers = random.Random(repr((decode.seed, [*source])))
    return [[numbers.random() for _ in range(decode.best)] for _ in range(steps)]
