"""Saves and loads checkpoints: the parameters, the optimizer state, and the position in the training data.

A checkpoint is a folder such as `step-00000400`, which is written completely or not at all. A run resumes from the
newest checkpoint that is not damaged. Older checkpoints keep only their parameters, which are averaged at the end of
the run. A run cannot resume from those, so it stops if all others are damaged.
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

# Number of newest checkpoints that keep their optimizer state; if the newest is damaged, a run resumes from the second.
KEPT_WITH_OPTIMIZER = 2
_HEADER_BYTES = 1 << 17  # upper limit for the bytes of a checkpoint besides its tensors: names, shapes and hashes


@dataclass(frozen=True)
class RunState:
    """What a run needs, besides the parameters and optimizer state, to resume exactly where it was interrupted."""

    step: int = 0
    position: StreamPosition = field(default_factory=StreamPosition)
    best_loss: float = float("inf")
    best_step: int = 0
    stale: int = 0  # number of validations since the one with the best loss
    validated_step: int = 0
    divergence: DivergenceMonitor = field(default_factory=DivergenceMonitor)

    def is_stale(self, patience: int) -> bool:
        """Return whether `patience` validations have passed without a better loss; a `patience` of 0 means never."""
        return 0 < patience <= self.stale

    def validated(self, loss: float) -> Self:
        """Return the run state after a validation that measured this loss."""
        if loss < self.best_loss:
            return replace(self, best_loss=loss, best_step=self.step, stale=0, validated_step=self.step)
        return replace(self, stale=self.stale + 1, validated_step=self.step)


@dataclass(frozen=True)
class Average:
    """The mean of the parameters of `count` models or checkpoints."""

    weights: dict[str, Tensor]
    count: int


def mean_parameters(state_dicts: Iterable[dict[str, Tensor]]) -> Average:
    """Average the parameters of several models in double precision, with only one model in memory at a time."""
    total: dict[str, Tensor] = {}
    count = 0
    for state_dict in state_dicts:
        count += 1
        for name, tensor in state_dict.items():
            total[name] = total.get(name, 0) + tensor.double()
    return Average({name: (tensor / count).float() for name, tensor in total.items()}, count)


class DamagedCheckpointsError(Exception):
    """All checkpoints from which a run could resume are damaged.

    `problems` describes the damage of each, the newest first. `with_parameters` has the steps whose parameters are
    undamaged, in ascending order.
    """

    def __init__(self, problems: list[str], with_parameters: list[int]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems
        self.with_parameters = with_parameters


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
        # Delete checkpoints of later steps. They are damaged, because the run would have resumed from them otherwise;
        # checkpoints with parameters only are older than the one from which it resumed.
        for step in self.steps():
            if step > state.step:
                shutil.rmtree(self.path(step))

    def resume(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> tuple[RunState, list[str]]:
        """Load the newest undamaged checkpoint, if any, into the model and the optimizer.

        Return the run state, and a description of the damage for each newer checkpoint that was damaged. Raise a
        `DamagedCheckpointsError` if there are checkpoints, but all that have an optimizer state are damaged.
        """
        for old in self.folder.glob("step-????????.old"):
            recover_interrupted_replace(old.with_suffix(""))
        problems = []
        for age, step in enumerate(reversed(self.steps())):
            folder = self.path(step)
            if age >= KEPT_WITH_OPTIMIZER and not (folder / "optimizer.safetensors").exists():
                continue  # `prune` deleted the optimizer state
            if problem := find_damage(folder):
                problems.append(problem)
                continue
            model.load_state_dict(load_file(folder / "weights.safetensors"))
            _restore_optimizer(model, optimizer, load_file(folder / "optimizer.safetensors"))
            saved = read_json(folder / "progress.json")
            position, divergence = StreamPosition(**saved["position"]), DivergenceMonitor(**saved["divergence"])
            return RunState(**{**saved, "position": position, "divergence": divergence}), problems
        if problems:
            intact = [step for step in self.steps() if self.parameter_damage(step) is None]
            raise DamagedCheckpointsError(problems, intact)
        return RunState(), []

    def prune(self, wanted: set[int]) -> None:
        """Delete all checkpoints except the newest KEPT_WITH_OPTIMIZER.

        If the step of an older checkpoint is in `wanted`, only its optimizer state is deleted.
        """
        for step in self.steps()[:-KEPT_WITH_OPTIMIZER]:
            if step in wanted:
                (self.path(step) / "optimizer.safetensors").unlink(missing_ok=True)
            else:
                shutil.rmtree(self.path(step))

    def weights(self, step: int) -> dict[str, Tensor] | None:
        """Return the parameters that were saved after a step, or None if the file is missing or damaged."""
        return None if self.parameter_damage(step) else load_file(self.path(step) / "weights.safetensors")

    def parameter_damage(self, step: int) -> str | None:
        """Return what is wrong with the file of the parameters that were saved after a step, or None."""
        return find_damage(self.path(step), only=["weights.safetensors"])

    def average(self, steps: list[int]) -> Average:
        """Average the parameters that were saved after these steps; missing or damaged checkpoints are left out."""
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
        # A fused optimizer requires all its tensors on the device, even the step count. They are copied, because
        # `load_file` maps them from a file that is deleted later.
        optimizer.state[parameter][key] = tensor.to(parameter.device, copy=True)
