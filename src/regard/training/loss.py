"""The label-smoothed loss (section 5.4), as a sum over real target pieces.

The scores of all positions over the whole vocabulary are the largest thing in training, so they are never held at
once: positions pass through the projection a chunk at a time, and each chunk's gradient is made on the spot.
"""

from collections.abc import Iterator
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.models.interface import SequenceModel

CHUNK_NUMBERS = 4_000_000  # scores held at once: 16 MB, which stays near the processor
GPU_CHUNK_NUMBERS = 64_000_000  # a GPU wants larger products


def summed_loss(
    scores_NV: Tensor, target_N: Tensor, smoothing: float, weight_N: Tensor | None = None, *, over: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Cross entropy against (1 - smoothing) on the right piece and smoothing spread over all, summed by weight; and its
    gradient, softmax minus that target, divided by `over`.

    The gradient takes the place of the scores: they are used up.
    """
    each = smoothing / scores_NV.size(1)
    right_N1, sum_N1 = scores_NV.gather(1, target_N[:, None]), scores_NV.sum(dim=1, keepdim=True)
    highest_N1 = scores_NV.amax(dim=1, keepdim=True)
    gradient_NV = scores_NV.sub_(highest_N1).exp_()
    total_N1 = gradient_NV.sum(dim=1, keepdim=True)
    loss_N1 = highest_N1 + total_N1.log() - (1 - smoothing) * right_N1 - each * sum_N1
    gradient_NV.div_(total_N1 * over).sub_(each / over)
    gradient_NV.scatter_add_(1, target_N[:, None], torch.full_like(right_N1, (smoothing - 1) / over))
    if weight_N is not None:
        loss_N1 = loss_N1 * weight_N[:, None]
        gradient_NV.mul_(weight_N[:, None])
    return loss_N1.sum(), gradient_NV


def backward_in_chunks(
    model: SequenceModel,
    source_BS: Tensor,
    target_BT: Tensor,
    *,
    start: int,
    pad: int,
    smoothing: float,
    tokens: int,
    bfloat16: bool = False,
    weight_BT: Tensor | None = None,
) -> float:
    """Add to `.grad` this micro-batch's share of the mean loss over `tokens` pieces; return its summed loss.

    `weight_BT` is how much each piece counts; None is 1 for all.
    """
    forward = partial(torch.autocast, source_BS.device.type, torch.bfloat16, enabled=bfloat16)
    with forward():
        hidden_ND, target_N = teacher_forced_hidden(model, source_BS, target_BT, start, pad)
    leaf_ND = hidden_ND.detach().requires_grad_()
    total = torch.zeros((), device=source_BS.device)
    weight_N = None if weight_BT is None else weight_BT[target_BT != pad]
    done = 0
    for part_ND, part_N in _chunks(model, leaf_ND, target_N):
        with forward():
            scores_NV = model.project(part_ND)
        scores_NV = scores_NV.float()
        part_weight_N = None if weight_N is None else weight_N[done : done + len(part_N)]
        loss, gradient_NV = summed_loss(scores_NV.detach(), part_N, smoothing, part_weight_N, over=tokens)
        done += len(part_N)
        scores_NV.backward(gradient_NV)
        total += loss
    hidden_ND.backward(leaf_ND.grad)
    return total.item()


def loss_only(model: SequenceModel, source_BS: Tensor, target_BT: Tensor, *, start: int, pad: int) -> float:
    """The summed cross entropy, without smoothing and without a gradient."""
    hidden_ND, target_N = teacher_forced_hidden(model, source_BS, target_BT, start, pad)
    return sum(
        F.cross_entropy(model.project(part_ND).float(), part_N, reduction="sum").item()
        for part_ND, part_N in _chunks(model, hidden_ND, target_N)
    )


def teacher_forced_hidden(
    model: SequenceModel, source_BS: Tensor, target_BT: Tensor, start: int, pad: int
) -> tuple[Tensor, Tensor]:
    """What the model thinks before each real target piece (N, D), and those pieces (N)."""
    shifted_BT = target_BT.roll(1, dims=1)
    shifted_BT[:, 0] = start
    hidden_BTD, _ = model.decode(shifted_BT, model.start(model.encode(source_BS)))
    real_BT = target_BT != pad
    return hidden_BTD[real_BT], target_BT[real_BT]


def _chunks(model: SequenceModel, hidden_ND: Tensor, target_N: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Positions a few at a time, so that their scores fit CHUNK_NUMBERS."""
    numbers = CHUNK_NUMBERS if hidden_ND.device.type == "cpu" else GPU_CHUNK_NUMBERS
    rows = max(1, numbers // model.vocab_size)
    return zip(hidden_ND.split(rows), target_N.split(rows), strict=True)
