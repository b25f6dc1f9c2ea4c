"""The label-smoothed loss (section 5.4 of the paper), summed over the real target tokens.

The logits of all positions over the whole vocabulary are the largest tensor of training, so they are never held at
once: positions go through the projection in chunks, and the gradient of each chunk is computed immediately.

Shapes: B pairs, S source length, T target length, N real target tokens, D width, V vocabulary.
"""

from collections.abc import Iterator
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.models.interface import SequenceModel

CHUNK_LOGITS = 4_000_000  # logits held at once: 16 MB, which stays in the cache of the CPU
GPU_CHUNK_LOGITS = 64_000_000  # a GPU needs larger matrix products


def summed_loss(
    logits_NV: Tensor,
    target_N: Tensor,
    label_smoothing: float,
    weight_N: Tensor | None = None,
    *,
    gradient_divisor: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Return the weighted sum of the label-smoothed cross entropy, and its gradient divided by `gradient_divisor`.

    The target distribution has 1 - label_smoothing on the correct token plus label_smoothing spread over the whole
    vocabulary; the gradient is the softmax minus that distribution. It overwrites `logits_NV` to save memory.
    """
    smoothed = label_smoothing / logits_NV.size(1)
    correct_N1, sum_N1 = logits_NV.gather(1, target_N[:, None]), logits_NV.sum(dim=1, keepdim=True)
    max_N1 = logits_NV.amax(dim=1, keepdim=True)
    gradient_NV = logits_NV.sub_(max_N1).exp_()
    total_N1 = gradient_NV.sum(dim=1, keepdim=True)
    loss_N1 = max_N1 + total_N1.log() - (1 - label_smoothing) * correct_N1 - smoothed * sum_N1
    gradient_NV.div_(total_N1 * gradient_divisor).sub_(smoothed / gradient_divisor)
    correction_N1 = torch.full_like(correct_N1, (label_smoothing - 1) / gradient_divisor)
    gradient_NV.scatter_add_(1, target_N[:, None], correction_N1)
    if weight_N is not None:
        loss_N1 = loss_N1 * weight_N[:, None]
        gradient_NV.mul_(weight_N[:, None])
    return loss_N1.sum(), gradient_NV


def backward_in_chunks(
    model: SequenceModel,
    source_BS: Tensor,
    target_BT: Tensor,
    *,
    bos: int,
    pad: int,
    label_smoothing: float,
    tokens: int,
    bfloat16: bool = False,
    weight_BT: Tensor | None = None,
) -> float:
    """Add the gradient of a micro-batch's summed loss, divided by `tokens`, to `.grad`; return the summed loss.

    `weight_BT` is the loss weight of each target token; None weighs every token 1.
    """
    autocast = partial(torch.autocast, source_BS.device.type, torch.bfloat16, enabled=bfloat16)
    with autocast():
        hidden_ND, target_N = teacher_forced_hidden(model, source_BS, target_BT, bos, pad)
    leaf_ND = hidden_ND.detach().requires_grad_()
    total = torch.zeros((), device=source_BS.device)
    weight_N = None if weight_BT is None else weight_BT[target_BT != pad]
    done = 0
    for chunk_ND, chunk_N in _chunks(model, leaf_ND, target_N):
        with autocast():
            logits_NV = model.project(chunk_ND)
        logits_NV = logits_NV.float()
        chunk_weight_N = None if weight_N is None else weight_N[done : done + len(chunk_N)]
        loss, gradient_NV = summed_loss(
            logits_NV.detach(), chunk_N, label_smoothing, chunk_weight_N, gradient_divisor=tokens
        )
        done += len(chunk_N)
        logits_NV.backward(gradient_NV)
        total += loss
    hidden_ND.backward(leaf_ND.grad)
    return total.item()


def loss_only(model: SequenceModel, source_BS: Tensor, target_BT: Tensor, *, bos: int, pad: int) -> float:
    """Return the summed cross entropy, without label smoothing and without a gradient."""
    hidden_ND, target_N = teacher_forced_hidden(model, source_BS, target_BT, bos, pad)
    return sum(
        F.cross_entropy(model.project(chunk_ND).float(), chunk_N, reduction="sum").item()
        for chunk_ND, chunk_N in _chunks(model, hidden_ND, target_N)
    )


def teacher_forced_hidden(
    model: SequenceModel, source_BS: Tensor, target_BT: Tensor, bos: int, pad: int
) -> tuple[Tensor, Tensor]:
    """Return the hidden state that predicts each real target token (N, D), and the ids of these tokens (N)."""
    shifted_BT = target_BT.roll(1, dims=1)
    shifted_BT[:, 0] = bos
    hidden_BTD, _ = model.decode(shifted_BT, model.start(model.encode(source_BS)))
    real_BT = target_BT != pad
    return hidden_BTD[real_BT], target_BT[real_BT]


def _chunks(model: SequenceModel, hidden_ND: Tensor, target_N: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Split positions into chunks of at most CHUNK_LOGITS logits, but at least one position each."""
    limit = CHUNK_LOGITS if hidden_ND.device.type == "cpu" else GPU_CHUNK_LOGITS
    rows = max(1, limit // model.vocab_size)
    return zip(hidden_ND.split(rows), target_N.split(rows), strict=True)
