"""The plan of a run, which is made once, before the first step, and does not change afterwards.

The plan completes what the user did not choose, such as the number of steps, and records the reasons. A time budget is
converted to a number of steps once, after measuring the speed: a resumed run keeps that number, and with it the
learning rate schedule.
"""

import dataclasses
import platform
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from regard.data.batching.batches import batches, epoch_tokens
from regard.data.batching.minimal_pairs import has_minimal_pairs
from regard.data.prepare.token_store import EncodedCorpus
from regard.errors import RunError, SettingsError
from regard.machine import memory
from regard.models.build import build_model
from regard.models.interface import SequenceModel
from regard.progress import Progress
from regard.settings.fields import AUTO
from regard.settings.sections import Settings, settings_from_dict
from regard.settings.sizes import size_overrides
from regard.settings.train import TrainSettings
from regard.storage.json_files import read_hashed_json, write_hashed_json
from regard.training.parallel.replicas import replica_count
from regard.training.planning import choices, memory_estimate, step_time
from regard.training.planning.request import TrainingRequest
from regard.training.planning.step_time import StepTime

_FORMAT = 2  # of the files in the folder of a run; a run of another format is not continued


class OtherVersionError(RunError):
    """A plan that was written by another version of Regard."""


@dataclass(frozen=True)
class Plan:
    """Everything that determines a run: the same plan on the same machine gives exactly the same parameters."""

    request: dict[str, Any]  # data and options of the command that started the run; only the same command may resume it
    settings: Settings
    validate_every: int  # number of steps between validations
    seconds_per_step: float  # average duration of a training step, measured when the plan was made
    threads: int  # number of threads that torch uses
    device: str
    versions: dict[str, str]  # versions of Python, Regard and the libraries when the run was started
    reasons: tuple[str, ...]  # for each choice of the plan, a text that explains it

    @property
    def seconds(self) -> float:
        """The expected duration of the run in seconds, including validation."""
        return self.settings.train.steps * self.seconds_per_step / choices.SHARE_FOR_STEPS

    def validates(self, step: int) -> bool:
        """Return whether the model is validated after this step."""
        return step > 0 and (step % self.validate_every == 0 or step == self.settings.train.steps)

    def averaged_steps(self, last: int) -> list[int]:
        """Return the steps whose checkpoints are averaged if the run ends at step `last`."""
        steps = sorted({*range(self.validate_every, last + 1, self.validate_every), last})
        return steps[-self.settings.train.average :]


