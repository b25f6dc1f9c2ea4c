"""Estimates the memory of a run before it starts, and chooses a micro-batch that fits in the free memory.

Parameters, gradients and optimizer state are computed from the model's shape. The activations that a forward pass keeps
for the backward pass are measured on a few pairs, because they grow only with the tokens of a micro-batch.
"""

import math
from collections.abc import Callable

import torch

from regard.data.batching.batches import Batch
from regard.errors import RunError
from regard.models.interface import SequenceModel
from regard.models.kinds.transformer import Transformer
from regard.render.units import format_bytes
from regard.settings.kinds.transformer import TransformerSettings
from regard.settings.train import TrainSettings
from regard.training.loss import CHUNK_LOGITS, GPU_CHUNK_LOGITS

USABLE_SHARE = 0.8  # of the free memory; the rest is left to other programs

MIN_TOKENS = 256  # smaller micro-batches hardly save memory, and are slow

_FLOAT_BYTES = 4

_BACKWARD_FACTOR = 1.75  # memory of the forward and backward pass, relative to the activations kept in between

_LIBRARY_BYTES = 100_000_000  # allocated by the libraries themselves during the first computations

_LOGITS_COPIES = 3  # chunks of logits held at once: the logits, their gradient, and a temporary copy


def fixed_bytes(settings: TransformerSettings, device: str, replicas: int = 1) -> int:
    """Return the bytes of a run that do not depend on the micro-batch, without allocating the model."""
    with torch.device("meta"):
        sizes = [parameter.numel() for parameter in Transformer(settings).parameters()]
    logits = CHUNK_LOGITS if device == "cpu" else GPU_CHUNK_LOGITS
    # Parameters and two Adam moments; per replica the gradients, an additional copy of the largest gradient while it is
    # summed, and the chunks of logits.
    per_replica = sum(sizes) + max(sizes) + _LOGITS_COPIES * logits
    return _LIBRARY_BYTES + _FLOAT_BYTES * (3 * sum(sizes) + replicas * per_replica)


def activation_bytes_per_token(model: SequenceModel, batch: Batch, settings: TrainSettings) -> float:
    """Return the bytes that a pass takes per token of a micro-batch, assuming that both sides have equal length."""
    parameters = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    saved: dict[int, int] = {}

    def record(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in parameters:
            saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    device = next(model.parameters()).device
    source_BS, target_BT = (torch.from_numpy(ids).to(device) for ids in (batch.source_BS, batch.target_BT))
    autocast = torch.autocast(device.type, torch.bfloat16, enabled=settings.precision == "bfloat16")
    hooks = torch.autograd.graph.saved_tensors_hooks(record, lambda tensor: tensor)
    with torch.random.fork_rng(devices=[]), autocast, hooks:
        hidden_BTD, _ = model.decode(target_BT, model.start(model.encode(source_BS)))
    del hidden_BTD
    return _BACKWARD_FACTOR * 2 * sum(saved.values()) / (source_BS.numel() + target_BT.numel())


def fit_micro_batch(
    fixed: Callable[[int], int], bytes_per_token: float, wanted_tokens: int, free: int
) -> tuple[int, str]:
    """Halve the tokens of a micro-batch until a step fits in the free memory; return them, and the reason.

    `fixed` returns `fixed_bytes` for a micro-batch of this many tokens: a smaller one has fewer replicas.
    """
    tokens = wanted_tokens
    while fixed(tokens) + bytes_per_token * tokens > USABLE_SHARE * free and tokens > MIN_TOKENS:
        tokens = max(MIN_TOKENS, math.ceil(tokens / 2))
    needed = fixed(tokens) + bytes_per_token * tokens
    check_fits(needed, free)
    reason = f"about {format_bytes(needed)} of memory for micro-batches of {tokens:,} tokens"
    if tokens < wanted_tokens:
        reason += f" (train.micro_batch_tokens was {wanted_tokens:,}, but only {format_bytes(free)} are free)"
    return tokens, reason


def check_fits(needed: float, free: int) -> None:
    """Raise a `RunError` if a run needs more than the usable share of the free memory."""
    if needed > USABLE_SHARE * free:
        raise RunError(
            f"training would need about {format_bytes(needed)} of memory, but only {format_bytes(free)} are free, and "
            f"a run uses at most {USABLE_SHARE:.0%} of that; close other programs, or choose a smaller --size"
        )
