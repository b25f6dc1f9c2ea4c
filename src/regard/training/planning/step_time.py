"""How long a training step takes on this machine."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from regard.data.batching.batches import Batch, StreamPosition
from regard.models.kinds.transformer import Transformer
from regard.settings.train import TrainSettings
from regard.training.optimizers.adam import make_optimizer
from regard.training.out_of_memory import split_batches
from regard.training.parallel.replicas import make_replicas, replica_count
from regard.training.step import accumulate_gradients, micro_batches


@dataclass(frozen=True)
class StepTime:
    """What one step takes on this machine, and how many target pieces it has."""

    seconds: float
    tokens: float


def measure_step_time(
    model: Transformer, stream: Iterator[tuple[Batch, StreamPosition]], settings: TrainSettings, seconds: float
) -> StepTime:
    """How long a step takes here, from a few micro-batches, and an update at a rate of 0, which changes no weight."""
    model.train()
    device = next(model.parameters()).device.type
    models = make_replicas(model, replica_count(model.settings.width, settings.micro_batch_tokens, device))
    # The first few are slower: memory is fetched, threads are made.
    for seconds_here, least in ((seconds / 4, 1), (seconds, 3)):
        began, batches, tokens = time.perf_counter(), 0, 0
        while batches < least or time.perf_counter() - began < seconds_here:
            batch = next(stream)[0]
            accumulate_gradients(models, split_batches([batch], len(models)), settings, 0)
            batches, tokens = batches + 1, tokens + batch.target_tokens
    per_micro = (time.perf_counter() - began) / batches
    optimizer = make_optimizer(model, settings)
    optimizer.step()  # a first time is slower
    began = time.perf_counter()
    optimizer.step()
    update = time.perf_counter() - began
    count = micro_batches(settings)
    return StepTime(per_micro * count + update, tokens / batches * count)