def versions() -> dict[str, str]:
    """Return the versions of the software that may change a result slightly: Python, Regard and libraries."""
    names = ("regard", "torch", "numpy", "sentencepiece")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return one line of text for each difference between the request that started a run and the current request."""
    return [
        f"  {name}: was {_format(before.get(name))}, is now {_format(now.get(name))}"
        for name in sorted(before.keys() | now.keys())
        if before.get(name) != now.get(name)
    ]


def _format(value: Any) -> str:
    match value:
        case None:
            return "not given"
        case list() | dict() if not value:
            return "none"
        case [None, None]:  # the languages
            return "unknown"
        case {"name": name, "sha256": str(digest)}:
            return f"{name} ({digest[:12]})"
        case dict():
            return ", ".join(f"{name}={entry}" for name, entry in value.items())
        case list():
            return " ".join(map(_format, value))
    return str(value)


def save_plan(path: Path, plan: Plan) -> None:
    write_hashed_json(path, {"format": _FORMAT, **asdict(plan)})


def load_plan(path: Path) -> Plan:
    """Read a plan; raise an `OtherVersionError` if it is of an incompatible version of Regard.

    Raise another `RunError` if the file is damaged.
    """
    try:
        saved = read_hashed_json(path)
    except ValueError as error:
        raise RunError(f"{error}; restore it from a copy, or start a new run in another --out") from None
    other_version = OtherVersionError(
        f"{path} was written by another version of Regard, and this version cannot continue an unfinished run: start "
        "again in a new --out, or finish it with the other version"
    )
    if saved.pop("format", 1) != _FORMAT:
        raise other_version
    try:
        return _plan_from_dict(saved)
    except (KeyError, TypeError, SettingsError) as error:  # the hash is correct, so the file is not damaged
        raise other_version from error


def _plan_from_dict(saved: dict[str, Any]) -> Plan:
    settings = settings_from_dict(saved["settings"])
    return Plan(**{**saved, "settings": settings, "reasons": tuple(saved["reasons"])})


def with_steps(settings: Settings, steps: int) -> Settings:
    """Return a copy of the settings with this number of training steps."""
    return dataclasses.replace(settings, train=dataclasses.replace(settings.train, steps=steps))


def make_plan(
    request: TrainingRequest,
    settings: Settings,
    reasons: list[str],
    identity: dict[str, Any],
    corpus: EncodedCorpus,
    device: str,
    began: float,
) -> Generator[Progress, None, Plan]:
    """Measure memory and speed, and choose micro-batch size, weight decay, number of steps and validation interval.

    `identity` holds the options of the command and the hashes of its data. `began` is the time at which the run began,
    on the clock of `time.monotonic`.
    """
    yield Progress("measuring speed", 0, 1)
    _check_minimal_pairs(settings.train, corpus)
    weights = identity.get("weights", ())
    tokens_per_epoch = epoch_tokens(corpus.train, weights)
    model, tokens, reason = _fit_memory(settings, corpus, weights, device)
    reasons.append(reason)
    train = replace(settings.train, micro_batch_tokens=tokens)
    if train.weight_decay == AUTO:
        decay, reason = choices.choose_decay(tokens_per_epoch, train, settings.model.width)
        reasons.append(reason)
        train = replace(train, weight_decay=decay)
    stream = batches(corpus.train, tokens=train.micro_batch_tokens, seed=train.seed, weights=weights)
    # If the user chose the number of steps, the speed is only shown, so a short measurement is enough.
    speed = step_time.measure_step_time(model, stream, train, 2.0 if request.steps is not None else 6.0)
    yield Progress("measuring speed", 1, 1)
    steps, reason = _choose_steps(request, train, tokens_per_epoch, speed, time.monotonic() - began)
    reasons.append(reason)
    if train.schedule == "paper" and steps <= train.warmup_steps:
        reasons.append(
            f"note: the learning rate rises to the end, because train.warmup_steps is {train.warmup_steps:,}"
        )
    return Plan(
        request=identity,
        settings=with_steps(replace(settings, train=train), steps),
        validate_every=_validation_interval(request, train, steps, speed),
        seconds_per_step=speed.seconds,
        threads=torch.get_num_threads(),
        device=device,
        versions=versions(),
        reasons=tuple(reasons),
    )


def _check_minimal_pairs(train: TrainSettings, corpus: EncodedCorpus) -> None:
    if train.minimal_pair_weight and not has_minimal_pairs(corpus.train):
        raise RunError(
            "train.minimal_pair_weight needs minimal pairs: neighbouring lines (1 and 2, 3 and 4, …) with similar "
            "sources, in text, TSV or JSON Lines files, and the data has none; put the two sentences of each minimal "
            "pair on neighbouring lines, or leave the setting out"
        )


def _fit_memory(
    settings: Settings, corpus: EncodedCorpus, weights: Sequence[float], device: str
) -> tuple[SequenceModel, int, str]:
    """Build the model, and choose a micro-batch size that fits in the free memory.

    Return the model, the size in tokens, and the reason for the size as a text.
    """
    free = memory.free_memory(device)

    def fixed_bytes(tokens: int) -> int:
        return memory_estimate.fixed_bytes(settings.model, device, replica_count(settings.model.width, tokens, device))

    min_tokens = memory_estimate.MIN_TOKENS
    memory_estimate.check_fits(fixed_bytes(min_tokens), free)
    model = build_model(settings.model, settings.train.dropout).to(device)
    batch, _ = next(batches(corpus.train, tokens=min_tokens, seed=settings.train.seed, weights=weights))
    bytes_per_token = memory_estimate.activation_bytes_per_token(model, batch, settings.train)
    wanted_tokens = settings.train.micro_batch_tokens
    return model, *memory_estimate.fit_micro_batch(fixed_bytes, bytes_per_token, wanted_tokens, free)


def _choose_steps(
    request: TrainingRequest, train: TrainSettings, tokens_per_epoch: int, speed: StepTime, spent: float
) -> tuple[int, str]:
    """Return the number of steps, and the reason as a text; `spent` is the time in seconds since the run began."""
    if request.steps is not None:
        return request.steps, f"{request.steps:,} steps, as requested"
    if request.budget is not None:
        steps = choices.steps_within(request.budget, spent, speed.seconds)
        return steps, (
            f"{steps:,} steps, as many as fit in the budget at {speed.tokens / speed.seconds:,.0f} target tokens per "
            "second"
        )
    of_size = size_overrides(request.size, request.kind) if request.size is not None else {}
    if choices.states_steps(of_size, request.overrides):
        return train.steps, f"{train.steps:,} steps, from the settings"
    return choices.choose_steps(tokens_per_epoch, speed)


def _validation_interval(request: TrainingRequest, train: TrainSettings, steps: int, speed: StepTime) -> int:
    """Return the number of steps between validations.

    If the user has set an interval other than 0, it is used. The interval of a model size is used only if the run takes
    the number of steps in the settings, `train.steps`, and this is more than one interval. In all other cases, the
    interval is chosen automatically.
    """
    is_users = "validate_every" in request.overrides.get("train", {})
    if train.validate_every and (is_users or train.validate_every < steps == train.steps):
        return train.validate_every
    return choices.choose_validation_interval(steps, speed.seconds)
