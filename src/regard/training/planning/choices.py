"""Rules that choose model size, number of steps, weight decay and device when the user does not."""

import os
import re

import torch

from regard.errors import RunError, SettingsError
from regard.machine import bfloat16
from regard.settings.train import TrainSettings
from regard.training.optimizers.schedule import peak_rate
from regard.training.planning.step_time import StepTime

SMALL_FROM_PAIRS = 100_000  # below this, a processor gets more out of `tiny` in the same time

MAX_SECONDS = 2 * 3600  # what we take on ourselves when nobody named a time

SHARE_FOR_STEPS = 0.92  # of a budget; validation and the end take the rest

MAX_VALIDATIONS = 20

FORGET_PASSES, FORGET_STEPS = 3, 250  # in how many of each, at least, a matrix forgets what it was


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


def choose_model_size(pairs: int, device: str) -> tuple[str, str]:
    """A size, and why."""
    machine = "a GPU" if device != "cpu" else f"{os.cpu_count()} processor cores"
    if device != "cpu":
        size = "base" if pairs >= 10 * SMALL_FROM_PAIRS else "small"
    else:
        size = "small" if pairs >= SMALL_FROM_PAIRS else "tiny"
    return size, f"size {size}, because there are {pairs:,} training pairs and {machine}"


def choose_steps(target_tokens: int, speed: StepTime) -> tuple[int, str]:
    """Enough passes over the data to learn it, within a time one can wait for; and why."""
    passes = min(40.0, max(5.0, 30e6 / target_tokens))
    wanted = max(500, round(passes * target_tokens / speed.tokens))
    affordable = max(1, round(SHARE_FOR_STEPS * MAX_SECONDS / speed.seconds))
    if affordable < wanted:
        return affordable, (
            f"{affordable:,} steps, what fits in {MAX_SECONDS // 3600} hours on this machine "
            f"({wanted:,} would be better: --steps {wanted}, or a --budget)"
        )
    return wanted, f"{wanted:,} steps, about {wanted * speed.tokens / target_tokens:.0f} passes over the data"


def choose_decay(target_tokens: int, settings: TrainSettings, width: int) -> tuple[float, str]:
    """A weight decay, and why.

    What a model learns by heart are the pairs it sees again, so how long it remembers is counted in passes over them;
    what it sees once or twice it keeps. Much shorter than three passes costs more than it saves (docs/measurements.md).
    """
    steps = max(FORGET_STEPS, round(FORGET_PASSES * target_tokens / settings.batch_tokens))
    decay = 1 / (steps * peak_rate(settings, width))
    return decay, f"weight decay {decay:.2g}, so that what was learnt {steps:,} steps ago fades"


def choose_validations(steps: int, seconds_per_step: float) -> int:
    """Steps between validations: not more often than every minute or so, and a few times at least."""
    count = min(MAX_VALIDATIONS, max(4, round(steps * seconds_per_step / 60)))
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
    if device == "cpu" and precision == "bfloat16" and not bfloat16.is_safe():
        [(name, value)] = bfloat16.DISABLE_AMX.items()
        raise RunError(
            "train.precision=bfloat16, but torch dies of it on this machine, as on virtual machines that announce AMX "
            f"and do not have it; set the environment variable {name}={value} before the command, or leave the "
            "precision at float32"
        )
    return device
