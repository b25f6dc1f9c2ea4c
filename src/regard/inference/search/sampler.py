"""How each sentence goes on: by its best continuations, or by pieces drawn at random.

Chance comes from outside, as a number between 0 and 1 for each draw, so that the same numbers draw the same pieces.

Shapes: B sentences still open, K beams, N = B * K rows, V vocabulary, C candidates of a sentence, E of one of its
beams, T steps.
"""

import random
from collections.abc import Sequence

import torch
from torch import Tensor

from regard.inference.search.candidates import Candidates
from regard.settings.decode import DecodeSettings


def sample(log_NV: Tensor, total_BK: Tensor, chances_BK: Tensor, decode: DecodeSettings) -> Candidates:
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


def uniform_numbers(sources: Sequence[Sequence[int]], steps: int, decode: DecodeSettings) -> Tensor:
    """Numbers between 0 and 1 (B, T, K) that follow from the seed and from each source alone, whatever its company."""
    return torch.tensor([_uniform_numbers_of(source, steps, decode) for source in sources], dtype=torch.float64)


def _uniform_numbers_of(source: Sequence[int], steps: int, decode: DecodeSettings) -> list[list[float]]:
    numbers = random.Random(repr((decode.seed, [*source])))
    return [[numbers.random() for _ in range(decode.n_best)] for _ in range(steps)]
