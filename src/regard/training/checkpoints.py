"""Where a run was, on disk: weights, optimizer, and position in the data, written whole or not at all.

A checkpoint is a folder `step-00000400`. The newest undamaged one is where a run goes on; there is no pointer to it
that could be wrong. Older ones keep their weights, for the average, but not their optimizer.
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

WHOLE = 2  # checkpoints kept with everything, so that one may be damaged
_HEADERS = 1 << 17  # bytes for names, shapes and hashes, generously


@dataclass(frozen=True)
class RunState:
    """How far a run has come: what it needs, beside the tensors, to go on exactly."""

    step: int = 0
    position: StreamPosition = field(default_factory=StreamPosition)
    best_loss: float = float("inf")
    best_step: int = 0
    stale: int = 0  # validations since the best
    validated_step: int = 0
    divergence: DivergenceMonitor = field(default_factory=DivergenceMonitor)

    def is_stale(self, patience: int) -> bool:
        """Whether early stopping, if asked for, is due."""
        return 0 < patience <= self.stale

    def validated(self, loss: float) -> Self:
        """With one more validation taken into account."""
        if loss < self.best_loss:
            return replace(self, best_loss=loss, best_step=self.step, stale=0, validated_step=self.step)
        return replace(self, stale=self.stale + 1, validated_step=self.step)


@dataclass(frozen=True)
class Average:
    """Mean weights, and of how many checkpoints."""

    weights: dict[str, Tensor]
    count: int


def mean(several: Iterable[dict[str, Tensor]]) -> Average:
    """Added up in double precision, one after the other: only one is held at a time."""
    total: dict[str, Tensor] = {}
    count = 0
    for weights in several:
        count += 1
        for name, tensor in weights.items():
            total[name] = total.get(name, 0) + tensor.double()
    return Average({name: (tensor / count).float() for name, tensor in total.items()}, count)


class Checkpoints:
    """The checkpoints of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def save(self, model: nn.Module, optimizer: torch.optim.Optimizer, progress: RunState) -> None:
        weights, memories = model.state_dict(), _optimizer_tensors(model, optimizer)
        needs = sum(tensor.nbytes for tensor in (*weights.values(), *memories.values())) + _HEADERS
        with new_folder(self.path(progress.step), needs) as folder:
            save_file(weights, folder / "weights.safetensors")
            save_file(memories, folder / "optimizer.safetensors")
            write_json(folder / "progress.json", asdict(progress))
            write_manifest(folder, ["weights.safetensors", "optimizer.safetensors", "progress.json"])
        # What is newer was damaged, or the run would have gone on from it. It must not count among the newest.
        for step in self.steps():
            if step > progress.step:
                shutil.rmtree(self.path(step))

    def resume(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> tuple[RunState, list[str]]:
        """Load the newest whole checkpoint, if any; also what was wrong with newer ones."""
        for old in self.folder.glob("step-????????.old"):
            recover_interrupted_replace(old.with_suffix(""))
        problems = []
        for age, step in enumerate(reversed(self.steps())):
            folder = self.path(step)
            if age >= WHOLE and not (folder / "optimizer.safetensors").exists():
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
        """Keep the newest whole, the weights of the `wanted` steps, and nothing else."""
        for step in self.steps()[:-WHOLE]:
            if step in wanted:
                (self.path(step) / "optimizer.safetensors").unlink(missing_ok=True)
            else:
                shutil.rmtree(self.path(step))

    def weights(self, step: int) -> dict[str, Tensor] | None:
        """The weights after a step; None if they are not there or damaged."""
        if find_damage(self.path(step), only=["weights.safetensors"]):
            return None
        return load_file(self.path(step) / "weights.safetensors")

    def average(self, steps: list[int]) -> Average:
        """The mean of the weights of these steps, as far as they are there."""
        return mean(filter(None, map(self.weights, steps)))

    def steps(self) -> list[int]:
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
        # To the device with its count too, as a fused optimizer wants; a copy, because the file will be deleted.
        optimizer.state[parameter][key] = tensor.to(parameter.device, copy=True)
