"""Rules that choose the model size, number of steps, weight decay and device when the user does not."""

import re

import torch

from regard.errors import RunError, SettingsError
from regard.machine import bfloat16
from regard.machine.cpu import cpu_count
from regard.machine.device import find_missing_gpu
from regard.render.units import format_count
from regard.settings.fields import Overrides
from regard.settings.kinds import get_kind
from regard.settings.train import TrainSettings
from regard.training.optimizers.schedule import peak_rate
from regard.training.planning.step_time import StepTime

# Minimum number of training pairs for the size `small` on a CPU; with fewer pairs, `tiny` reaches better scores in the
# same time. On a GPU, the size is `base` if there are at least ten times SMALL_FROM_PAIRS pairs, and otherwise `small`.
SMALL_FROM_PAIRS = 100_000

DEFAULT_MAX_SECONDS = 2 * 3600  # maximum duration of a run whose number of steps is chosen automatically

SHARE_FOR_STEPS = 0.92  # share of a run's time that is planned for training steps; validation and saving take the rest

MAX_VALIDATIONS = 20  # maximum number of validations in a run whose validation interval is chosen automatically

# The time constant of weight decay is MIN_DECAY_PASSES passes over the data, but at least MIN_DECAY_STEPS steps.
MIN_DECAY_PASSES, MIN_DECAY_STEPS = 3, 250


def parse_duration(text: str) -> float:
    """Convert a duration such as `90s`, `20m`, `1h30m` or `2h` to seconds."""
    match = re.fullmatch(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?", text.strip())
    if not text.strip() or match is None:
        raise SettingsError(f"--budget {text}: write a time such as 90s, 20m or 1h30m")
    hours, minutes, seconds = (float(number or 0) for number in match.groups())
    total = hours * 3600 + minutes * 60 + seconds
    if total == 0:
        raise SettingsError(f"--budget {text}: the time must be longer than zero, such as 90s, 20m or 1h30m")
    return total


def choose_model_size(pairs: int, device: str, kind: str) -> tuple[str, str]:
    """Choose a model size for the number of training pairs and the device; also return the reason as a text.

    If models of this kind do not have the size, the next smaller one that they have is chosen.
    """
    machine = "a GPU" if device != "cpu" else format_count(cpu_count(), "CPU core")
    if device != "cpu":
        wanted = "base" if pairs >= 10 * SMALL_FROM_PAIRS else "small"
    else:
        wanted = "small" if pairs >= SMALL_FROM_PAIRS else "tiny"
    names, sizes = ("tiny", "small", "base"), get_kind(kind).sizes
    smaller = [name for name in names[: names.index(wanted) + 1] if name in sizes]
    size = smaller[-1] if smaller else next(iter(sizes))
    return size, f"size {size}, chosen for {format_count(pairs, 'training pair')} and {machine}"


def states_steps(*layers: Overrides) -> bool:
    """Return whether one of these layers of settings has the number of training steps.

    The layers are those of the size and of the user. A run whose size the user did not choose does not use the steps of
    the size.
    """
    return any("steps" in layer.get("train", {}) for layer in layers)


def wanted_steps(target_tokens: int, speed: StepTime) -> int:
    """Return the number of steps in 5 to 40 passes over the training data, and at least 500 steps."""
    passes = min(40.0, max(5.0, 30e6 / target_tokens))
    return max(500, round(passes * target_tokens / speed.tokens))


def affordable_steps(speed: StepTime) -> int:
    """Return the number of steps that fit in DEFAULT_MAX_SECONDS."""
    return max(1, round(SHARE_FOR_STEPS * DEFAULT_MAX_SECONDS / speed.seconds))


def choose_steps(target_tokens: int, speed: StepTime) -> tuple[int, str]:
    """Choose the number of steps for training data with this many target tokens; also return the reason as a text.

    The run makes 5 to 40 passes over the data, or more passes if these would be fewer than 500 steps. If this would
    take longer than DEFAULT_MAX_SECONDS, the run takes only the steps that fit in this time.
    """
    wanted = wanted_steps(target_tokens, speed)
    affordable = affordable_steps(speed)
    if affordable < wanted:
        return affordable, (
            f"{affordable:,} steps, as many as fit in {DEFAULT_MAX_SECONDS // 3600} hours on this machine "
            f"({wanted:,} would be better: use --steps {wanted}, or a --budget)"
        )
    return wanted, f"{wanted:,} steps, about {wanted * speed.tokens / target_tokens:.0f} passes over the data"


def choose_decay(target_tokens: int, settings: TrainSettings, width: int) -> tuple[float, str]:
    """Choose the weight decay; also return the reason as a text.

    Weight decay should undo what a model memorises when it sees the same pairs repeatedly, so its time constant is
    measured in passes over the data. A time constant well below three passes makes the scores worse
    (docs/explanation/measurements.md).
    """
    steps = max(MIN_DECAY_STEPS, round(MIN_DECAY_PASSES * target_tokens / settings.batch_tokens))
    decay = 1 / (steps * peak_rate(settings, width))
    return decay, (
        f"weight decay {decay:.2g} against memorisation: unused parameters shrink to about a third in {steps:,} steps"
    )


def choose_validation_interval(steps: int, seconds_per_step: float) -> int:
    """Choose the number of steps between validations.

    A run validates about once a minute, but at least 4 times and at most MAX_VALIDATIONS times.
    """
    count = min(MAX_VALIDATIONS, max(4, round(steps * seconds_per_step / 60)))
    return max(1, steps // count)


def steps_within(budget: float, spent: float, seconds_per_step: float) -> int:
    """Return the number of steps that fit in a budget; `budget` and the time already used, `spent`, are in seconds."""
    steps = int(SHARE_FOR_STEPS * (budget - spent) / seconds_per_step)
    if steps < 1:
        raise RunError(
            f"a budget of {budget:.0f} s is too short for a single step: preparation took {spent:.0f} s, and a step "
            f"takes {seconds_per_step:.1f} s; use a larger --budget, or --steps"
        )
    return steps


def pick_device(wanted: str, precision: str) -> str:
    """Return the device for a value of the setting `train.device`.

    Raise a `RunError` if this machine does not have the device, or cannot compute in this precision.
    """
    if problem := find_missing_gpu(wanted, default="auto"):
        raise RunError(f"train.device={wanted}, but {problem}")
    # Apple GPUs (mps) have had little testing, so `auto` does not choose them.
    device = wanted if wanted != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu" and precision == "bfloat16" and not bfloat16.is_safe():
        [(name, value)] = bfloat16.DISABLE_AMX.items()
        raise RunError(
            "train.precision=bfloat16 crashes torch on this machine, as on virtual machines that report AMX support "
            f"without having it; set the environment variable {name}={value} before the command, or leave the "
            "precision at float32"
        )
    return device
