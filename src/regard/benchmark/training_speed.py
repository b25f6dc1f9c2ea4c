"""The speed of training on this machine: tokens per second, FLOP/s compared with the peak, memory, and total time.

It is measured by real training steps on a sample of the data. The trained parameters are discarded.
"""

import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch.utils.flop_counter import FlopCounterMode

from regard.data.batching.batches import batches
from regard.data.check.corpus_report import CorpusReport
from regard.data.formats.corpus import Corpus
from regard.machine.memory import peak_memory_mb
from regard.models.build import build_model
from regard.models.interface import SequenceModel
from regard.progress import Progress, Work
from regard.settings.fields import Overrides
from regard.settings.kinds import get_kind
from regard.settings.sections import Settings, assemble, kind_of
from regard.settings.sizes import size_overrides
from regard.training.optimizers.adam import make_optimizer
from regard.training.out_of_memory import explain_out_of_memory
from regard.training.parallel.threads import default_threads, torch_threads
from regard.training.planning import choices
from regard.training.planning.corpus_sample import CorpusSample, take_sample, training_pairs
from regard.training.planning.step_time import StepTime
from regard.training.step import accumulate_gradients, training_steps

_WARMUP_STEPS = 2

_SECONDS = 20.0  # minimum total time of the measured steps; at least three steps are measured

_PEAK_WIDTH = 1536  # number of rows and columns of the matrices that are multiplied to measure the peak speed


@dataclass(frozen=True)
class TrainingSpeed:
    """The measured speed of training."""

    size: str
    parameters: int
    tokens_per_second: float  # target tokens per second
    seconds_per_step: float
    gigaflops: float  # 10^9 operations per second in matrix products; those of attention are counted only on CUDA
    peak_gigaflops: float  # 10^9 operations per second in one large float32 matrix product
    peak_memory_mb: float | None  # None if the system does not report it
    steps: int  # number of steps of a run on all the data
    seconds: float  # estimated time of a run on all the data


def measure_training(
    train: Sequence[Corpus], report: CorpusReport, size: str | None, user: Overrides
) -> Work[TrainingSpeed]:
    """Measure training steps on a sample of the data with the settings of the user."""
    kind = kind_of(user)
    any_size = size or next(iter(get_kind(kind).sizes))  # device and precision do not depend on the size
    requested = assemble(size_overrides(any_size, kind), user).train
    device = choices.pick_device(requested.device, requested.precision)
    has_steps = choices.states_steps(size_overrides(size, kind) if size is not None else {}, user)
    size = size or choices.choose_model_size(training_pairs(report), device, kind)[0]
    settings = assemble(size_overrides(size, kind), user)
    with tempfile.TemporaryDirectory() as folder, torch_threads(default_threads()):
        sample = yield from take_sample(Path(folder), train, report, settings)
        settings = replace(settings, model=settings.model.with_vocab_size(sample.tokenizer.embedding_rows))
        model = build_model(settings.model, settings.train.dropout).to(device)
        yield Progress("counting operations", 0, 1)
        operations_per_token = _operations_per_token(model, settings, sample)
        yield Progress("measuring training steps", 0, 1)
        with explain_out_of_memory():
            speed = _measure_steps(model, settings, sample)
        yield Progress("measuring the peak speed", 0, 1)
        peak = peak_speed(device)
    steps = settings.train.steps if has_steps else choices.choose_steps(sample.epoch_tokens, speed)[0]
    return TrainingSpeed(
        size=size,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        tokens_per_second=speed.tokens / speed.seconds,
        seconds_per_step=speed.seconds,
        gigaflops=operations_per_token * speed.tokens / speed.seconds / 1e9,
        peak_gigaflops=peak / 1e9,
        peak_memory_mb=peak_memory_mb(),
        steps=steps,
        seconds=steps * speed.seconds / choices.SHARE_FOR_STEPS,
    )


def _operations_per_token(model: SequenceModel, settings: Settings, sample: CorpusSample) -> float:
    """Return the number of operations in matrix products per target token, in forward and backward pass together."""
    stream = batches(sample.corpus.train, tokens=settings.train.micro_batch_tokens, seed=settings.train.seed)
    batch, _ = next(stream)
    with FlopCounterMode(display=False) as counter:
        accumulate_gradients([model], [batch], settings.train, 0)
    return float(counter.get_total_flops()) / batch.target_tokens


def _measure_steps(model: SequenceModel, settings: Settings, sample: CorpusSample) -> StepTime:
    train = replace(settings.train, steps=sys.maxsize)  # this function decides when to stop
    stream = batches(sample.corpus.train, tokens=train.micro_batch_tokens, seed=train.seed)
    steps = training_steps(model, make_optimizer(model, train), stream, train)
    for _ in range(_WARMUP_STEPS):
        next(steps)
    measured = [next(steps)]
    while len(measured) < 3 or sum(step.seconds for step in measured) < _SECONDS:
        measured.append(next(steps))
    seconds, tokens = sum(step.seconds for step in measured), sum(step.target_tokens for step in measured)
    return StepTime(seconds / len(measured), tokens / len(measured))


def peak_speed(device: str) -> float:
    """Return the operations per second of the fastest of several large matrix products."""
    generator = torch.Generator(device).manual_seed(1)  # the caller's random numbers do not change
    matrix = torch.randn(_PEAK_WIDTH, _PEAK_WIDTH, device=device, generator=generator)
    best = 0.0
    for _ in range(8):
        start = time.perf_counter()
        float((matrix @ matrix)[0, 0])  # reading an element waits until a GPU has finished
        best = max(best, 2 * _PEAK_WIDTH**3 / (time.perf_counter() - start))
    return best
