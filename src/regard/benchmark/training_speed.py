"""How fast this machine learns: pieces a second, the share of its arithmetic that is put to use, memory, and the time
for one's own data. Real steps are taken, on a sample, and thrown away."""

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
from regard.machine.malloc import retain_freed_memory
from regard.machine.memory import peak_memory_mb
from regard.models.kinds.transformer import Transformer
from regard.progress import Progress, Work
from regard.settings.sections import Overrides, Settings, assemble
from regard.settings.sizes import size_overrides
from regard.training.optimizers.adam import make_optimizer
from regard.training.out_of_memory import explain_out_of_memory
from regard.training.planning import choices
from regard.training.planning.corpus_sample import Sample, take_sample, training_pairs
from regard.training.planning.step_time import StepTime
from regard.training.step import accumulate_gradients, training_steps

_WARM = 2  # steps

_SECONDS = 20.0  # of steps that count; at least three

_PEAK_WIDTH = 1536  # of the matrices whose product shows what the machine can do


@dataclass(frozen=True)
class TrainingSpeed:
    """What training does on this machine."""

    size: str
    parameters: int
    tokens_per_second: float  # of the target
    seconds_per_step: float
    gigaflops: float  # in matrix products, attention's own left out
    peak_gigaflops: float  # in one large product of float32
    peak_memory_mb: float | None  # where the system tells
    steps: int  # for the data given
    seconds: float


def measure_training(
    train: Sequence[Corpus], report: CorpusReport, size: str | None, user: Overrides
) -> Work[TrainingSpeed]:
    """Take steps on a sample of the data with the settings a user chose."""
    wanted = assemble(size_overrides(size or "tiny"), user).train  # device and precision hang on no size
    device = choices.pick_device(wanted.device, wanted.precision)
    size = size or choices.choose_model_size(training_pairs(report), device)[0]
    settings = assemble(size_overrides(size), user)
    with tempfile.TemporaryDirectory() as folder, retain_freed_memory():
        sample = yield from take_sample(Path(folder), train, report, settings)
        settings = replace(settings, model=replace(settings.model, vocab_size=sample.tokenizer.embedding_rows))
        model = Transformer(settings.model, settings.train.dropout).to(device)
        yield Progress("counting the arithmetic", 0, 1)
        per_piece = _arithmetic(model, settings, sample)
        yield Progress("taking steps", 0, 1)
        with explain_out_of_memory():
            speed = _step(model, settings, sample)
    yield Progress("trying the machine", 0, 1)
    chosen = "steps" not in user.get("train", {}) and size in ("tiny", "small")
    steps = choices.choose_steps(sample.tokens, speed)[0] if chosen else settings.train.steps
    return TrainingSpeed(
        size=size,
        parameters=sum(weight.numel() for weight in model.parameters()),
        tokens_per_second=speed.tokens / speed.seconds,
        seconds_per_step=speed.seconds,
        gigaflops=per_piece * speed.tokens / speed.seconds / 1e9,
        peak_gigaflops=peak(device) / 1e9,
        peak_memory_mb=peak_memory_mb(),
        steps=steps,
        seconds=steps * speed.seconds / choices.SHARE_FOR_STEPS,
    )


def _arithmetic(model: Transformer, settings: Settings, sample: Sample) -> float:
    """Operations of matrix products for a target piece, forward and back."""
    stream = batches(sample.shards.train, tokens=settings.train.micro_batch_tokens, seed=settings.train.seed)
    with FlopCounterMode(display=False) as counter:
        _, tokens = accumulate_gradients([model], [next(stream)[0]], settings.train, 0)
    return float(counter.get_total_flops()) / tokens


def _step(model: Transformer, settings: Settings, sample: Sample) -> StepTime:
    train = replace(settings.train, steps=sys.maxsize)  # it is we who stop
    stream = batches(sample.shards.train, tokens=train.micro_batch_tokens, seed=train.seed)
    steps = training_steps(model, make_optimizer(model, train), stream, train, width=settings.model.width)
    for _ in range(_WARM):
        next(steps)
    taken = [next(steps)]
    while len(taken) < 3 or sum(step.seconds for step in taken) < _SECONDS:
        taken.append(next(steps))
    count = len(taken)
    return StepTime(sum(step.seconds for step in taken) / count, sum(step.target_tokens for step in taken) / count)


def peak(device: str) -> float:
    """Operations a second in a large product, the best of several."""
    matrix = torch.randn(_PEAK_WIDTH, _PEAK_WIDTH, device=device)
    best = 0.0
    for _ in range(8):
        began = time.perf_counter()
        float((matrix @ matrix)[0, 0])  # asks a GPU to be done
        best = max(best, 2 * _PEAK_WIDTH**3 / (time.perf_counter() - began))
    return best
