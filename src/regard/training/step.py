"""The training loop: a generator that takes training steps and yields the result of each. It does not print or save.

All random numbers depend only on the seed, the number of the step, and the number of the micro-batch in the step. A
step therefore has the same result whether or not the run was interrupted before it.
"""

import hashlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor, nn

from regard.data.batching.batches import Batch, StreamPosition
from regard.errors import RunError
from regard.models.dropout import seeded
from regard.models.interface import SequenceModel
from regard.settings.train import TrainSettings
from regard.training.loss import backward_in_chunks, loss_only
from regard.training.objectives import objective_of
from regard.training.optimizers.schedule import learning_rate
from regard.training.out_of_memory import is_out_of_memory, slice_batches
from regard.training.parallel.replicas import make_replicas, optimizer_shares, replica_count, run_replicas

Stream = Iterator[tuple[Batch, StreamPosition]]


@dataclass(frozen=True)
class Step:
    """The result of one training step."""

    step: int
    loss: float  # training loss per predicted token, with label smoothing, token weights and dropout
    learning_rate: float
    target_tokens: int  # number of target tokens in the step
    seconds: float  # duration of the step
    position: StreamPosition  # position in the training data after the step
    skipped: bool = False  # whether the gradient was not finite, so that the parameters were not updated
    slices: int = 1  # number of slices into which each replica cut its share of a micro-batch to save memory


def derived_seed(*purpose: int | str) -> int:
    """Return a seed that depends only on the arguments, so that checkpoints need no state of random generators."""
    return int.from_bytes(hashlib.blake2b(repr(purpose).encode(), digest_size=8).digest()) >> 1


def training_steps(
    model: SequenceModel,
    optimizer: torch.optim.Optimizer,
    stream: Stream,
    settings: TrainSettings,
    *,
    first: int = 1,
    min_slices: Callable[[int], int] = lambda step: 1,
) -> Iterator[Step]:
    """Take the steps from `first` to `settings.steps`, and yield the result of each.

    `min_slices` returns the number of slices with which a step begins; more are used if memory runs out.
    """
    width = model.settings.width
    replicas = make_replicas(model, replica_count(width, settings.micro_batch_tokens, model.device.type))
    shares = optimizer_shares(optimizer, len(replicas))
    for replica in replicas:
        replica.train()
    for parameter in model.parameters():
        # Allocate the gradients now, for all steps. The first step would allocate them between the activations, which
        # would fragment the heap.
        parameter.grad = torch.zeros_like(parameter)
    for step in range(first, settings.steps + 1):
        began = time.perf_counter()
        rate = learning_rate(step, settings, width)
        micro_batches = list(islice(stream, micro_batches_per_step(settings)))
        batches = [batch for batch, _ in micro_batches]
        loss, count, slices = gradient_with_retry(replicas, batches, settings, step, min_slices(step))
        gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
        norm = nn.utils.get_total_norm(gradients, foreach=True)
        is_finite = math.isfinite(loss) and math.isfinite(norm.item())
        if is_finite:
            update_parameters(shares, settings, rate, norm)
        seconds = time.perf_counter() - began
        position = micro_batches[-1][1]
        tokens = sum(batch.target_tokens for batch in batches)
        yield Step(step, loss / count, rate, tokens, seconds, position, skipped=not is_finite, slices=slices)
        model.train()  # the caller may have validated the model, which switches it to evaluation mode


def update_parameters(
    shares: Sequence[torch.optim.Optimizer], settings: TrainSettings, rate: float, norm: Tensor
) -> None:
    """Take an optimizer step with the learning rate `rate`, each share in its own thread.

    `norm` is the norm of the whole gradient, for gradient clipping.
    """
    run_replicas(lambda number: _update_share(shares[number], settings, rate, norm), len(shares))


def _update_share(share: torch.optim.Optimizer, settings: TrainSettings, rate: float, norm: Tensor) -> None:
    parameters = [parameter for group in share.param_groups for parameter in group["params"]]
    if settings.max_grad_norm:
        nn.utils.clip_grads_with_norm_(parameters, settings.max_grad_norm, norm, foreach=True)
    if settings.weight_decay > 0:
        for parameter in parameters:
            if parameter.dim() == 2:
                parameter.data.mul_(max(0.0, 1 - rate * settings.weight_decay))
    for group in share.param_groups:
        group["lr"] = rate
    share.step()


