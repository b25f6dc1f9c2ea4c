"""What a run will do, decided once before its first step and only read afterwards.

Where the user named neither size nor time, both are chosen here from the data and the machine, with the reason said.
A budget of time becomes a number of steps by measuring a few, so that an interrupted run keeps its schedule.
"""

import dataclasses
import os
import platform
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from regard.data.batches import Batch, Position
from regard.errors import RunError, SettingsError
from regard.files import read_sealed, write_sealed
from regard.model.transformer import Transformer
from regard.settings import DecodeSettings, ModelSettings, Settings, TokenizerSettings, TrainSettings, from_dict
from regard.training import bfloat16
from regard.training.hands import copies, how_many
from regard.training.loop import gradient, make_optimizer, micro_batches
from regard.training.schedule import highest
from regard.training.splits import cut

SMALL_FROM_PAIRS = 100_000  # below this, a processor gets more out of `tiny` in the same time
LONGEST_SECONDS = 2 * 3600  # what we take on ourselves when nobody named a time
SHARE_FOR_STEPS = 0.92  # of a budget; validation and the end take the rest
MOST_VALIDATIONS = 20
FORGET_PASSES, FORGET_STEPS = 3, 250  # in how many of each, at least, a matrix forgets what it was


@dataclass(frozen=True)
class Plan:
    """A run, whole: the same plan on the same machine gives the same weights, bit for bit."""

    request: dict[str, Any]  # what the user asked for, to recognise the same command
    settings: Settings
    validate_every: int
    seconds_per_step: float
    threads: int
    device: str
    versions: dict[str, str]
    reasons: tuple[str, ...]

    @property
    def seconds(self) -> float:
        """How long it should take, validation included."""
        return self.settings.train.steps * self.seconds_per_step / SHARE_FOR_STEPS

    def validates(self, step: int) -> bool:
        return step > 0 and (step % self.validate_every == 0 or step == self.settings.train.steps)

    def averaged_steps(self, last: int) -> list[int]:
        """The checkpoints that an average ending at step `last` takes in."""
        points = sorted({*range(self.validate_every, last + 1, self.validate_every), last})
        return points[-self.settings.train.average :]


