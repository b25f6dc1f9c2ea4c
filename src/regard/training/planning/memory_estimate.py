"""How much memory learning takes, estimated before it starts, and the micro-batch that fits in what is free.

The weights, their gradients and Adam's two memories are counted; what a pass keeps for its way back is measured on a
few pairs, because it grows with the pieces of a micro-batch and with nothing else.
"""

import math
from collections.abc import Callable

import torch

from regard.data.batching.batches import Batch
from regard.errors import RunError
from regard.models.interface import SequenceModel
from regard.models.kinds.transformer import Transformer
from regard.render.units import format_memory
from regard.settings.kinds.transformer import TransformerSettings
from regard.settings.train import TrainSettings
from regard.training.loss import CHUNK_NUMBERS, GPU_CHUNK_NUMBERS

SHARE = 0.8  # of what is free; others want some too

LEAST_TOKENS = 256  # smaller micro-batches are hardly smaller, and slow

_NUMBER = 4  # bytes

_BACKWARD = 1.75  # what a pass keeps, and what its way back holds beside that

_LIBRARIES = 100_000_000  # what they set aside for themselves, once there is work

_LOGITS = 3  # chunks of scores at once: the scores, their gradient, and one in the making


def fixed_bytes(settings: TransformerSettings, device: str, replicas: int = 1) -> int:
    """What learning takes beside what grows with the micro-batch. Nothing is allocated to find out."""
    with torch.device("meta"):
        sizes = [parameter.numel() for parameter in Transformer(settings).parameters()]
    scores = CHUNK_NUMBERS if device == "cpu" else GPU_CHUNK_NUMBERS
    # Weight and two of Adam; for each hand a gradient, that of the largest once more, before it is added, and scores.
    return _LIBRARIES + _NUMBER * (3 * sum(sizes) + replicas * (sum(sizes) + max(sizes) + _LOGITS * scores))


def activation_bytes_per_token(model: SequenceModel, batch: Batch, settings: TrainSettings) -> float:
    """What a pass takes for each piece of a micro-batch, both sides counted as of equal length."""
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    kept: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    device = next(model.parameters()).device
    source_BS, target_BT = (torch.from_numpy(ids).to(device) for ids in (batch.source_BS, batch.target_BT))
    mixed = torch.autocast(device.type, torch.bfloat16, enabled=settings.precision == "bfloat16")
    with torch.random.fork_rng(devices=[]), mixed, torch.autograd.graph.saved_tensors_hooks(keep, lambda kept: kept):
        hidden_BTD, _ = model.decode(target_BT, model.start(model.encode(source_BS)))
    del hidden_BTD
    return _BACKWARD * 2 * sum(kept.values()) / (source_BS.numel() + target_BT.numel())


def fit_micro_batch(weights: Callable[[int], int], per_piece: float, micro_tokens: int, free: int) -> tuple[int, str]:
    """The largest micro-batch, halved as often as need be, that fits; and what was found.

    `weights` gives the bytes of `weights_bytes` for a micro-batch: a smaller one has fewer hands.
    """
    tokens = micro_tokens
    while weights(tokens) + per_piece * tokens > SHARE * free and tokens > LEAST_TOKENS:
        tokens = max(LEAST_TOKENS, math.ceil(tokens / 2))
    needed = weights(tokens) + per_piece * tokens
    check(needed, free)
    found = f"about {format_memory(needed)} of memory for a step of {tokens:,} pieces at a time"
    if tokens < micro_tokens:
        found += f" (train.micro_batch_tokens was {micro_tokens:,}, but only {format_memory(free)} are free)"
    return tokens, found


def check(needed: float, free: int) -> None:
    """Stop before the start if what is needed is not there."""
    if needed > SHARE * free:
        raise RunError(
            f"learning would take about {format_memory(needed)} of memory, and {format_memory(free)} are free, "
            f"of which a run takes at most {SHARE:.0%}; end other programs, or choose a smaller --size"
        )
