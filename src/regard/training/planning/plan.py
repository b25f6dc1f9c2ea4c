"""What a run will do, decided once before its first step and only read afterwards.

Where the user named neither size nor time, both are chosen here from the data and the machine, with the reason said.
A budget of time becomes a number of steps by measuring a few, so that an interrupted run keeps its schedule.
"""

import dataclasses
import platform
import time
from collections.abc import Generator, Mapping
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from regard.data.batching.batches import batches, epoch_tokens
from regard.data.batching.minimal_pairs import has_minimal_pairs
from regard.data.prepare.token_store import EncodedCorpus
from regard.errors import RunError
from regard.machine import memory
from regard.models.kinds.transformer import Transformer
from regard.progress import Progress
from regard.settings.decode import DecodeSettings
from regard.settings.fields import AUTO
from regard.settings.kinds.transformer import TransformerSettings
from regard.settings.sections import Settings, from_dict
from regard.settings.tokenizer import TokenizerSettings
from regard.settings.train import TrainSettings
from regard.storage.json_files import read_hashed_json, write_hashed_json
from regard.training.parallel.replicas import replica_count
from regard.training.planning import choices, memory_estimate, step_time
from regard.training.planning import plan as plan_module
from regard.training.planning.choices import SHARE_FOR_STEPS
from regard.training.planning.request import TrainingRequest
from regard.training.planning.step_time import StepTime


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
    write_hashed_json(path, asdict(plan))


def load_plan(path: Path) -> Plan:
    try:
        saved = read_hashed_json(path)
    except ValueError as error:
        raise RunError(f"{error}; restore it from a copy, or start a new run in another --out") from None
    sections = saved["settings"]
    settings = Settings(
        model=from_dict(TransformerSettings, sections["model"]),
        tokenizer=from_dict(TokenizerSettings, sections["tokenizer"]),
        train=from_dict(TrainSettings, sections["train"]),
        decode=from_dict(DecodeSettings, sections["decode"]),
    )
    return Plan(**{**saved, "settings": settings, "reasons": tuple(saved["reasons"])})


def with_steps(settings: Settings, steps: int) -> Settings:
    return dataclasses.replace(settings, train=dataclasses.replace(settings.train, steps=steps))


def make_plan(
    wish: TrainingRequest,
    settings: Settings,
    reasons: list[str],
    request: dict[str, Any],
    shards: EncodedCorpus,
    device: str,
    began: float,
) -> Generator[Progress, None, Plan]:
    """Measure the machine and fix the micro-batch and the number of steps."""
    yield Progress("measuring speed", 0, 1)
    if settings.train.minimal_pair_weight and not has_minimal_pairs(shards.train):
        raise RunError(
            "train.minimal_pair_weight needs neighbouring lines (1 and 2, 3 and 4, …) whose sources differ in little, "
            "in texts, TSVs or JSON lines, and there are none: put such sentences together, or leave the setting out"
        )
    free = memory.free_memory(device)

    def weights(tokens: int) -> int:
        return memory_estimate.fixed_bytes(settings.model, device, replica_count(settings.model.width, tokens, device))

    memory_estimate.check(weights(memory_estimate.LEAST_TOKENS), free)
    model = Transformer(settings.model, settings.train.dropout).to(device)
    mixed = request.get("weights", ())
    one_pass = epoch_tokens(shards.train, mixed)
    few, _ = next(batches(shards.train, tokens=memory_estimate.LEAST_TOKENS, seed=settings.train.seed, weights=mixed))
    per_piece = memory_estimate.activation_bytes_per_token(model, few, settings.train)
    tokens, reason = memory_estimate.fit_micro_batch(weights, per_piece, settings.train.micro_batch_tokens, free)
    settings = replace(settings, train=replace(settings.train, micro_batch_tokens=tokens))
    reasons.append(reason)
    if settings.train.weight_decay == AUTO:
        decay, reason = choices.choose_decay(one_pass, settings.train, settings.model.width)
        settings = replace(settings, train=replace(settings.train, weight_decay=decay))
        reasons.append(reason)
    stream = batches(shards.train, tokens=settings.train.micro_batch_tokens, seed=settings.train.seed, weights=mixed)
    # Steps that are given need only a rough estimate of their time.
    speed = step_time.measure_step_time(model, stream, settings.train, 2.0 if wish.steps is not None else 6.0)
    yield Progress("measuring speed", 1, 1)
    steps, reason = _steps(wish, settings.train, one_pass, speed, time.monotonic() - began)
    reasons.append(reason)
    if settings.train.schedule == "paper" and steps <= settings.train.warmup_steps:
        reasons.append(
            f"note: the learning rate rises for {settings.train.warmup_steps:,} steps (train.warmup_steps), to the end"
        )
    # A size's own interval is meant for its own number of steps.
    every = settings.train.validate_every
    if not every or (steps != settings.train.steps and "validate_every" not in wish.user.get("train", {})):
        every = choices.choose_validations(steps, speed.seconds)
    return Plan(
        request=request,
        settings=plan_module.with_steps(settings, steps),
        validate_every=every,
        seconds_per_step=speed.seconds,
        threads=torch.get_num_threads(),
        device=device,
        versions=plan_module.versions(),
        reasons=tuple(reasons),
    )


def _steps(
    wish: TrainingRequest, train: TrainSettings, one_pass: int, speed: StepTime, spent: float
) -> tuple[int, str]:
    """How many steps, and why; `spent` are the seconds of a budget that are gone already."""
    if wish.steps is not None:
        return wish.steps, f"{wish.steps:,} steps, as asked"
    if wish.budget is not None:
        steps = choices.steps_within(wish.budget, spent, speed.seconds)
        return steps, f"{steps:,} steps, what fits in the budget at {speed.tokens / speed.seconds:,.0f} pieces a second"
    if "steps" in wish.user.get("train", {}) or wish.size in ("base", "big"):
        return train.steps, f"{train.steps:,} steps, from the settings"
    return choices.choose_steps(one_pass, speed)
