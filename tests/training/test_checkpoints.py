"""Checkpoints restore exactly what was saved, fall back to an older one after damage, and are pruned."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
import torch
from torch import Tensor, nn

from regard.data.batching.batches import StreamPosition
from regard.models.interface import SequenceModel
from regard.settings.train import TrainSettings
from regard.training.checkpoints import Checkpoints, DamagedCheckpointsError, RunState
from regard.training.optimizers.adam import make_optimizer

torch.set_num_threads(1)

SETTINGS = TrainSettings(learning_rate=0.01)


class Trainer:
    """A model of two layers, its optimizer, and an artificial task."""

    def __init__(self, seed: int = 0) -> None:
        torch.manual_seed(seed)
        self.model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))
        self.optimizer = make_optimizer(cast(SequenceModel, self.model), SETTINGS)
        for group in self.optimizer.param_groups:
            group["lr"] = 0.01

    def step(self, number: int) -> None:
        x = torch.randn(8, 5, generator=torch.Generator().manual_seed(number))
        self.optimizer.zero_grad()
        (self.model(x) - x[:, :3].sin()).square().mean().backward()
        self.optimizer.step()

    @property
    def parameters(self) -> dict[str, Tensor]:
        return {name: tensor.clone() for name, tensor in self.model.state_dict().items()}


def equal(first: dict[str, Tensor], second: dict[str, Tensor]) -> bool:
    return first.keys() == second.keys() and all(torch.equal(tensor, second[name]) for name, tensor in first.items())


@pytest.fixture
def checkpoints(tmp_path: Path) -> Checkpoints:
    return Checkpoints(tmp_path / "run" / "checkpoints")


def save_at(checkpoints: Checkpoints, *steps: int) -> dict[int, dict[str, Tensor]]:
    """Take steps, save a checkpoint at each of these, and return the parameters at each."""
    trainer, parameters = Trainer(), {}
    for step in range(1, max(steps) + 1):
        trainer.step(step)
        if step in steps:
            checkpoints.save(trainer.model, trainer.optimizer, RunState(step=step))
            parameters[step] = trainer.parameters
    return parameters


def resume(checkpoints: Checkpoints) -> tuple[Trainer, RunState, list[str]]:
    trainer = Trainer(seed=99)
    return trainer, *checkpoints.resume(trainer.model, trainer.optimizer)


# Saving and resuming


def test_without_checkpoints_a_run_starts_at_the_beginning(checkpoints: Checkpoints) -> None:
    trainer, state, problems = resume(checkpoints)
    assert (state, problems) == (RunState(), [])
    assert state.step == 0
    assert equal(trainer.parameters, Trainer(seed=99).parameters)


@pytest.mark.parametrize("stop", [1, 2, 9])
def test_a_resumed_run_equals_an_uninterrupted_one(checkpoints: Checkpoints, stop: int) -> None:
    uninterrupted = Trainer()
    for step in range(1, 11):
        uninterrupted.step(step)
    save_at(checkpoints, stop)
    trainer, state, problems = resume(checkpoints)
    assert (state.step, problems) == (stop, [])
    for step in range(state.step + 1, 11):
        trainer.step(step)
    assert equal(trainer.parameters, uninterrupted.parameters)


def test_the_complete_optimizer_state_is_restored(checkpoints: Checkpoints) -> None:
    first = Trainer()
    for step in range(1, 4):
        first.step(step)
    checkpoints.save(first.model, first.optimizer, RunState(step=3))
    second, _, _ = resume(checkpoints)
    saved, restored = first.optimizer.state_dict()["state"], second.optimizer.state_dict()["state"]
    assert saved.keys() == restored.keys()
    for number in saved:
        assert saved[number].keys() == restored[number].keys() == {"step", "exp_avg", "exp_avg_sq"}
        assert equal(saved[number], restored[number])


@pytest.mark.parametrize(
    "state",
    [
        RunState(step=7),
        RunState(step=7, position=StreamPosition(epoch=3, pool=2, batch=1), best_loss=0.1 + 0.2, best_step=5, stale=2),
    ],
)
def test_the_run_state_is_restored_exactly(checkpoints: Checkpoints, state: RunState) -> None:
    trainer = Trainer()
    trainer.step(1)
    checkpoints.save(trainer.model, trainer.optimizer, state)
    assert resume(checkpoints)[1] == state


def test_the_newest_checkpoint_is_resumed(checkpoints: Checkpoints) -> None:
    parameters = save_at(checkpoints, 2, 100, 30)
    trainer, state, _ = resume(checkpoints)
    assert state.step == 100
    assert equal(trainer.parameters, parameters[100])


def test_saving_a_step_again_replaces_its_checkpoint(checkpoints: Checkpoints) -> None:
    save_at(checkpoints, 4)
    other = Trainer(seed=5)
    other.step(1)
    checkpoints.save(other.model, other.optimizer, RunState(step=4))
    assert checkpoints.steps() == [4]
    assert equal(resume(checkpoints)[0].parameters, other.parameters)


# Damage


def flip_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


DAMAGE: dict[str, Callable[[Path], None]] = {"changed": flip_bit, "cut off": cut, "missing": Path.unlink}
FILES = ["weights.safetensors", "optimizer.safetensors", "progress.json", "manifest.json"]


@pytest.mark.parametrize("kind", DAMAGE)
@pytest.mark.parametrize("name", FILES)
def test_a_damaged_newest_checkpoint_is_reported_and_the_previous_one_used(
    checkpoints: Checkpoints, kind: str, name: str
) -> None:
    parameters = save_at(checkpoints, 3, 6)
    damaged = checkpoints.path(6)
    DAMAGE[kind](damaged / name)
    trainer, state, problems = resume(checkpoints)
    assert state.step == 3
    assert equal(trainer.parameters, parameters[3])
    assert len(problems) == 1
    assert problems[0].startswith(str(damaged))


def test_if_all_checkpoints_are_damaged_the_run_stops_and_nothing_is_deleted(checkpoints: Checkpoints) -> None:
    save_at(checkpoints, 10, 20, 30, 40, 50)
    checkpoints.prune({10, 20, 30})
    flip_bit(checkpoints.path(20) / "weights.safetensors")
    damaged = [checkpoints.path(50) / "weights.safetensors", checkpoints.path(40) / "progress.json"]
    for path in damaged:
        flip_bit(path)
    before = {path: path.read_bytes() for path in checkpoints.folder.rglob("*") if path.is_file()}
    with pytest.raises(DamagedCheckpointsError) as error:
        resume(checkpoints)
    changed = "was changed after it was written (its SHA-256 differs)"
    assert error.value.problems == [f"{path} {changed}" for path in damaged]
    assert error.value.with_parameters == [10, 30, 40]
    assert {path: path.read_bytes() for path in checkpoints.folder.rglob("*") if path.is_file()} == before


def test_after_a_fallback_the_next_checkpoint_keeps_its_optimizer_state(checkpoints: Checkpoints) -> None:
    """Damaged checkpoints of later steps must not count as newer, or the new one would be pruned at once."""
    save_at(checkpoints, 10, 20, 30, 40)
    checkpoints.prune({10})
    flip_bit(checkpoints.path(40) / "weights.safetensors")
    assert resume(checkpoints)[1].step == 30
    assert checkpoints.steps() == [10, 30, 40]  # nothing is deleted before a new checkpoint exists
    save_at(checkpoints, 35)
    checkpoints.prune({10})
    assert kept(checkpoints) == {10: False, 30: True, 35: True}
    assert resume(checkpoints)[1].step == 35


def test_a_partly_written_checkpoint_is_ignored(checkpoints: Checkpoints) -> None:
    parameters = save_at(checkpoints, 3)
    partial = checkpoints.folder / "step-00000006.tmp"
    partial.mkdir()
    (partial / "weights.safetensors").write_bytes(b"partial")
    trainer, state, problems = resume(checkpoints)
    assert (state.step, problems) == (3, [])
    assert equal(trainer.parameters, parameters[3])
    assert checkpoints.steps() == [3]


# Pruning


def kept(checkpoints: Checkpoints) -> dict[int, bool]:
    """Return the steps that have a checkpoint, and whether it has its optimizer state."""
    return {step: (checkpoints.path(step) / "optimizer.safetensors").exists() for step in checkpoints.steps()}


def test_pruning_keeps_the_two_newest_checkpoints_and_the_wanted_parameters(checkpoints: Checkpoints) -> None:
    parameters = save_at(checkpoints, 1, 2, 3, 4, 5)
    checkpoints.prune({2, 4})
    assert kept(checkpoints) == {2: False, 4: True, 5: True}
    assert equal(checkpoints.weights(2) or {}, parameters[2])
    assert resume(checkpoints)[1].step == 5


def test_pruning_twice_changes_nothing(checkpoints: Checkpoints) -> None:
    save_at(checkpoints, 1, 2, 3, 4)
    checkpoints.prune({1})
    checkpoints.prune({1})
    assert kept(checkpoints) == {1: False, 3: True, 4: True}


@pytest.mark.parametrize("count", [1, 2])
def test_up_to_two_checkpoints_are_all_kept(checkpoints: Checkpoints, count: int) -> None:
    save_at(checkpoints, *range(1, count + 1))
    checkpoints.prune(set())
    assert kept(checkpoints) == dict.fromkeys(range(1, count + 1), True)


def test_a_checkpoint_without_its_optimizer_state_is_never_resumed(checkpoints: Checkpoints) -> None:
    save_at(checkpoints, 1, 2, 3)
    checkpoints.prune({1})
    for step in (2, 3):
        flip_bit(checkpoints.path(step) / "progress.json")
    with pytest.raises(DamagedCheckpointsError):
        resume(checkpoints)


# The average


def test_the_average_is_the_mean_of_the_parameters(checkpoints: Checkpoints) -> None:
    parameters = save_at(checkpoints, 1, 4, 5)
    average = checkpoints.average([1, 4, 5])
    assert average.count == 3
    assert average.weights.keys() == parameters[1].keys()
    for name, tensor in average.weights.items():
        expected = torch.stack([parameters[step][name].double() for step in (1, 4, 5)]).mean(dim=0)
        assert tensor.dtype == torch.float32
        assert torch.equal(tensor, expected.float())


def test_the_average_of_one_checkpoint_is_that_checkpoint(checkpoints: Checkpoints) -> None:
    parameters = save_at(checkpoints, 2)
    assert equal(checkpoints.average([2]).weights, parameters[2])


def test_pruning_does_not_change_the_average(checkpoints: Checkpoints) -> None:
    save_at(checkpoints, 1, 2, 3, 4)
    before = checkpoints.average([1, 2, 3, 4])
    checkpoints.prune({1, 2, 3, 4})
    after = checkpoints.average([1, 2, 3, 4])
    assert after.count == before.count == 4
    assert equal(after.weights, before.weights)


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_parameters_are_left_out_of_the_average(checkpoints: Checkpoints, kind: str) -> None:
    parameters = save_at(checkpoints, 1, 2, 3)
    checkpoints.prune({1, 2, 3})
    DAMAGE[kind](checkpoints.path(1) / "weights.safetensors")
    assert checkpoints.weights(1) is None
    average = checkpoints.average([1, 2, 3])
    assert average.count == 2
    for name, tensor in average.weights.items():
        assert torch.equal(tensor, ((parameters[2][name].double() + parameters[3][name].double()) / 2).float())


# The state of a run


def test_the_best_validation_is_kept_and_worse_ones_are_counted() -> None:
    state = replace(RunState(), step=10).validated(2.0)
    assert (state.best_loss, state.best_step, state.stale, state.validated_step) == (2.0, 10, 0, 10)
    state = replace(state, step=20).validated(2.0)
    assert (state.best_loss, state.best_step, state.stale, state.validated_step) == (2.0, 10, 1, 20)
    state = replace(state, step=30).validated(float("nan"))
    assert (state.best_loss, state.best_step, state.stale) == (2.0, 10, 2)
    state = replace(state, step=40).validated(1.5)
    assert (state.best_loss, state.best_step, state.stale) == (1.5, 40, 0)


@pytest.mark.parametrize(
    ("stale", "patience", "due"), [(0, 0, False), (9, 0, False), (1, 2, False), (2, 2, True), (3, 2, True)]
)
def test_early_stopping_is_due_after_the_patience_is_used_up(stale: int, patience: int, due: bool) -> None:
    assert RunState(stale=stale).is_stale(patience) is due
