"""Where a run was: what is saved is what is resumed, damage falls back to the one before, only what is needed stays."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from regard.data.batching.batches import StreamPosition
from regard.settings.train import TrainSettings
from regard.training.checkpoints import Checkpoints, RunState
from regard.training.optimizers.adam import make_optimizer

torch.set_num_threads(1)

SETTINGS = TrainSettings(learning_rate=0.01)


class Learner:
    """A model of two layers, its optimizer, and a made-up task."""

    def __init__(self, seed: int = 0) -> None:
        torch.manual_seed(seed)
        self.model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))
        self.optimizer = make_optimizer(self.model, SETTINGS)
        for group in self.optimizer.param_groups:
            group["lr"] = 0.01

    def step(self, number: int) -> None:
        x = torch.randn(8, 5, generator=torch.Generator().manual_seed(number))
        self.optimizer.zero_grad()
        (self.model(x) - x[:, :3].sin()).square().mean().backward()
        self.optimizer.step()

    @property
    def weights(self) -> dict[str, Tensor]:
        return {name: tensor.clone() for name, tensor in self.model.state_dict().items()}


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(tensor, other[name]) for name, tensor in one.items())


@pytest.fixture
def checkpoints(tmp_path: Path) -> Checkpoints:
    return Checkpoints(tmp_path / "run" / "checkpoints")


def saved(checkpoints: Checkpoints, *steps: int) -> dict[int, dict[str, Tensor]]:
    """Take steps and save at these; the weights at each."""
    learner, found = Learner(), {}
    for step in range(1, max(steps) + 1):
        learner.step(step)
        if step in steps:
            checkpoints.save(learner.model, learner.optimizer, RunState(step=step))
            found[step] = learner.weights
    return found


def resume(checkpoints: Checkpoints) -> tuple[Learner, RunState, list[str]]:
    learner = Learner(seed=99)
    return learner, *checkpoints.resume(learner.model, learner.optimizer)


# Save and resume


def test_nothing_saved_is_the_beginning(checkpoints: Checkpoints) -> None:
    learner, progress, problems = resume(checkpoints)
    assert (progress, problems) == (RunState(), [])
    assert progress.step == 0
    assert same(learner.weights, Learner(seed=99).weights)


@pytest.mark.parametrize("stop", [1, 2, 9])
def test_resumed_equals_uninterrupted(checkpoints: Checkpoints, stop: int) -> None:
    whole = Learner()
    for step in range(1, 11):
        whole.step(step)
    saved(checkpoints, stop)
    learner, progress, problems = resume(checkpoints)
    assert (progress.step, problems) == (stop, [])
    for step in range(progress.step + 1, 11):
        learner.step(step)
    assert same(learner.weights, whole.weights)


def test_the_whole_optimizer_comes_back(checkpoints: Checkpoints) -> None:
    first = Learner()
    for step in range(1, 4):
        first.step(step)
    checkpoints.save(first.model, first.optimizer, RunState(step=3))
    second, _, _ = resume(checkpoints)
    ours, theirs = first.optimizer.state_dict()["state"], second.optimizer.state_dict()["state"]
    assert ours.keys() == theirs.keys()
    for number in ours:
        assert ours[number].keys() == theirs[number].keys() == {"step", "exp_avg", "exp_avg_sq"}
        assert same(ours[number], theirs[number])


@pytest.mark.parametrize(
    "progress",
    [
        RunState(step=7),
        RunState(
            step=7, position=StreamPosition(epoch=3, window=2, batch=1), best_loss=0.1 + 0.2, best_step=5, stale=2
        ),
    ],
)
def test_progress_comes_back_exactly(checkpoints: Checkpoints, progress: RunState) -> None:
    learner = Learner()
    learner.step(1)
    checkpoints.save(learner.model, learner.optimizer, progress)
    assert resume(checkpoints)[1] == progress


def test_the_newest_is_resumed(checkpoints: Checkpoints) -> None:
    weights = saved(checkpoints, 2, 100, 30)
    learner, progress, _ = resume(checkpoints)
    assert progress.step == 100
    assert same(learner.weights, weights[100])


def test_saving_a_step_again_replaces_it(checkpoints: Checkpoints) -> None:
    saved(checkpoints, 4)
    other = Learner(seed=5)
    other.step(1)
    checkpoints.save(other.model, other.optimizer, RunState(step=4))
    assert checkpoints.steps() == [4]
    assert same(resume(checkpoints)[0].weights, other.weights)


# Damage


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


HARMS: dict[str, Callable[[Path], None]] = {"flipped": flip, "cut off": cut, "missing": Path.unlink}
FILES = ["weights.safetensors", "optimizer.safetensors", "progress.json", "manifest.json"]


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("name", FILES)
def test_if_the_newest_is_damaged_the_one_before_is_used_and_it_says_so(
    checkpoints: Checkpoints, harm: str, name: str
) -> None:
    weights = saved(checkpoints, 3, 6)
    damaged = checkpoints.path(6)
    HARMS[harm](damaged / name)
    learner, progress, problems = resume(checkpoints)
    assert progress.step == 3
    assert same(learner.weights, weights[3])
    assert len(problems) == 1
    assert problems[0].startswith(str(damaged))


def test_if_all_are_damaged_it_begins_anew(checkpoints: Checkpoints) -> None:
    saved(checkpoints, 3, 6)
    for step in (3, 6):
        flip(checkpoints.path(step) / "weights.safetensors")
    learner, progress, problems = resume(checkpoints)
    assert progress == RunState()
    assert same(learner.weights, Learner(seed=99).weights)
    assert [problem.split("/")[-2] for problem in problems] == ["step-00000006", "step-00000003"]


def test_after_a_fall_back_the_next_save_is_whole_and_stays(checkpoints: Checkpoints) -> None:
    """What was beyond it does not count as newer any more, or the new one would lose its optimizer at once."""
    saved(checkpoints, 10, 20, 30, 40)
    checkpoints.prune({10, 20, 30, 40})
    for step in (30, 40):
        flip(checkpoints.path(step) / "weights.safetensors")
    assert resume(checkpoints)[1].step == 0
    assert checkpoints.steps() == [10, 20, 30, 40]  # nothing goes before something new is there
    saved(checkpoints, 10)
    checkpoints.prune({10})
    assert kept(checkpoints) == {10: True}
    assert resume(checkpoints)[1].step == 10


def test_a_half_written_checkpoint_is_not_one(checkpoints: Checkpoints) -> None:
    weights = saved(checkpoints, 3)
    half = checkpoints.folder / "step-00000006.tmp"
    half.mkdir()
    (half / "weights.safetensors").write_bytes(b"half")
    learner, progress, problems = resume(checkpoints)
    assert (progress.step, problems) == (3, [])
    assert same(learner.weights, weights[3])
    assert checkpoints.steps() == [3]


# Pruning


def kept(checkpoints: Checkpoints) -> dict[int, bool]:
    """Each step, and whether its optimizer is there."""
    return {step: (checkpoints.path(step) / "optimizer.safetensors").exists() for step in checkpoints.steps()}


def test_pruning_keeps_the_two_newest_whole_and_the_weights_of_what_is_wanted(checkpoints: Checkpoints) -> None:
    weights = saved(checkpoints, 1, 2, 3, 4, 5)
    checkpoints.prune({2, 4})
    assert kept(checkpoints) == {2: False, 4: True, 5: True}
    assert same(checkpoints.weights(2) or {}, weights[2])
    assert resume(checkpoints)[1].step == 5


def test_pruning_twice_changes_nothing(checkpoints: Checkpoints) -> None:
    saved(checkpoints, 1, 2, 3, 4)
    checkpoints.prune({1})
    checkpoints.prune({1})
    assert kept(checkpoints) == {1: False, 3: True, 4: True}


@pytest.mark.parametrize("count", [1, 2])
def test_few_are_all_kept(checkpoints: Checkpoints, count: int) -> None:
    saved(checkpoints, *range(1, count + 1))
    checkpoints.prune(set())
    assert kept(checkpoints) == dict.fromkeys(range(1, count + 1), True)


def test_a_checkpoint_without_its_optimizer_is_never_resumed(checkpoints: Checkpoints) -> None:
    saved(checkpoints, 1, 2, 3)
    checkpoints.prune({1})
    for step in (2, 3):
        flip(checkpoints.path(step) / "progress.json")
    assert resume(checkpoints)[1] == RunState()


# The average


def test_the_average_is_the_mean_of_the_weights(checkpoints: Checkpoints) -> None:
    weights = saved(checkpoints, 1, 4, 5)
    found = checkpoints.average([1, 4, 5])
    assert found.count == 3
    assert found.weights.keys() == weights[1].keys()
    for name, tensor in found.weights.items():
        wanted = torch.stack([weights[step][name].double() for step in (1, 4, 5)]).mean(dim=0)
        assert tensor.dtype == torch.float32
        assert torch.equal(tensor, wanted.float())


def test_the_average_of_one_is_that_one(checkpoints: Checkpoints) -> None:
    weights = saved(checkpoints, 2)
    assert same(checkpoints.average([2]).weights, weights[2])


def test_the_average_outlives_pruning(checkpoints: Checkpoints) -> None:
    saved(checkpoints, 1, 2, 3, 4)
    before = checkpoints.average([1, 2, 3, 4])
    checkpoints.prune({1, 2, 3, 4})
    after = checkpoints.average([1, 2, 3, 4])
    assert after.count == before.count == 4
    assert same(after.weights, before.weights)


@pytest.mark.parametrize("harm", HARMS)
def test_damaged_weights_are_left_out_of_the_average(checkpoints: Checkpoints, harm: str) -> None:
    weights = saved(checkpoints, 1, 2, 3)
    checkpoints.prune({1, 2, 3})
    HARMS[harm](checkpoints.path(1) / "weights.safetensors")
    assert checkpoints.weights(1) is None
    found = checkpoints.average([1, 2, 3])
    assert found.count == 2
    for name, tensor in found.weights.items():
        assert torch.equal(tensor, ((weights[2][name].double() + weights[3][name].double()) / 2).float())


# Progress


def test_a_better_validation_is_remembered_and_a_worse_one_counted() -> None:
    progress = replace(RunState(), step=10).validated(2.0)
    assert (progress.best_loss, progress.best_step, progress.stale, progress.validated_step) == (2.0, 10, 0, 10)
    progress = replace(progress, step=20).validated(2.0)
    assert (progress.best_loss, progress.best_step, progress.stale, progress.validated_step) == (2.0, 10, 1, 20)
    progress = replace(progress, step=30).validated(float("nan"))
    assert (progress.best_loss, progress.best_step, progress.stale) == (2.0, 10, 2)
    progress = replace(progress, step=40).validated(1.5)
    assert (progress.best_loss, progress.best_step, progress.stale) == (1.5, 40, 0)


@pytest.mark.parametrize(
    ("stale", "patience", "due"), [(0, 0, False), (9, 0, False), (1, 2, False), (2, 2, True), (3, 2, True)]
)
def test_patience_ends_after_so_many_stale_validations(stale: int, patience: int, due: bool) -> None:
    assert RunState(stale=stale).is_stale(patience) is due
