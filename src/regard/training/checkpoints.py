"""Checkpoints on disk: parameters, optimizer state and position in the data, each written completely or not at all.

A checkpoint is a folder such as `step-00000400`. A run resumes from the newest undamaged one; there is no pointer file
that could be wrong. Older checkpoints keep their parameters for the average, but not their optimizer state.
"""

import shutil
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from regard.data.batching.batches import StreamPosition
from regard.storage.atomic_files import new_folder, recover_interrupted_replace
from regard.storage.json_files import read_json, write_json
from regard.storage.manifest import find_damage, write_manifest
from regard.training.divergence import DivergenceMonitor

KEPT_WITH_OPTIMIZER = 2  # the newest checkpoints keep their optimizer state; the second is a reserve against damage
_HEADER_BYTES = 1 << 17  # a generous limit for names, shapes and hashes


@dataclass(frozen=True)
class RunState:
    """Everything besides the tensors that a run needs in order to resume exactly where it was."""

    step: int = 0
    position: StreamPosition = field(default_factory=StreamPosition)
    best_loss: float = float("inf")
    best_step: int = 0
    stale: int = 0  # validations since the best one
    validated_step: int = 0
    divergence: DivergenceMonitor = field(default_factory=DivergenceMonitor)

    def is_stale(self, patience: int) -> bool:
        """Return whether early stopping is enabled and due."""
        return 0 < patience <= self.stale

    def validated(self, loss: float) -> Self:
        """Return the state after a validation with this loss."""
        if loss < self.best_loss:
            return replace(self, best_loss=loss, best_step=self.step, stale=0, validated_step=self.step)
        return replace(self, stale=self.stale + 1, validated_step=self.step)


@dataclass(frozen=True)
class Average:
    """The mean of the parameters of `count` models or checkpoints."""

    weights: dict[str, Tensor]
    count: int


def mean_parameters(state_dicts: Iterable[dict[str, Tensor]]) -> Average:
    """Average parameters in double precision, holding only one set of them at a time."""
    total: dict[str, Tensor] = {}
    count = 0
    for state_dict in state_dicts:
        count += 1
        for name, tensor in state_dict.items():
            total[name] = total.get(name, 0) + tensor.double()
    return Average({name: (tensor / count).float() for name, tensor in total.items()}, count)


class Checkpoints:
    """The checkpoints of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def save(self, model: nn.Module, optimizer: torch.optim.Optimizer, state: RunState) -> None:
        parameters, optimizer_state = model.state_dict(), _optimizer_tensors(model, optimizer)
        size = sum(tensor.nbytes for tensor in (*parameters.values(), *optimizer_state.values())) + _HEADER_BYTES
        with new_folder(self.path(state.step), size) as folder:
            save_file(parameters, folder / "weights.safetensors")
            save_file(optimizer_state, folder / "optimizer.safetensors")
            write_json(folder / "progress.json", asdict(state))
            write_manifest(folder, ["weights.safetensors", "optimizer.safetensors", "progress.json"])
        # A newer checkpoint was damaged, or the run would have resumed from it. It must not count as one of the newest.
        for step in self.steps():
            if step > state.step:
                shutil.rmtree(self.path(step))

    def resume(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> tuple[RunState, list[str]]:
        """Load the newest undamaged checkpoint, if any; also return what is wrong with newer ones."""
        for old in self.folder.glob("step-????????.old"):
            recover_interrupted_replace(old.with_suffix(""))
        problems = []
        for age, step in enumerate(reversed(self.steps())):
            folder = self.path(step)
            if age >= KEPT_WITH_OPTIMIZER and not (folder / "optimizer.safetensors").exists():
                continue  # pruned
            if problem := find_damage(folder):
                problems.append(problem)
                continue
            model.load_state_dict(load_file(folder / "weights.safetensors"))
            _restore_optimizer(model, optimizer, load_file(folder / "optimizer.safetensors"))
            saved = read_json(folder / "progress.json")
            position, divergence = StreamPosition(**saved["position"]), DivergenceMonitor(**saved["divergence"])
            return RunState(**{**saved, "position": position, "divergence": divergence}), problems
        return RunState(), problems

    def prune(self, wanted: set[int]) -> None:
        """Delete all but the newest checkpoints and the parameters of the `wanted` steps."""
        for step in self.steps()[:-KEPT_WITH_OPTIMIZER]:
            if step in wanted:
                (self.path(step) / "optimizer.safetensors").unlink(missing_ok=True)
            else:
                shutil.rmtree(self.path(step))

    def weights(self, step: int) -> dict[str, Tensor] | None:
        """Return the parameters after a step, or None if they are missing or damaged."""
        if find_damage(self.path(step), only=["weights.safetensors"]):
            return None
        return load_file(self.path(step) / "weights.safetensors")

    def average(self, steps: list[int]) -> Average:
        """Average the parameters of these steps, leaving out missing or damaged ones."""
        return mean_parameters(filter(None, map(self.weights, steps)))

    def steps(self) -> list[int]:
        """Return the steps that have a checkpoint, in ascending order."""
        return sorted(int(path.name.removeprefix("step-")) for path in self.folder.glob("step-????????"))

    def path(self, step: int) -> Path:
        return self.folder / f"step-{step:08d}"


def _optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    return {
        f"{key}/{name}": value
        for name, parameter in model.named_parameters()
        for key, value in optimizer.state[parameter].items()
    }


def _restore_optimizer(model: nn.Module, optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    parameters: dict[str, Any] = dict(model.named_parameters())
    for path, tensor in tensors.items():
        key, name = path.split("/")
        parameter = parameters[name]
        # The step count moves to the device too, because a fused optimizer requires it. The tensor is copied, because
        # it is mapped from a file that will be deleted.
        optimizer.state[parameter][key] = tensor.to(parameter.device, copy=True)
