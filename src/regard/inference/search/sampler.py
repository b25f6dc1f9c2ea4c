"""Sampling of the next token from the model's distribution.

The caller supplies a uniform random number for each token, so the same numbers always sample the same tokens.

Shapes: B unfinished sentences, K samples per sentence, N = B * K hypotheses, V vocabulary, T steps.
"""

import random
from collections.abc import Sequence

import torch
from torch import Tensor

from regard.inference.search.candidates import Candidates
from regard.settings.decode import DecodeSettings


def sample(log_NV: Tensor, total_BK: Tensor, uniform_BK: Tensor, decode: DecodeSettings) -> Candidates:
    """Sample the next token of each of K hypotheses. At the first step, they all continue the same empty hypothesis."""
    before, beams = total_BK.size(1), uniform_BK.size(1)
    log_BKV = log_NV.unflatten(0, total_BK.shape).expand(-1, beams, -1)
    # Tokens stay in the order of the vocabulary: an order by probability would depend on rounding errors, which differ
    # between batches. The sums are computed on the CPU, because not every device has double precision.
    sums_BKV = _weights(log_BKV.to(uniform_BK.device).double(), decode).cumsum(dim=2)
    thresholds_BK1 = uniform_BK[:, :, None] * sums_BKV[:, :, -1:]
    last = log_BKV.size(2) - 1
    tokens_BK1 = torch.searchsorted(sums_BKV, thresholds_BK1, right=True).clamp(max=last).to(log_NV.device)
    log_BK = log_BKV.gather(2, tokens_BK1).squeeze(2)
    beams_BK = torch.arange(beams, device=log_NV.device).clamp(max=before - 1).expand_as(log_BK)
    return Candidates(total_BK + log_BK, beams_BK, tokens_BK1.squeeze(2), log_BK)


def _weights(log_BKV: Tensor, decode: DecodeSettings) -> Tensor:
    """Return the unnormalised probability of each token, after temperature, top-k and top-p."""
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
    """Return random numbers (B, T, K) between 0 and 1, which depend on the seed and the source, not on the batch."""
    return torch.tensor([_uniform_numbers_of(source, steps, decode) for source in sources], dtype=torch.float64)


def _uniform_numbers_of(source: Sequence[int], steps: int, decode: DecodeSettings) -> list[list[float]]:
    numbers = random.Random(repr((decode.seed, [*source])))
    return [[numbers.random() for _ in range(decode.n_best)] for _ in range(steps)]
