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

from regard.data.batches import batches
from regard.data.check import Report
from regard.data.pairs import Corpus
from regard.data.texts import Preparing, Work
from regard.decoding.speed import peak_memory_mb
from regard.heap import kept_memory
from regard.model.transformer import Transformer
from regard.settings import Layer, Settings, assemble, size_layer
from regard.training import plan as planning
from regard.training.forecast import Sample, take_sample, training_pairs
from regard.training.loop import gradient, learn, make_optimizer
from regard.training.plan import Speed
from regard.training.splits import explained

_WARM = 2  # steps
_SECONDS = 20.0  # of steps that count; at least three
_PEAK_WIDTH = 1536  # of the matrices whose product shows what the machine can do


@dataclass(frozen=True)
class Pace:
    """What training does on this machine."""

    size: str
    parameters: int
    pieces_per_second: float  # of the target
    seconds_per_step: float
    gigaflops: float  # in matrix products, attention's own left out
    peak_gigaflops: float  # in one large product of float32
    peak_memory_mb: float | None  # where the system tells
    steps: int  # for the data given
    seconds: float


def measure(train: Sequence[Corpus], report: Report, size: str | None, user: Layer) -> Work[Pace]:
    """Take steps on a sample of the data with the settings a user chose."""
    wanted = assemble(size_layer(size or "tiny"), user).train  # device and precision hang on no size
    device = planning.pick_device(wanted.device, wanted.precision)
    size = size or planning.choose_size(training_pairs(report), device)[0]
    settings = assemble(size_layer(size), user)
    with tempfile.TemporaryDirectory() as folder, kept_memory():
        sample = yield from take_sample(Path(folder), train, report, settings)
        settings = replace(settings, model=replace(settings.model, vocabulary=sample.tokenizer.rows))
        model = Transformer(settings.model, settings.train.dropout).to(device)
        yield Preparing("counting the arithmetic", 0, 1)
        per_piece = _arithmetic(model, settings, sample)
        yield Preparing("taking steps", 0, 1)
        with explained():
            speed = _step(model, settings, sample)
    yield Preparing("trying the machine", 0, 1)
    chosen = "steps" not in user.get("train", {}) and size in ("tiny", "small")
    steps = planning.choose_steps(sample.tokens, speed)[0] if chosen else settings.train.steps
    return Pace(
        size=size,
        parameters=sum(weight.numel() for weight in model.parameters()),
        pieces_per_second=speed.tokens / speed.seconds,
        seconds_per_step=speed.seconds,
        gigaflops=per_piece * speed.tokens / speed.seconds / 1e9,
        peak_gigaflops=peak(device) / 1e9,
        peak_memory_mb=peak_memory_mb(),
        steps=steps,
        seconds=steps * speed.seconds / planning.SHARE_FOR_STEPS,
    )


def _arithmetic(model: Transformer, settings: Settings, sample: Sample) -> float:
    """Operations of matrix products for a target piece, forward and back."""
    stream = batches(sample.shards.train, tokens=settings.train.micro_tokens, seed=settings.train.seed)
    with FlopCounterMode(display=False) as counter:
        _, tokens = gradient([model], [next(stream)[0]], settings.train, 0)
    return float(counter.get_total_flops()) / tokens


def _step(model: Transformer, settings: Settings, sample: Sample) -> Speed:
    train = replace(settings.train, steps=sys.maxsize)  # it is we who stop
    stream = batches(sample.shards.train, tokens=train.micro_tokens, seed=train.seed)
    steps = learn(model, make_optimizer(model, train), stream, train, width=settings.model.width)
    for _ in range(_WARM):
        next(steps)
    taken = [next(steps)]
    while len(taken) < 3 or sum(step.seconds for step in taken) < _SECONDS:
        taken.append(next(steps))
    count = len(taken)
    return Speed(sum(step.seconds for step in taken) / count, sum(step.target_tokens for step in taken) / count)


def peak(device: str) -> float:
    """Operations a second in a large product, the best of several."""
    matrix = torch.randn(_PEAK_WIDTH, _PEAK_WIDTH, device=device)
    best = 0.0
    for _ in range(8):
        began = time.perf_counter()
        float((matrix @ matrix)[0, 0])  # asks a GPU to be done
        best = max(best, 2 * _PEAK_WIDTH**3 / (time.perf_counter() - began))
    return best