def parse_duration(text: str) -> float:
    """Seconds of `90s`, `20m`, `1h30m`, `2h`."""
    found = re.fullmatch(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?", text.strip())
    if not text.strip() or found is None:
        raise SettingsError(f"--budget {text}: write a time such as 90s, 20m or 1h30m")
    hours, minutes, seconds = (float(part or 0) for part in found.groups())
    total = hours * 3600 + minutes * 60 + seconds
    if total == 0:
        raise SettingsError(f"--budget {text}: that is no time at all; write a time such as 90s, 20m or 1h30m")
    return total


def choose_size(pairs: int, device: str) -> tuple[str, str]:
    """A size, and why."""
    machine = "a GPU" if device != "cpu" else f"{os.cpu_count()} processor cores"
    if device != "cpu":
        size = "base" if pairs >= 10 * SMALL_FROM_PAIRS else "small"
    else:
        size = "small" if pairs >= SMALL_FROM_PAIRS else "tiny"
    return size, f"size {size}, because there are {pairs:,} training pairs and {machine}"


@dataclass(frozen=True)
class Speed:
    """What one step takes on this machine, and how many target pieces it has."""

    seconds: float
    tokens: float


def choose_steps(target_tokens: int, speed: Speed) -> tuple[int, str]:
    """Enough passes over the data to learn it, within a time one can wait for; and why."""
    passes = min(40.0, max(5.0, 30e6 / target_tokens))
    wanted = max(500, round(passes * target_tokens / speed.tokens))
    affordable = max(1, round(SHARE_FOR_STEPS * LONGEST_SECONDS / speed.seconds))
    if affordable < wanted:
        return affordable, (
            f"{affordable:,} steps, what fits in {LONGEST_SECONDS // 3600} hours on this machine "
            f"({wanted:,} would be better: --steps {wanted}, or a --budget)"
        )
    return wanted, f"{wanted:,} steps, about {wanted * speed.tokens / target_tokens:.0f} passes over the data"


def choose_decay(target_tokens: int, settings: TrainSettings, width: int) -> tuple[float, str]:
    """A weight decay, and why.

    What a model learns by heart are the pairs it sees again, so how long it remembers is counted in passes over them;
    what it sees once or twice it keeps. Much shorter than three passes costs more than it saves (docs/measurements.md).
    """
    steps = max(FORGET_STEPS, round(FORGET_PASSES * target_tokens / settings.batch_tokens))
    decay = 1 / (steps * highest(settings, width))
    return decay, f"weight decay {decay:.2g}, so that what was learnt {steps:,} steps ago fades"


def measure(
    model: Transformer, stream: Iterator[tuple[Batch, Position]], settings: TrainSettings, seconds: float
) -> Speed:
    """How long a step takes here, from a few micro-batches, and an update at a rate of 0, which changes no weight."""
    model.train()
    device = next(model.parameters()).device.type
    models = copies(model, how_many(model.settings.width, settings.micro_tokens, device))
    # The first few are slower: memory is fetched, threads are made.
    for seconds_here, least in ((seconds / 4, 1), (seconds, 3)):
        began, batches, tokens = time.perf_counter(), 0, 0
        while batches < least or time.perf_counter() - began < seconds_here:
            batch = next(stream)[0]
            gradient(models, cut([batch], len(models)), settings, 0)
            batches, tokens = batches + 1, tokens + batch.target_tokens
    per_micro = (time.perf_counter() - began) / batches
    optimizer = make_optimizer(model, settings)
    optimizer.step()  # a first time is slower
    began = time.perf_counter()
    optimizer.step()
    update = time.perf_counter() - began
    count = micro_batches(settings)
    return Speed(per_micro * count + update, tokens / batches * count)


def choose_validations(steps: int, seconds_per_step: float) -> int:
    """Steps between validations: not more often than every minute or so, and a few times at least."""
    count = min(MOST_VALIDATIONS, max(4, round(steps * seconds_per_step / 60)))
    return max(1, steps // count)


def steps_within(budget: float, spent: float, seconds_per_step: float) -> int:
    """How many steps a budget of seconds has room for, of which some are spent already."""
    steps = int(SHARE_FOR_STEPS * (budget - spent) / seconds_per_step)
    if steps < 1:
        raise RunError(
            f"a budget of {budget:.0f} s has no room for a step: preparing took {spent:.0f} s, and a step takes "
            f"{seconds_per_step:.1f} s; give a larger --budget, or --steps"
        )
    return steps


def pick_device(wanted: str, precision: str) -> str:
    """The device of a run that is to compute in this precision."""
    if wanted == "cuda" and not torch.cuda.is_available():
        raise RunError("train.device=cuda, but torch sees no CUDA GPU here; leave it at auto, or install a CUDA torch")
    if wanted == "mps" and not torch.backends.mps.is_available():
        raise RunError("train.device=mps, but torch sees no Apple GPU here; leave it at auto")
    # mps, which few have run, is only for who asks.
    device = wanted if wanted != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu" and precision == "bfloat16" and not bfloat16.survives():
        [(name, value)] = bfloat16.WITHOUT_TILES.items()
        raise RunError(
            "train.precision=bfloat16, but torch dies of it on this machine, as on virtual machines that announce AMX "
            f"and do not have it; set the environment variable {name}={value} before the command, or leave the "
            "precision at float32"
        )
    return device


def versions() -> dict[str, str]:
    """What computes, as far as it can change the last bit."""
    names = ("regard", "torch", "numpy", "sentencepiece")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """How a request differs from the one a run was started with, in words."""
    return [
        f"  {name}: was {_show(before.get(name))}, is now {_show(now.get(name))}"
        for name in sorted(before.keys() | now.keys())
        if before.get(name) != now.get(name)
    ]


def _show(value: Any) -> str:
    match value:
        case None:
            return "not given"
        case list() | dict() if not value:
            return "nothing"
        case {"name": name, "sha256": str(digest)}:
            return f"{name} ({digest[:12]})"
        case dict():
            return ", ".join(f"{name}={entry}" for name, entry in value.items())
        case list():
            return " ".join(map(_show, value))
    return str(value)


def save_plan(path: Path, plan: Plan) -> None:
    write_sealed(path, asdict(plan))


def load_plan(path: Path) -> Plan:
    try:
        saved = read_sealed(path)
    except ValueError as error:
        raise RunError(f"{error}; restore it from a copy, or start a new run in another --out") from None
    sections = saved["settings"]
    settings = Settings(
        model=from_dict(ModelSettings, sections["model"]),
        tokenizer=from_dict(TokenizerSettings, sections["tokenizer"]),
        train=from_dict(TrainSettings, sections["train"]),
        decode=from_dict(DecodeSettings, sections["decode"]),
    )
    return Plan(**{**saved, "settings": settings, "reasons": tuple(saved["reasons"])})


def with_steps(settings: Settings, steps: int) -> Settings:
    return dataclasses.replace(settings, train=dataclasses.replace(settings.train, steps=steps))
