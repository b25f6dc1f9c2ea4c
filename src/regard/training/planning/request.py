"""What the user asked of a run, and the plan that is made of it: settings, micro-batch and steps.

What is not asked for is chosen from the data and by measuring the machine, and the plan says why.
"""

import time
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import torch

from regard.data.batches import batches, epoch_tokens
from regard.data.contrast import has_twos
from regard.data.shards import Shards
from regard.data.texts import Preparing
from regard.errors import RunError
from regard.files import sha256
from regard.folder import ModelFolder
from regard.model.transformer import Transformer
from regard.settings import CHOOSE, FINE_TUNE, Layer, Settings, TrainSettings, assemble, size_layer
from regard.training import memory
from regard.training import plan as planning
from regard.training.hands import how_many
from regard.training.log import check_tensorboard
from regard.training.plan import Plan, Speed


@dataclass(frozen=True)
class Wish:
    """What the user chose, and what that leaves to us."""

    size: str | None
    budget: float | None
    steps: int | None
    user: Layer
    parent: ModelFolder | None

    def check(self) -> None:
        """Mistakes come before any work; what would have no effect is refused."""
        if self.steps is not None and self.budget is not None:
            raise RunError("give --steps or --budget, not both: a budget is turned into steps")
        if (self.steps is not None or self.budget is not None) and "steps" in self.user.get("train", {}):
            raise RunError("give train.steps, or --steps, or --budget: one of them says how long to train")
        if "vocabulary" in self.user.get("model", {}):
            raise RunError("model.vocabulary follows from the tokenizer; set tokenizer.pieces instead")
        if self.parent is not None:
            if self.size is not None:
                raise RunError("a fine-tune keeps the size of the model it starts from; leave --size out")
            for part in ("model", "tokenizer"):
                if part in self.user:
                    raise RunError(f"a fine-tune keeps the {part} it starts from; leave {part}.* settings out")
        if self.train.tensorboard:
            check_tensorboard()
        planning.pick_device(self.train.device, self.train.precision)

    def request(self) -> dict[str, Any]:
        """What makes another command another run."""
        return {
            "size": self.size,
            "budget": self.budget,
            "steps": self.steps,
            "from": sha256(self.parent.path / "manifest.json") if self.parent else None,
            "settings": {f"{part}.{name}": value for part in self.user for name, value in self.user[part].items()},
        }

    @property
    def train(self) -> TrainSettings:
        """What does not depend on the size: seed, device, precision."""
        return assemble(size_layer(self.size or "tiny"), self.user).train

    def settings(self, pairs: int, device: str) -> tuple[Settings, list[str]]:
        if self.parent is not None:
            reason = f"a fine-tune of {self.parent.path.name}, with its size and pieces"
            return replace(assemble(FINE_TUNE, self.user), model=self.parent.settings), [reason]
        size, reason = planning.choose_size(pairs, device)
        if self.size is not None:
            size, reason = self.size, f"size {self.size}, as asked"
        return assemble(size_layer(size), self.user), [reason]


def make_plan(
    wish: Wish,
    settings: Settings,
    reasons: list[str],
    request: dict[str, Any],
    shards: Shards,
    device: str,
    began: float,
) -> Generator[Preparing, None, Plan]:
    """Measure the machine and fix the micro-batch and the number of steps."""
    yield Preparing("measuring speed", 0, 1)
    if settings.train.contrast and not has_twos(shards.train):
        raise RunError(
            "train.contrast needs neighbouring lines (1 and 2, 3 and 4, …) whose sources differ in little, in texts, "
            "TSVs or JSON lines, and there are none: put such sentences together, or leave the setting out"
        )
    free = memory.free_memory(device)

    def weights(tokens: int) -> int:
        return memory.weights_bytes(settings.model, device, how_many(settings.model.width, tokens, device))

    memory.check(weights(memory.LEAST_TOKENS), free)
    model = Transformer(settings.model, settings.train.dropout).to(device)
    mixed = request.get("weights", ())
    one_pass = epoch_tokens(shards.train, mixed)
    few, _ = next(batches(shards.train, tokens=memory.LEAST_TOKENS, seed=settings.train.seed, weights=mixed))
    per_piece = memory.bytes_per_piece(model, few, settings.train)
    tokens, reason = memory.fit(weights, per_piece, settings.train.micro_tokens, free)
    settings = replace(settings, train=replace(settings.train, micro_tokens=tokens))
    reasons.append(reason)
    if settings.train.weight_decay == CHOOSE:
        decay, reason = planning.choose_decay(one_pass, settings.train, settings.model.width)
        settings = replace(settings, train=replace(settings.train, weight_decay=decay))
        reasons.append(reason)
    stream = batches(shards.train, tokens=settings.train.micro_tokens, seed=settings.train.seed, weights=mixed)
    # Steps that are given need only a rough estimate of their time.
    speed = planning.measure(model, stream, settings.train, 2.0 if wish.steps is not None else 6.0)
    yield Preparing("measuring speed", 1, 1)
    steps, reason = _steps(wish, settings.train, one_pass, speed, time.monotonic() - began)
    reasons.append(reason)
    if settings.train.schedule == "paper" and steps <= settings.train.warmup:
        reasons.append(f"note: the learning rate rises for {settings.train.warmup:,} steps (train.warmup), to the end")
    # A size's own interval is meant for its own number of steps.
    every = settings.train.validate_every
    if not every or (steps != settings.train.steps and "validate_every" not in wish.user.get("train", {})):
        every = planning.choose_validations(steps, speed.seconds)
    return Plan(
        request=request,
        settings=planning.with_steps(settings, steps),
        validate_every=every,
        seconds_per_step=speed.seconds,
        threads=torch.get_num_threads(),
        device=device,
        versions=planning.versions(),
        reasons=tuple(reasons),
    )


def _steps(wish: Wish, train: TrainSettings, one_pass: int, speed: Speed, spent: float) -> tuple[int, str]:
    """How many steps, and why; `spent` are the seconds of a budget that are gone already."""
    if wish.steps is not None:
        return wish.steps, f"{wish.steps:,} steps, as asked"
    if wish.budget is not None:
        steps = planning.steps_within(wish.budget, spent, speed.seconds)
        return steps, f"{steps:,} steps, what fits in the budget at {speed.tokens / speed.seconds:,.0f} pieces a second"
    if "steps" in wish.user.get("train", {}) or wish.size in ("base", "big"):
        return train.steps, f"{train.steps:,} steps, from the settings"
    return planning.choose_steps(one_pass, speed)
