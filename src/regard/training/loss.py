"""The label-smoothed loss (section 5.4 of the paper), summed over all predicted tokens.

The logits of all positions would be the largest tensor of training, with one number for each position and each token
of the vocabulary. They are never all in memory: the logits and their gradient are computed for one chunk of positions
at a time.

Dimensions: N predicted tokens, D model width, V vocabulary size.
"""

from collections.abc import Iterator
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.data.batching.batches import Batch
from regard.models.interface import SequenceModel
from regard.training.objectives import objective_of

CHUNK_LOGITS = 4_000_000  # maximum number of logits in a chunk on a CPU: 16 MB, which fit in the CPU's cache
GPU_CHUNK_LOGITS = 64_000_000  # maximum number of logits in a chunk on a GPU, which needs larger matrix products


def summed_loss(
    logits_NV: Tensor,
    target_N: Tensor,
    label_smoothing: float,
    weight_N: Tensor | None = None,
    *,
    gradient_divisor: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Return the weighted sum of the label-smoothed cross entropy, and its gradient divided by `gradient_divisor`.

    The target distribution gives the correct token a probability of 1 - label_smoothing, and spreads label_smoothing
    evenly over the whole vocabulary. The gradient is the softmax minus the target distribution, and overwrites
    `logits_NV` to save memory.
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
    model: SequenceModel, batch: Batch, *, label_smoothing: float, tokens: int, seed: int = 0, bfloat16: bool = False
) -> float:
    """Compute the summed loss of a micro-batch and return it; add its gradient, divided by `tokens`, to `.grad`.

    The random choices of the objective depend on `seed`.
    """
    autocast = partial(torch.autocast, model.device.type, torch.bfloat16, enabled=bfloat16)
    with autocast():
        hidden_ND, target_N, weight_N = objective_of(model.settings).predict(model, batch, seed)
    leaf_ND = hidden_ND.detach().requires_grad_()
    total = torch.zeros((), device=model.device)
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


def loss_only(model: SequenceModel, batch: Batch, seed: int = 0) -> float:
    """Return the cross entropy of a micro-batch, summed over its predictions, without label smoothing or weights."""
    hidden_ND, target_N, _ = objective_of(model.settings).predict(model, batch, seed)
    return sum(
        F.cross_entropy(model.project(chunk_ND).float(), chunk_N, reduction="sum").item()
        for chunk_ND, chunk_N in _chunks(model, hidden_ND, target_N)
    )


def _chunks(model: SequenceModel, hidden_ND: Tensor, target_N: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Split the hidden states and target tokens into chunks that need at most CHUNK_LOGITS logits on a CPU.

    On other devices the limit is GPU_CHUNK_LOGITS. A chunk has at least one position, even if that exceeds the limit.
    """
    limit = CHUNK_LOGITS if hidden_ND.device.type == "cpu" else GPU_CHUNK_LOGITS
    rows = max(1, limit // model.settings.target_vocab_size)
    return zip(hidden_ND.split(rows), target_N.split(rows), strict=True)