def gradient_with_retry(
    replicas: Sequence[SequenceModel], batches: list[Batch], settings: TrainSettings, step: int, slices: int
) -> tuple[float, int, int]:
    """Compute the gradient of a step; whenever memory runs out, double `slices` and try again.

    Each batch is divided among the replicas, and the share of each replica is cut into this number of slices.
    Return the summed loss, the number of predictions, and the number of slices with which memory was sufficient.
    """
    max_rows = max(map(len, batches))
    while True:
        try:
            sliced = slice_batches(batches, slices * len(replicas))
            return *accumulate_gradients(replicas, sliced, settings, step), slices
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            if slices * len(replicas) >= max_rows:
                raise RunError(
                    f"step {step:,} does not fit in memory, even one pair at a time; close other programs and run the "
                    "same command again, or start a new run with a smaller --size or a smaller model.max_positions"
                ) from error
        # The retry is outside the handler, because the exception keeps the tensors of the failed attempt in memory.
        slices *= 2
        for replica in replicas:
            replica.zero_grad(set_to_none=True)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def micro_batches_per_step(settings: TrainSettings) -> int:
    """Return the number of micro-batches in a training step."""
    return -(-settings.batch_tokens // settings.micro_batch_tokens)


def accumulate_gradients(
    replicas: Sequence[SequenceModel], batches: list[Batch], settings: TrainSettings, step: int
) -> tuple[float, int]:
    """Compute the gradient of the mean loss per prediction, and leave it in `.grad` of the first replica.

    Return the summed loss and the number of predictions, which are all target tokens when a model learns to translate.
    The replicas share their parameters and process the batches in parallel. Each loss is divided by the number of
    predictions in all batches, so the gradient does not depend on the division into micro-batches.
    """
    objective = objective_of(replicas[0].settings)
    seeds = [derived_seed(settings.seed, "objective", step, number) for number in range(len(batches))]
    count = sum(objective.count(batch, seed) for batch, seed in zip(batches, seeds, strict=True))

    def run(replica: int) -> float:
        replicas[replica].zero_grad(set_to_none=False)
        numbers = range(replica, len(batches), len(replicas))
        return sum(
            _micro_batch_gradient(replicas[replica], batches[number], settings, step, number, seeds[number], count)
            for number in numbers
        )

    loss = sum(run_replicas(run, len(replicas)))
    if len(replicas) > 1:
        run_replicas(lambda number: _add_gradients(replicas, number), len(replicas))
    return loss, count


def _add_gradients(replicas: Sequence[SequenceModel], number: int) -> None:
    """Add the gradients of all replicas for a share of the parameters, and leave the sums in the first replica."""
    parameters = zip(*(replica.parameters() for replica in replicas), strict=True)
    for first, *others in islice(parameters, number, None, len(replicas)):
        for other in others:
            if other.grad is not None:
                first.grad = other.grad if first.grad is None else first.grad.add_(other.grad)
                other.grad = None


def _micro_batch_gradient(
    model: SequenceModel, batch: Batch, settings: TrainSettings, step: int, number: int, seed: int, count: int
) -> float:
    """Add the gradient of a micro-batch to `.grad`, divided by `count`, and return its summed loss.

    The dropout mask depends on `number`, the index of the micro-batch in the step, and the objective on `seed`.
    """
    with seeded(derived_seed(settings.seed, "dropout", step, number), model.device):
        return backward_in_chunks(
            model,
            batch,
            label_smoothing=settings.label_smoothing,
            tokens=count,
            seed=seed,
            bfloat16=settings.precision == "bfloat16",
        )


@torch.inference_mode()
def validation_loss(model: SequenceModel, batches: Iterator[Batch], seed: int = 0) -> float:
    """Return the cross entropy per prediction over all batches, without label smoothing or dropout.

    The predictions are the same in each validation with the same seed.
    """
    model.eval()
    objective = objective_of(model.settings)
    loss, count = 0.0, 0
    for number, batch in enumerate(batches):
        batch_seed = derived_seed(seed, "validation", number)
        loss += loss_only(model, batch, batch_seed)
        count += objective.count(batch, batch_seed)
    return loss / count
