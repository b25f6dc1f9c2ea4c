"""Estimates the memory of a run before it starts, and chooses a micro-batch size that fits in the free memory.

The memory of parameters, gradients and optimizer state follows from the shape of the model. The activations that the
forward pass keeps for the backward pass are measured on a small micro-batch: they grow in proportion to its tokens.
"""

import math
from collections.abc import Callable

import torch

from regard.data.batching.batches import Batch
from regard.errors import RunError
from regard.models.build import parameter_shapes
from regard.models.interface import SequenceModel
from regard.render.units import format_bytes
from regard.settings.model import ModelSettings
from regard.settings.train import TrainSettings
from regard.training.loss import CHUNK_LOGITS, GPU_CHUNK_LOGITS
from regard.training.objectives import objective_of

USABLE_SHARE = 0.8  # share of the free memory that a run may use; the rest is left to other programs

MIN_TOKENS = 256  # minimum tokens in a micro-batch; smaller ones would be slow and hardly save memory

_FLOAT_BYTES = 4

# Peak memory of a forward and backward pass, divided by the memory of the activations kept for the backward pass.
_BACKWARD_FACTOR = 1.75

_LIBRARY_BYTES = 120_000_000  # memory that torch and other libraries allocate for themselves

_LOGITS_COPIES = 3  # number of tensors with a chunk of logits: the logits, their gradient, and a temporary copy


def fixed_bytes(settings: ModelSettings, device: str, replicas: int = 1) -> int:
    """Return the memory in bytes that a run needs besides the activations; the model itself is not allocated."""
    sizes = [math.prod(shape) for shape in parameter_shapes(settings).values()]
    logits = CHUNK_LOGITS if device == "cpu" else GPU_CHUNK_LOGITS
    # The run holds the parameters and two moments of Adam. Each replica holds its gradients, a second copy of the
    # largest gradient while gradients are added, and a few chunks of logits.
    per_replica = sum(sizes) + max(sizes) + _LOGITS_COPIES * logits
    return _LIBRARY_BYTES + _FLOAT_BYTES * (3 * sum(sizes) + replicas * per_replica)


def activation_bytes_per_token(model: SequenceModel, batch: Batch, settings: TrainSettings) -> float:
    """Return the memory in bytes that activations need, divided by the micro-batch size in tokens.

    The micro-batch size is the number of pairs times the length of the longer side. The estimate assumes that the
    other side has the same length.
    """
    parameters = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    saved: dict[int, int] = {}

    def record(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in parameters:
            saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    autocast = torch.autocast(model.device.type, torch.bfloat16, enabled=settings.precision == "bfloat16")
    hooks = torch.autograd.graph.saved_tensors_hooks(record, lambda tensor: tensor)
    with torch.random.fork_rng(devices=[]), autocast, hooks:
        predictions = objective_of(model.settings).predict(model, batch, 0)
    del predictions
    positions: int = sum(len(side) * side.values.shape[1] for side in (batch.source, batch.target))
    return _BACKWARD_FACTOR * 2 * sum(saved.values()) / positions


def fit_micro_batch(
    fixed: Callable[[int], int], bytes_per_token: float, wanted_tokens: int, free: int
) -> tuple[int, str]:
    """Halve the micro-batch size until a step fits in the free memory.

    Return the size in tokens, and the reason for it as a text. `fixed` is called with a micro-batch size, and returns
    the memory in bytes that is needed besides the activations. This memory depends on the micro-batch size, because a
    smaller micro-batch is divided among fewer replicas.
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
