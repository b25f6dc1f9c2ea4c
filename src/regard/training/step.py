"""The training loop: a generator that takes steps and yields what each one did. It neither prints, saves nor stops.

Every random number of a step follows from the seed, the step and the part of the batch, so a step is the same whether
the run was interrupted before it or not.
"""

import hashlib
import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from regard.data.batching.batches import Batch, StreamPosition
from regard.errors import RunError
from regard.models.dropout import seeded
from regard.models.interface import SequenceModel
from regard.settings.train import TrainSettings
from regard.tokenizers.special_ids import BOS, PAD
from regard.training.loss import backward_in_chunks, loss_only
from regard.training.optimizers.schedule import learning_rate
from regard.training.out_of_memory import is_out_of_memory, split_batches
from regard.training.parallel.replicas import make_replicas, replica_count, run_replicas

Stream = Iterator[tuple[Batch, StreamPosition]]


@dataclass(frozen=True)
class Step:
    """What one step did."""

    step: int
    loss: float  # per target piece, smoothed, weighed, with dropout
    learning_rate: float
    target_tokens: int
    seconds: float
    position: StreamPosition  # where the data goes on
    skipped: bool = False  # the gradient was not finite, so the weights are as before
    splits: int = 1  # in which each hand computed its share of a micro-batch, to fit in memory


def derived_seed(*parts: int | str) -> int:
    """One seed per purpose and moment; no generator's state needs saving."""
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=8).digest()) >> 1


def training_steps(
    model: SequenceModel,
    optimizer: torch.optim.Optimizer,
    stream: Stream,
    settings: TrainSettings,
    *,
    width: int,
    first: int = 1,
    parts: Callable[[int], int] = lambda step: 1,
) -> Iterator[Step]:
    """Take the steps from `first` to the last, one per request; `parts` says how finely a step is cut at least."""
    device = next(model.parameters()).device
    models = make_replicas(model, replica_count(width, settings.micro_batch_tokens, device.type))
    for one in models:
        one.train()
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)  # kept from step to step, for the same reason
    matrices = [parameter.data for parameter in model.parameters() if parameter.dim() == 2]
    for step in range(first, settings.steps + 1):
        began = time.perf_counter()
        rate = learning_rate(step, settings, width)
        for group in optimizer.param_groups:
            group["lr"] = rate
        micro = list(itertools.islice(stream, micro_batches(settings)))
        loss, tokens, used = gradient_with_retry(models, [batch for batch, _ in micro], settings, step, parts(step))
        gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
        norm = nn.utils.get_total_norm(gradients, foreach=True)
        finite = math.isfinite(loss) and math.isfinite(norm.item())
        if finite and settings.max_grad_norm:
            nn.utils.clip_grads_with_norm_(model.parameters(), settings.max_grad_norm, norm, foreach=True)
        if finite:
            for matrix in matrices if settings.weight_decay > 0 else ():
                matrix.mul_(max(0.0, 1 - rate * settings.weight_decay))
            optimizer.step()
        seconds = time.perf_counter() - began
        yield Step(step, loss / tokens, rate, tokens, seconds, micro[-1][1], skipped=not finite, splits=used)
        model.train()  # whoever asked for the step may have validated


def gradient_with_retry(
    models: Sequence[SequenceModel], batches: list[Batch], settings: TrainSettings, step: int, parts: int
) -> tuple[float, int, int]:
    """As `gradient`, a part for each model; whenever memory runs out, in twice as many. Also in how many at last."""
    most = max(len(batch.source_BS) for batch in batches)
    while True:
        try:
            return *accumulate_gradients(models, split_batches(batches, parts * len(models)), settings, step), parts
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            if parts * len(models) >= most:
                raise RunError(
                    f"step {step:,} does not fit in memory, even a pair at a time; end other programs and give the "
                    "same command again, or start anew with a smaller --size or a smaller model.max_positions"
                ) from error
        # Only here has the failed attempt given back what it held.
        parts *= 2
        for model in models:
            model.zero_grad(set_to_none=True)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def micro_batches(settings: TrainSettings) -> int:
    """How many micro-batches make a step."""
    return -(-settings.batch_tokens // settings.micro_batch_tokens)


def accumulate_gradients(
    models: Sequence[SequenceModel], batches: list[Batch], settings: TrainSettings, step: int
) -> tuple[float, int]:
    """Leave in `.grad` of the first model the gradient of the mean loss per target piece of all batches; return summed
    loss and pieces. Models that share its weights take their share of the batches, all at once.

    One division by all real pieces, so that any split into micro-batches gives the same gradient.
    """
    tokens = sum(batch.target_tokens for batch in batches)

    def share(hand: int) -> float:
        models[hand].zero_grad(set_to_none=False)
        numbers = range(hand, len(batches), len(models))
        return sum(
            _micro_batch_gradient(models[hand], batches[number], settings, step, number, tokens) for number in numbers
        )

    loss = sum(run_replicas(share, len(models)))
    for other in models[1:]:
        for whole, part in zip(models[0].parameters(), other.parameters(), strict=True):
            if part.grad is not None:
                whole.grad = part.grad if whole.grad is None else whole.grad.add_(part.grad)
        other.zero_grad(set_to_none=True)
    return loss, tokens


def _micro_batch_gradient(
    model: SequenceModel, batch: Batch, settings: TrainSettings, step: int, number: int, tokens: int
) -> float:
    """Add to `.grad` the share of micro-batch `number`; return its summed loss."""
    device = next(model.parameters()).device
    with seeded(derived_seed(settings.seed, "dropout", step, number), device):
        return backward_in_chunks(
            model,
            torch.from_numpy(batch.source_BS).to(device),
            torch.from_numpy(batch.target_BT).to(device),
            start=BOS,
            pad=PAD,
            smoothing=settings.label_smoothing,
            tokens=tokens,
            bfloat16=settings.precision == "bfloat16",
            weight_BT=None if batch.weight_BT is None else torch.from_numpy(batch.weight_BT).to(device),
        )


@torch.inference_mode()
def validation_loss(model: SequenceModel, batches: Iterator[Batch]) -> float:
    """Cross entropy per target piece, without smoothing or dropout."""
    model.train(False)
    device = next(model.parameters()).device
    loss, tokens = 0.0, 0
    for batch in batches:
        source_BS = torch.from_numpy(batch.source_BS).to(device)
        target_BT = torch.from_numpy(batch.target_BT).to(device)
        loss += loss_only(model, source_BS, target_BT, start=BOS, pad=PAD)
        tokens += batch.target_tokens
    return loss / tokens
