"""Measures how long a training step takes on this machine."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from regard.data.batching.batches import Batch, StreamPosition
from regard.models.interface import SequenceModel
from regard.settings.train import TrainSettings
from regard.training.optimizers.adam import make_optimizer
from regard.training.out_of_memory import slice_batches
from regard.training.parallel.replicas import make_replicas, optimizer_shares, replica_count
from regard.training.step import accumulate_gradients, micro_batches_per_step, update_parameters


@dataclass(frozen=True)
class StepTime:
    """The average duration of a training step on this machine."""

    seconds: float
    tokens: float  # average number of target tokens in a step


def measure_step_time(
    model: SequenceModel, stream: Iterator[tuple[Batch, StreamPosition]], settings: TrainSettings, seconds: float
) -> StepTime:
    """Measure the duration of a training step: time micro-batches for about `seconds`, then time one parameter update.

    The learning rate is 0, so the parameters do not change.
    """
    model.train()
    count = replica_count(model.settings.width, settings.micro_batch_tokens, model.device.type)
    replicas = make_replicas(model, count)
    # Only the second round counts. The first is slower, because it allocates memory and starts threads.
    for round_seconds, min_batches in ((seconds / 4, 1), (seconds, 3)):
        began, batches, tokens = time.perf_counter(), 0, 0
        while batches < min_batches or time.perf_counter() - began < round_seconds:
            batch = next(stream)[0]
            accumulate_gradients(replicas, slice_batches([batch], len(replicas)), settings, 0)
            batches, tokens = batches + 1, tokens + batch.target_tokens
    seconds_per_batch = (time.perf_counter() - began) / batches
    shares, norm = optimizer_shares(make_optimizer(model, settings), len(replicas)), torch.ones(())
    update_parameters(shares, settings, 0.0, norm)  # warm-up, not timed
    began = time.perf_counter()
    update_parameters(shares, settings, 0.0, norm)
    update_seconds = time.perf_counter() - began
    count = micro_batches_per_step(settings)
    return StepTime(seconds_per_batch * count + update_seconds, tokens / batches * count)
