"""Whole runs of a tiny model: what happens in them, what stops them, and that no interruption leaves a trace."""

import copy
import itertools
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tests.training.conftest import Result, TinyRuns
from torch import Tensor

import regard
from regard.data.batching.batches import Batch, StreamPosition
from regard.errors import RunError, SettingsError, UserError
from regard.inference.search.beam import search
from regard.machine import bfloat16, memory
from regard.model_folder.loader import open_folder
from regard.models.kinds.transformer import Transformer
from regard.settings.decode import DecodeSettings
from regard.settings.kinds.transformer import TransformerSettings
from regard.settings.train import TrainSettings
from regard.storage.json_files import read_hashed_json, read_json, write_hashed_json, write_json
from regard.storage.manifest import find_damage, sha256, write_manifest
from regard.tokenizers.special_ids import BOS, EOS, PAD
from regard.training import loss
from regard.training import step as step_module
from regard.training.optimizers.adam import make_optimizer
from regard.training.planning import memory_estimate
from regard.training.step import Step, derived_seed, training_steps
from regard.training.tracking.events import Event, Finished, Note, Planned, Stopped
from regard.training.validation import Validation, Validator

torch.set_num_threads(1)

Kind = TypeVar("Kind")


def only(kind: type[Kind], events: list[Event]) -> list[Kind]:
    return [event for event in events if isinstance(event, kind)]


def notes(events: list[Event]) -> list[str]:
    return [event.text for event in only(Note, events)]


@dataclass(frozen=True)
class Whole:
    """An uninterrupted run."""

    out: Path
    events: list[Event]
    result: Result


@pytest.fixture(scope="module")
def whole(tiny: TinyRuns, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    out = tiny.fresh(tmp_path_factory.mktemp("whole") / "model")
    events = tiny(out)
    return Whole(out, events, Result.of(out))


# A whole run


def test_a_run_tells_its_plan_its_steps_its_validations_and_its_end(tiny: TinyRuns, whole: Whole) -> None:
    (planned,) = only(Planned, whole.events)
    assert planned.resumed == 0
    assert planned.plan.settings.train.steps == tiny.steps
    assert planned.plan.reasons[0] == "languages en to fr (--languages names them)"
    assert planned.plan.reasons[1] == "size tiny, as asked"
    assert planned.plan.reasons[-1] == "50 steps, as asked"
    assert [step.step for step in only(Step, whole.events)] == list(range(1, 51))
    assert [validation.step for validation in only(Validation, whole.events)] == [10, 20, 30, 40, 50]
    assert isinstance(whole.events[-1], Finished)
    assert whole.events[-1].folder == whole.out
    assert whole.events[-1].scores is not None
    assert not only(Stopped, whole.events)


def test_a_run_learns(whole: Whole) -> None:
    steps, validations = only(Step, whole.events), only(Validation, whole.events)
    assert steps[-1].loss < steps[0].loss - 1
    assert validations[-1].loss < validations[0].loss


def test_the_run_spans_epochs_and_each_step_several_micro_batches(whole: Whole) -> None:
    """Or the tests of resuming below would prove little."""
    steps = only(Step, whole.events)
    assert steps[-1].position.epoch >= 3
    assert len({step.position for step in steps}) == len(steps)
    assert any(step.position.batch for step in steps)
    (planned,) = only(Planned, whole.events)
    train = planned.plan.settings.train
    assert train.batch_tokens == 2 * train.micro_batch_tokens
    assert train.dropout == 0.1


def test_the_folder_loads_and_translates(whole: Whole) -> None:
    translator = regard.load(whole.out, fast=None)
    assert isinstance(translator.translate("a bo cat").text, str)
    assert open_folder(whole.out).languages == ("en", "fr")


def test_the_validation_is_of_the_translator_people_get(whole: Whole) -> None:
    last = whole.events[-1]
    assert isinstance(last, Finished) and last.scores is not None
    source, translation, _ = last.scores.example
    settings = only(Planned, whole.events)[0].plan.settings
    assert regard.load(whole.out, fast=None).translate(source, settings.decode).text == translation


def test_the_card_says_what_it_was_made_of(tiny: TinyRuns, whole: Whole) -> None:
    card = (whole.out / "card.md").read_text("utf-8")
    assert "# A translator from en to fr" in card
    assert f"- training data: train.en, SHA-256 `{sha256(tiny.files[0])}`" in card
    assert "57 training pairs, 3 validation pairs held out of the training data, by source sentence." in card
    assert "1 + 1 layers, width 16, feed-forward 24, 2 heads, pre-norm" in card
    assert "| the last checkpoint" in card
    assert card.count("(kept)") == 1


def test_the_log_has_every_step_and_validation(whole: Whole) -> None:
    assert [line["step"] for line in whole.result.log if "loss" in line] == list(range(1, 51))
    assert [line["step"] for line in whole.result.log if "bleu" in line] == [10, 20, 30, 40, 50]


def test_a_finished_run_says_so_and_does_nothing(tiny: TinyRuns, whole: Whole) -> None:
    before = {path: path.stat().st_mtime_ns for path in whole.out.rglob("*")}
    assert tiny(whole.out)[-1] == Finished(whole.out, None)
    assert {path: path.stat().st_mtime_ns for path in whole.out.rglob("*")} == before


def test_the_same_run_twice_gives_the_same_bytes(tiny: TinyRuns, whole: Whole, tmp_path: Path) -> None:
    """Preparation included: this one starts from the two files."""
    tiny(tmp_path / "again")
    assert Result.of(tmp_path / "again") == whole.result


def test_another_seed_gives_another_model(tiny: TinyRuns, whole: Whole, tmp_path: Path) -> None:
    tiny(tmp_path / "other", overrides=(*tiny.overrides, "train.seed=2"))
    assert sha256(tmp_path / "other" / "weights.safetensors") != whole.result.weights


def test_without_its_run_folder_a_model_still_works(whole: Whole, tmp_path: Path) -> None:
    shutil.copytree(whole.out, tmp_path / "model", ignore=shutil.ignore_patterns("run"))
    before, after = regard.load(whole.out, fast=None), regard.load(tmp_path / "model", fast=None)
    assert before.translate("dog elf").text == after.translate("dog elf").text


# Resumed = uninterrupted


def test_stopped_after_every_single_step_it_is_the_same_model(tiny: TinyRuns, whole: Whole, tmp_path: Path) -> None:
    out = tiny.fresh(tmp_path / "model")
    for step in range(1, 51):
        assert tiny.stopped(out, step)[-1] == Stopped(step)
    assert isinstance(tiny(out)[-1], Finished)
    assert Result.of(out) == whole.result


@pytest.mark.parametrize("call", range(1, 12))
def test_asked_to_stop_at_any_moment_it_stops_where_it_saved(tiny: TinyRuns, tmp_path: Path, call: int) -> None:
    """A signal may come between any two questions; once asked, it stays so."""
    out, asked = tiny.fresh(tmp_path / "model"), itertools.count(1)
    last = tiny(out, stop=lambda: next(asked) >= call)[-1]
    assert isinstance(last, Stopped)
    assert only(Planned, tiny(out, stop=lambda: True))[0].resumed == last.step


@pytest.mark.parametrize("step", [1, 9, 10, 11, 37, 50])
def test_dropped_without_a_word_it_goes_on_from_the_last_checkpoint(
    tiny: TinyRuns, whole: Whole, tmp_path: Path, step: int
) -> None:
    """Whoever takes the events just stops asking, as a crash would: nothing is saved on the way out."""
    out = tiny.fresh(tmp_path / "model")
    events = tiny.events(out)
    assert any(isinstance(event, Step) and event.step == step for event in events)
    events.close()  # type: ignore[attr-defined]
    resumed = tiny(out)
    assert only(Planned, resumed)[0].resumed == (step - 1) // 10 * 10
    assert Result.of(out) == whole.result


def test_killed_after_its_last_step_it_still_finishes(
    tiny: TinyRuns, whole: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Just before the manifest, the last file to be written."""

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    out = tiny.fresh(tmp_path / "model")
    with monkeypatch.context() as patch:
        patch.setattr("regard.model_folder.writer.write_manifest", crash)
        with pytest.raises(KeyboardInterrupt):
            tiny(out)
    assert (out / "weights.safetensors").exists()
    assert not (out / "manifest.json").exists()
    events = tiny(out)
    assert only(Step, events) == []
    assert isinstance(events[-1], Finished)
    assert Result.of(out) == whole.result


def test_a_damaged_newest_checkpoint_is_named_and_the_one_before_used(
    tiny: TinyRuns, whole: Whole, tmp_path: Path
) -> None:
    out = tiny.fresh(tmp_path / "model")
    tiny.stopped(out, 33)
    damaged = out / "run" / "checkpoints" / "step-00000033" / "optimizer.safetensors"
    data = bytearray(damaged.read_bytes())
    data[-1] ^= 1
    damaged.write_bytes(data)
    events = tiny(out)
    assert notes(events) == [
        f"a checkpoint is damaged, so the run goes on from the one before it, if any: {damaged} was changed after it "
        "was written (its SHA-256 differs)"
    ]
    assert only(Planned, events)[0].resumed == 30
    assert Result.of(out) == whole.result


def test_the_comparison_would_notice_another_place_in_the_data(tiny: TinyRuns, whole: Whole, tmp_path: Path) -> None:
    """Of what a checkpoint keeps, the smallest number matters, and the tests above would see it."""
    out = tiny.fresh(tmp_path / "model")
    tiny.stopped(out, 33)
    folder = out / "run" / "checkpoints" / "step-00000033"
    progress = read_json(folder / "progress.json")
    progress["position"] = {"epoch": 0, "window": 0, "batch": 0}
    write_json(folder / "progress.json", progress)
    write_manifest(folder, list(read_json(folder / "manifest.json")))
    tiny(out)
    assert Result.of(out).log != whole.result.log


def test_a_damaged_older_checkpoint_does_not_get_into_the_average(tiny: TinyRuns, whole: Whole, tmp_path: Path) -> None:
    out = tiny.fresh(tmp_path / "model")
    tiny.stopped(out, 45)
    damaged = out / "run" / "checkpoints" / "step-00000010" / "weights.safetensors"
    data = bytearray(damaged.read_bytes())
    data[-2] ^= 0x40  # the last number becomes another, quietly
    damaged.write_bytes(data)
    last = tiny(out)[-1]
    assert isinstance(last, Finished)
    assert "| the average of the last 4 checkpoints" in (out / "card.md").read_text("utf-8")


def test_prepared_data_that_is_damaged_is_made_again(tiny: TinyRuns, whole: Whole, tmp_path: Path) -> None:
    out = tiny.fresh(tmp_path / "model")
    for path in (out / "run" / "shards" / "train" / "source.ids", out / "run" / "texts" / "train" / "target.txt"):
        path.write_bytes(path.read_bytes()[:-2])
    tiny(out)
    assert Result.of(out) == whole.result


def test_a_run_may_be_moved_between_its_parts(tiny: TinyRuns, whole: Whole, tmp_path: Path) -> None:
    tiny.stopped(tiny.fresh(tmp_path / "here"), 5)
    shutil.move(tmp_path / "here", tmp_path / "there")
    tiny(tmp_path / "there")
    assert Result.of(tmp_path / "there") == whole.result


def test_other_versions_are_noted(tiny: TinyRuns, tmp_path: Path) -> None:
    out = tiny.fresh(tmp_path / "model")
    plan = read_hashed_json(out / "run" / "plan.json")
    plan["versions"]["torch"] = "1.0"
    write_hashed_json(out / "run" / "plan.json", plan)
    assert "the run began with other versions of its libraries: it goes on, but not bit for bit" in notes(
        tiny.stopped(out, 1)
    )


# Another run in the same folder


def refused(events: Iterator[Event], kind: type[UserError] = RunError) -> str:
    with pytest.raises(kind) as caught:
        list(events)
    return str(caught.value)


@pytest.mark.parametrize("finished", [False, True])
def test_other_requests_for_the_same_folder_are_refused_with_the_difference(
    tiny: TinyRuns, whole: Whole, tmp_path: Path, finished: bool
) -> None:
    out = whole.out if finished else tiny.fresh(tmp_path / "model")
    other = tiny.write(tmp_path, "train", tiny.sentences(61, seed=1))
    was, now = (" ".join(f"{path.name} ({sha256(path)[:12]})" for path in files) for files in (tiny.files, other))
    settings = ", ".join(tiny.overrides)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"files": other}, f"  training data: was {was}, is now {now}"),
        ({"valid": tiny.files}, f"  validation data: was nothing, is now {was}"),
        ({"steps": 51}, "  steps: was 50, is now 51"),
        ({"steps": None, "budget": 60.0}, "  budget: was not given, is now 60.0\n  steps: was 50, is now not given"),
        ({"size": "small"}, "  size: was tiny, is now small"),
        ({"languages": ("en", "de")}, "  languages: was en fr, is now en de"),
        (
            {"parent": whole.out, "size": None, "overrides": ()},
            f"  from: was not given, is now {sha256(whole.out / 'manifest.json')}",
        ),
        ({"overrides": (*tiny.overrides, "train.max_grad_norm=2")}, f"  settings: was {settings}, is now "),
    ]
    for changes, difference in cases:
        message = refused(tiny.events(out, **changes))
        assert message.startswith(f"{out} holds a run that was started differently:\n")
        assert difference in message
        assert message.endswith("give the same command to go on with it, or another --out for a new run")


def test_a_folder_with_other_files_is_left_alone(tiny: TinyRuns, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    assert refused(tiny.events(tmp_path)) == (
        f"{tmp_path} holds other files already; choose another --out, or remove it first"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_saves_between_validations_do_not_pile_up(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.training.trainer.SAVE_SECONDS", 0)
    most = 0
    for _ in tiny.events(tiny.fresh(tmp_path / "model")):
        most = max(most, len(list((tmp_path / "model" / "run" / "checkpoints").glob("step-*/optimizer.safetensors"))))
    assert most == 2


def test_a_file_is_no_folder_to_write_to(tiny: TinyRuns, tmp_path: Path) -> None:
    (tmp_path / "model").write_text("a file")
    assert refused(tiny.events(tmp_path / "model")) == (
        f"--out {tmp_path / 'model'} is a file; choose another name for the model folder"
    )


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"budget": 60.0}, RunError, "give --steps or --budget, not both: a budget is turned into steps"),
        ({"size": "huge"}, SettingsError, "unknown size 'huge'; the sizes are tiny, small, base, big"),
        ({"overrides": ("train.stepz=1",)}, SettingsError, "unknown setting train.stepz; did you mean train.steps?"),
        (
            {"overrides": ("model.width=30",)},
            SettingsError,
            "model.width (30) must be a multiple of model.heads (4)",
        ),
    ],
)
def test_mistakes_come_before_any_work(
    tiny: TinyRuns, tmp_path: Path, changes: dict[str, Any], kind: type[UserError], message: str
) -> None:
    assert refused(tiny.events(tmp_path / "model", **changes), kind) == message
    assert not (tmp_path / "model").exists()


def test_bfloat16_that_would_kill_comes_before_any_work(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bfloat16, "is_safe", lambda: False)
    message = refused(tiny.events(tmp_path / "model", overrides=(*tiny.overrides, "train.precision=bfloat16")))
    assert message.startswith("train.precision=bfloat16, but torch dies of it on this machine")
    assert not (tmp_path / "model").exists()


def test_contrast_without_lines_that_belong_together_is_refused(tiny: TinyRuns, tmp_path: Path) -> None:
    data = tmp_path / "data.tsv"
    unlike = [f"{'abcdefgh'[line % 8] * 3} {line:b}\t{line:b}" for line in range(100, 300)]
    data.write_text("".join(f"{line}\n" for line in unlike), "utf-8")
    overrides = (*tiny.overrides, "train.minimal_pair_weight=10", "tokenizer.vocab_size=300")
    message = refused(tiny.events(tmp_path / "model", [data], overrides=overrides))
    assert message.startswith(
        "train.minimal_pair_weight needs neighbouring lines (1 and 2, 3 and 4, …) whose sources differ in"
    )


def test_settings_are_judged_together_with_the_size(tiny: TinyRuns, tmp_path: Path) -> None:
    """A width of 20 goes with tiny's four heads, if not with the eight of the paper."""
    events = tiny.events(tmp_path / "model", overrides=("model.width=20", *tiny.overrides[2:]), stop=lambda: True)
    assert isinstance(list(events)[-1], Stopped)


def test_steps_by_flag_and_by_setting_contradict_each_other(tiny: TinyRuns, tmp_path: Path) -> None:
    overrides = (*tiny.overrides, "train.steps=7")
    assert "train.steps" in refused(tiny.events(tmp_path / "model", overrides=overrides), UserError)


def test_two_processes_cannot_train_in_one_folder(tiny: TinyRuns, tmp_path: Path) -> None:
    out = tiny.fresh(tmp_path / "model")
    holder = (
        "import sys, filelock\n"
        f"with filelock.FileLock({str(out / 'run' / 'lock')!r}):\n"
        "    print('held', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", holder], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == b"held\n"
        assert (
            refused(tiny.events(out)) == f"another process is training in {out}; wait for it, or choose another --out"
        )
        process.kill()
    assert tiny.stopped(out, 1)[-1] == Stopped(1)  # the system has lifted the lock of the dead


def test_two_runs_of_one_process_cannot_train_in_one_folder_either(tiny: TinyRuns, tmp_path: Path) -> None:
    out = tiny.fresh(tmp_path / "model")
    first = tiny.events(out)
    assert any(isinstance(event, Planned) for event in first)
    assert refused(tiny.events(out)).startswith(f"another process is training in {out}")
    first.close()  # type: ignore[attr-defined]


# Data


def test_validation_pairs_are_held_out(tiny: TinyRuns, whole: Whole) -> None:
    texts = whole.out / "run" / "texts"
    learnt, tried = (set((texts / part / "source.txt").read_text("utf-8").splitlines()) for part in ("train", "valid"))
    assert len(tried) == 3
    assert not learnt & tried
    assert learnt | tried == set(tiny.files[0].read_text("utf-8").splitlines())


def test_validation_files_are_used_as_given(tiny: TinyRuns, tmp_path: Path) -> None:
    valid = tiny.write(tmp_path, "valid", tiny.sentences(4, seed=2))
    events = tiny(tmp_path / "model", valid=valid, steps=2)
    assert [each.sentences for each in only(Validation, events)] == [4]
    card = (tmp_path / "model" / "card.md").read_text("utf-8")
    assert "60 training pairs, 4 validation pairs." in card
    assert f"- validation data: valid.en, SHA-256 `{sha256(valid[0])}`" in card


def test_what_cannot_be_learnt_from_is_counted_and_listed(tiny: TinyRuns, tmp_path: Path) -> None:
    pairs = tiny.sentences(40, seed=1)
    pairs[4], pairs[9], pairs[20] = ("a", ""), (" ", "b"), ("long " * 60, "c")
    files = tiny.write(tmp_path, "holes", pairs)
    valid = tiny.write(tmp_path, "valid", tiny.sentences(3, seed=2))
    overrides = (*tiny.overrides, "model.max_positions=50")
    out = tmp_path / "model"
    events = tiny(out, files, valid=valid, steps=2, overrides=overrides)
    listing = out / "run" / "shards" / "dropped.tsv"
    assert notes(events)[-1] == f"left out source empty: 1, source too long: 1, target empty: 1; {listing} lists them"
    assert listing.read_text("utf-8").splitlines() == [
        "file\tline\treason",
        "holes.fr\t5\ttarget empty",
        "holes.en\t10\tsource empty",
        "holes.en\t21\tsource too long",
    ]
    assert "1 left out (source too long)" in (out / "card.md").read_text("utf-8")


def test_what_is_left_out_does_not_count_in_the_validation(tiny: TinyRuns, tmp_path: Path) -> None:
    pairs = tiny.sentences(4, seed=2)
    holes = [("", "b"), *pairs[:2], ("a", " "), ("long " * 60, "c"), *pairs[2:]]
    overrides = (*tiny.overrides, "model.max_positions=50")
    found = [
        only(Validation, tiny(tmp_path / name, valid=tiny.write(tmp_path, name, valid), steps=2, overrides=overrides))
        for name, valid in (("whole", pairs), ("holes", holes))
    ]
    assert found[0] == found[1]
    assert [one.sentences for one in found[0]] == [4]


def test_several_corpora_are_one(tiny: TinyRuns, tmp_path: Path) -> None:
    pairs = tiny.sentences(60, seed=1)
    first = tiny.write(tmp_path, "one", pairs[:25])
    second = tmp_path / "two.tsv"
    second.write_text("".join(f"{source}\t{target}\n" for source, target in pairs[25:]), "utf-8")
    tiny(tmp_path / "model", [*first, second], steps=1)
    lines = (tmp_path / "model" / "run" / "texts" / "train" / "source.txt").read_text("utf-8").splitlines()
    assert len(lines) == 57


# How long


def test_a_budget_becomes_steps_once(tiny: TinyRuns, tmp_path: Path) -> None:
    out = tmp_path / "model"
    planned = only(Planned, tiny(out, steps=None, budget=1.0, stop=lambda: True))[0]
    steps = planned.plan.settings.train.steps
    assert 1 <= steps <= 92  # at 0.01 s a step, less what preparing took
    assert planned.plan.reasons[-1] == f"{steps:,} steps, what fits in the budget at 5,000 pieces a second"
    again = only(Planned, tiny(out, steps=None, budget=1.0, stop=lambda: True))[0]
    assert again.plan == planned.plan


def test_steps_may_come_from_the_settings(tiny: TinyRuns, tmp_path: Path) -> None:
    events = tiny(tmp_path / "model", steps=None, overrides=(*tiny.overrides, "train.steps=3"))
    assert len(only(Step, events)) == 3
    assert only(Planned, events)[0].plan.reasons[-1] == "3 steps, from the settings"


def test_size_and_steps_are_chosen_and_the_reason_is_said(tiny: TinyRuns, tmp_path: Path) -> None:
    planned = only(Planned, tiny(tmp_path / "model", size=None, steps=None, stop=lambda: True))[0]
    _, size, pieces, memory, decay, steps = planned.plan.reasons
    assert size.startswith("size tiny, because there are 57 training pairs and ")
    assert " pieces for " in pieces
    assert re.fullmatch(r"about \d+ MB of memory for a step of 48 pieces at a time", memory)
    assert decay == "weight decay 1, so that what was learnt 250 steps ago fades"
    assert planned.plan.settings.train.weight_decay == pytest.approx(1.0)
    assert steps.endswith(" passes over the data")


# Early stopping and the choice of weights


def losses_of(*losses: float) -> Callable[[Validator, Transformer, int], Validation]:
    """A validation that finds the first of these losses at step 10, the second at step 20, …"""
    return lambda _, model, step: Validation(step, losses[step // 10 - 1], 0.0, 0.0, 1, ("", "", ""))


@pytest.mark.parametrize(
    ("patience", "losses", "last"),
    [
        (1, [3.0, 4.0], 20),
        (2, [3.0, 4.0, 5.0], 30),
        (2, [3.0, 4.0, 2.0, 2.5, 2.6], 50),
        (2, [3.0, 3.0, 3.0], 30),
        (0, [3.0, 4.0, 5.0, 6.0, 7.0], 50),
    ],
)
def test_early_stopping_has_patience(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patience: int, losses: list[float], last: int
) -> None:
    monkeypatch.setattr(Validator, "quick", losses_of(*losses))
    out = tmp_path / "model"
    events = tiny(out, overrides=(*tiny.overrides, f"train.patience={patience}"))
    assert only(Step, events)[-1].step == last
    said = [f"no better validation loss for {patience} validations: stopping early"]
    assert notes(events) == (said if patience else [])
    assert isinstance(events[-1], Finished)
    best = losses.index(min(losses)) * 10 + 10
    assert f"| the checkpoint of the best validation loss, step {best}" in (out / "card.md").read_text("utf-8")


def test_a_run_that_stopped_early_stays_so_when_it_is_killed_before_its_end(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Validator, "quick", losses_of(3.0, 4.0))
    overrides = (*tiny.overrides, "train.patience=1")
    tiny(tmp_path / "whole", overrides=overrides)
    events = tiny.events(tmp_path / "killed", overrides=overrides)
    assert any(isinstance(event, Note) for event in events)
    events.close()  # type: ignore[attr-defined]
    assert only(Step, tiny(tmp_path / "killed", overrides=overrides)) == []
    assert sha256(tmp_path / "killed" / "weights.safetensors") == sha256(tmp_path / "whole" / "weights.safetensors")


NAMES = [
    "the last checkpoint",
    "the average of the last 5 checkpoints",
    "the checkpoint of the best validation loss, step 20",
]


@pytest.mark.parametrize("wanted", NAMES)
@pytest.mark.parametrize("sentences", [199, 200])
def test_the_weights_with_the_best_validation_are_kept(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str, sentences: int
) -> None:
    """By BLEU, or by the loss where sentences are so few that BLEU is mostly chance."""
    names = iter(NAMES)

    def full(_: Validator, model: Transformer, step: int) -> Validation:
        best = next(names) == wanted
        bleu, loss = (2.0, 5.0) if best == (sentences == 200) else (1.0, 4.0)
        return Validation(step, loss, bleu, 0.0, sentences, ("", "", ""))

    monkeypatch.setattr(Validator, "quick", losses_of(3.0, 1.0, 2.0, 2.0, 2.0))
    monkeypatch.setattr(Validator, "full", full)
    out = tiny.fresh(tmp_path / "model")
    last = tiny(out)[-1]
    assert isinstance(last, Finished)
    assert last.kept == wanted
    assert f"| {wanted} (kept) |" in (out / "card.md").read_text("utf-8")
    steps: dict[str, list[int]] = dict(zip(NAMES, ([50], [10, 20, 30, 40, 50], [20]), strict=True))
    assert_mean(load_file(out / "weights.safetensors"), [checkpoint(out, step) for step in steps[wanted]])


def checkpoint(out: Path, step: int) -> dict[str, Tensor]:
    return load_file(out / "run" / "checkpoints" / f"step-{step:08d}" / "weights.safetensors")


def assert_mean(found: dict[str, Tensor], weights: list[dict[str, Tensor]]) -> None:
    for name, tensor in found.items():
        assert torch.equal(tensor, torch.stack([each[name].double() for each in weights]).mean(dim=0).float()), name


def test_of_equal_scores_the_lower_loss_decides(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = iter([2.0, 1.0])
    full: Callable[..., Validation] = lambda _, model, step: Validation(step, next(losses), 7.0, 0.0, 500, ("", "", ""))  # noqa: E731
    monkeypatch.setattr(Validator, "full", full)
    last = tiny(tiny.fresh(tmp_path / "model"))[-1]
    assert isinstance(last, Finished)
    assert last.kept == "the average of the last 5 checkpoints"


def test_only_what_is_needed_stays_of_the_checkpoints(whole: Whole) -> None:
    found = sorted((whole.out / "run" / "checkpoints").iterdir())
    assert [path.name for path in found] == [f"step-{step:08d}" for step in (10, 20, 30, 40, 50)]
    assert [(path / "optimizer.safetensors").exists() for path in found] == [False, False, False, True, True]


# What goes wrong on the way


def spoil(monkeypatch: pytest.MonkeyPatch, *steps: int, value: float = float("nan")) -> None:
    """Put a number that is not finite into the gradients of these steps."""
    original = step_module.accumulate_gradients

    def gradient(
        models: Sequence[Transformer], batches: list[Batch], settings: TrainSettings, step: int
    ) -> tuple[float, int]:
        found = original(models, batches, settings, step)
        if step in steps:
            grad = models[0].encoder["1"].self.query.weight.grad  # type: ignore[union-attr]
            assert isinstance(grad, Tensor)
            grad[0, 0] = value
        return found

    monkeypatch.setattr(step_module, "accumulate_gradients", gradient)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_step_whose_gradient_is_not_finite_is_skipped_counted_and_resumed_the_same(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: float
) -> None:
    spoil(monkeypatch, 12, 23, 24, value=value)
    whole, parted = tiny.fresh(tmp_path / "whole"), tiny.fresh(tmp_path / "parted")
    events = tiny(whole, steps=50)
    assert notes(events) == [
        "step 12 is skipped, because its gradient is not finite (1 so far)",
        "step 23 is skipped, because its gradient is not finite (2 so far)",
        "step 24 is skipped, because its gradient is not finite (3 so far)",
    ]
    assert [step.step for step in only(Step, events) if step.skipped] == [12, 23, 24]
    assert [line["step"] for line in Result.of(whole).log if line.get("skipped")] == [12, 23, 24]
    assert read_json(whole / "run" / "checkpoints" / "step-00000050" / "progress.json")["divergence"]["skipped"] == 3
    assert "- 3 steps skipped, because their gradients were not finite\n" in (whole / "card.md").read_text("utf-8")
    assert all(tensor.isfinite().all() for tensor in load_file(whole / "weights.safetensors").values())
    for step in (11, 12, 23):
        tiny.stopped(parted, step)
    tiny(parted)
    assert Result.of(parted) == Result.of(whole)


def test_a_run_may_begin_with_a_skipped_step_and_resume_after_it(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When Adam remembers nothing yet."""
    spoil(monkeypatch, 1)
    whole, parted = tiny.fresh(tmp_path / "whole"), tiny.fresh(tmp_path / "parted")
    tiny(whole)
    assert tiny.stopped(parted, 1)[-1] == Stopped(1)
    tiny(parted)
    assert Result.of(parted) == Result.of(whole)


def test_a_skipped_step_changes_no_weight_and_no_memory_of_adam(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = np.array([[5, 6, EOS]])
    stream = itertools.repeat((Batch(ids, ids, 3), StreamPosition()))
    shape = TransformerSettings(vocab_size=16, width=8, heads=2, feedforward=8, encoder_layers=1, decoder_layers=1)
    settings = TrainSettings(steps=3, batch_tokens=8, micro_batch_tokens=8, max_grad_norm=1.0)
    model = Transformer(shape)
    optimizer = make_optimizer(model, settings)
    spoil(monkeypatch, 2)
    steps = training_steps(model, optimizer, stream, settings, width=8)
    next(steps)
    before = copy.deepcopy((model.state_dict(), optimizer.state_dict()["state"]))
    assert next(steps).skipped
    after = (model.state_dict(), optimizer.state_dict()["state"])
    assert all(torch.equal(tensor, before[0][name]) for name, tensor in after[0].items())
    for number, memories in after[1].items():
        assert all(torch.equal(tensor, before[1][number][name]) for name, tensor in memories.items())
    assert not next(steps).skipped


def test_after_ten_skipped_steps_in_a_row_it_stops_with_advice(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(monkeypatch, *range(15, 60))
    out = tiny.fresh(tmp_path / "model")
    advice = (
        "the run diverges at step 24: the gradients of the last 10 steps were not finite numbers; start again in "
        "another --out, with a lower train.learning_rate (it is 0.004; try 0.001), or a longer train.warmup_steps "
        "(it is 400 steps); the weights of the best validation loss stay in "
        f"{out / 'run' / 'checkpoints' / 'step-00000020'}"
    )
    assert refused(tiny.events(out)) == advice
    assert refused(tiny.events(out)) == advice  # the same command sees the same
    assert find_damage(out / "run" / "checkpoints" / "step-00000020") is None


def test_a_learning_rate_beyond_all_reason_is_told_so(tiny: TinyRuns, tmp_path: Path) -> None:
    overrides = (*tiny.overrides, "train.learning_rate=1e30", "train.max_grad_norm=0")
    assert refused(tiny.events(tmp_path / "model", overrides=overrides)) == (
        "the run diverges at step 10: the validation loss is not a finite number; start again in another --out, with a "
        "lower train.learning_rate (it is 1e+30; try 3e+29), or --set train.max_grad_norm=1, or a longer "
        "train.warmup_steps (it is 400 steps)"
    )


def starve(monkeypatch: pytest.MonkeyPatch, rows: int, steps: Sequence[int] = range(10**6)) -> None:
    """Let memory run out, half-way through, for each micro-batch of more than so many pairs."""
    original = loss.backward_in_chunks

    def add_gradient(model: Transformer, source_BS: Tensor, *rest: Any, **options: Any) -> float:
        found = original(model, source_BS, *rest, **options)
        if len(source_BS) > rows and starve.step in steps:  # type: ignore[attr-defined]
            raise RuntimeError(
                "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory"
            )
        return found

    def seed(*parts: int | str) -> int:
        if parts[1] == "dropout":
            starve.step = parts[2]  # type: ignore[attr-defined]
        return derived_seed(*parts)

    monkeypatch.setattr(step_module, "backward_in_chunks", add_gradient)
    monkeypatch.setattr(step_module, "derived_seed", seed)


def test_a_step_that_does_not_fit_in_memory_is_cut_and_the_run_resumes_the_same(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, parted = tiny.fresh(tmp_path / "whole"), tiny.fresh(tmp_path / "parted")
    with monkeypatch.context() as patch:
        starve(patch, rows=3, steps=[14])
        (note,) = notes(tiny(whole))
        parts = int(note.split()[-4])
        assert note == f"step 14 did not fit in memory: from it on, each micro-batch is cut {parts} times as fine"
        tiny.stopped(parted, 16)
    assert [line["parts"] for line in Result.of(whole).log if "parts" in line] == [parts] * 37
    card = (whole / "card.md").read_text("utf-8")
    assert f"- from step 14 on each micro-batch cut {parts} times as fine, to fit in memory\n" in card
    # Memory is there again, and the newest checkpoint is lost: the cut steps are taken once more, and cut the same.
    shutil.rmtree(parted / "run" / "checkpoints" / "step-00000016")
    assert notes(tiny(parted)) == []
    assert Result.of(parted) == Result.of(whole)


def test_a_pair_that_does_not_fit_in_memory_alone(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starve(monkeypatch, rows=0, steps=[3])
    assert refused(tiny.events(tiny.fresh(tmp_path / "model"))) == (
        "step 3 does not fit in memory, even a pair at a time; end other programs and give the same command again, or "
        "start anew with a smaller --size or a smaller model.max_positions"
    )


def test_memory_that_runs_out_elsewhere(tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def quick(*_: object) -> Validation:
        raise MemoryError

    monkeypatch.setattr(Validator, "quick", quick)
    assert refused(tiny.events(tiny.fresh(tmp_path / "model"))) == (
        "memory ran out; end other programs and give the same command again, which goes on from the last checkpoint, "
        "or start anew with a smaller --size"
    )


def test_the_micro_batch_is_fitted_to_the_memory_and_the_plan_says_so(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_estimate, "LEAST_TOKENS", 10)
    monkeypatch.setattr(memory_estimate, "fixed_bytes", lambda *_: 1_000_000)
    monkeypatch.setattr(memory_estimate, "activation_bytes_per_token", lambda *_: 100_000.0)
    monkeypatch.setattr(memory, "free_memory", lambda _: 5_000_000)
    out = tmp_path / "model"
    plan = only(Planned, tiny(out, stop=lambda: True))[0].plan
    assert plan.settings.train.micro_batch_tokens == 24
    assert plan.reasons[-3] == (
        "about 4 MB of memory for a step of 24 pieces at a time "
        "(train.micro_batch_tokens was 48, but only 5 MB are free)"
    )
    monkeypatch.setattr(memory, "free_memory", lambda _: 10**12)
    assert only(Planned, tiny(out, stop=lambda: True))[0].plan == plan  # only read afterwards


def test_a_plan_that_was_changed_is_refused(tiny: TinyRuns, tmp_path: Path) -> None:
    out = tiny.fresh(tmp_path / "model")
    path = out / "run" / "plan.json"
    path.write_text(path.read_text("utf-8").replace('"seed": 1', '"seed": 2'), "utf-8")
    assert refused(tiny.events(out)) == (
        f"{path} was changed after it was written (its SHA-256 differs); restore it from a copy, or start a new run in "
        "another --out"
    )


def test_pieces_that_were_changed_are_found_again(tiny: TinyRuns, whole: Whole, tmp_path: Path) -> None:
    out = tiny.fresh(tmp_path / "model")
    path = out / "run" / "tokenizer" / "tokenizer.model"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    tiny(out)
    assert Result.of(out) == whole.result


# Fine-tuning


FINE = (
    "train.micro_batch_tokens=48",
    "train.batch_tokens=96",
    "train.validate_every=5",
    "decode.beam_size=1",
    "decode.max_length_offset=2",
)


def test_a_fine_tune_goes_on_from_its_parent(tiny: TinyRuns, whole: Whole, tmp_path: Path) -> None:
    files = tiny.write(tmp_path, "more", tiny.sentences(30, seed=3))
    out = tmp_path / "better"
    events = tiny(out, files, size=None, steps=10, parent=whole.out, overrides=FINE)
    (planned,) = only(Planned, events)
    assert planned.plan.reasons[1] == "a fine-tune of model, with its size and pieces"
    assert planned.plan.settings.model == open_folder(whole.out).settings
    assert planned.plan.settings.train.learning_rate == 5e-4
    assert (out / "tokenizer.model").read_bytes() == (whole.out / "tokenizer.model").read_bytes()
    manifest = sha256(whole.out / "manifest.json")
    assert f"Fine-tuned from the model `model` (its manifest's SHA-256: `{manifest}`)." in (out / "card.md").read_text(
        "utf-8"
    )
    assert only(Step, events)[0].loss < only(Step, whole.events)[0].loss - 1  # it does not begin anew
    assert sha256(out / "weights.safetensors") != whole.result.weights


def test_a_fine_tune_starts_with_its_parents_weights(tiny: TinyRuns, whole: Whole, tmp_path: Path) -> None:
    """A learning rate of almost nothing leaves them as they were."""
    overrides = (*FINE, "train.learning_rate=1e-30", "train.average=1")
    tiny(tmp_path / "same", size=None, steps=2, parent=whole.out, overrides=overrides)
    assert_mean(load_file(tmp_path / "same" / "weights.safetensors"), [load_file(whole.out / "weights.safetensors")])


def test_a_fine_tune_resumes_too(tiny: TinyRuns, whole: Whole, tmp_path: Path) -> None:
    changes: dict[str, Any] = {"size": None, "steps": 10, "parent": whole.out, "overrides": FINE}
    tiny(tmp_path / "whole", **changes)
    tiny.stopped(tmp_path / "resumed", 7, **changes)
    tiny(tmp_path / "resumed", **changes)
    assert Result.of(tmp_path / "resumed") == Result.of(tmp_path / "whole")


def test_a_run_by_contrast_is_another_run_and_resumes_too(tiny: TinyRuns, whole: Whole, tmp_path: Path) -> None:
    data = tmp_path / "twos.tsv"
    twos = [f"{one} {one} {last}\t{other} {last}\n" for one, other in tiny.sentences(60, 3) for last in ("a", "b")]
    data.write_text("".join(twos), "utf-8")
    changes: dict[str, Any] = {"files": [data], "size": None, "steps": 6, "parent": whole.out}
    tiny(tmp_path / "plain", overrides=FINE, **changes)
    changes["overrides"] = (*FINE, "train.minimal_pair_weight=9")
    tiny(tmp_path / "whole", **changes)
    tiny.stopped(tmp_path / "resumed", 4, **changes)
    tiny(tmp_path / "resumed", **changes)
    assert Result.of(tmp_path / "resumed") == Result.of(tmp_path / "whole")
    assert Result.of(tmp_path / "whole") != Result.of(tmp_path / "plain")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"size": "tiny"}, "a fine-tune keeps the size of the model it starts from; leave --size out"),
        ({"overrides": ("model.width=32",)}, "a fine-tune keeps the model it starts from; leave model.* settings out"),
    ],
)
def test_a_fine_tune_keeps_its_parents_shape(
    tiny: TinyRuns, whole: Whole, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    arguments = {"size": None, "parent": whole.out, "overrides": (), **changes}
    assert refused(tiny.events(tmp_path / "model", **arguments)) == message


def test_a_fine_tune_keeps_its_parents_pieces(tiny: TinyRuns, whole: Whole, tmp_path: Path) -> None:
    events = tiny.events(tmp_path / "model", size=None, parent=whole.out, overrides=("tokenizer.vocab_size=400",))
    assert "tokenizer" in refused(events)


def test_a_parent_that_is_not_there(tiny: TinyRuns, tmp_path: Path) -> None:
    parent = tmp_path / "none"
    message = refused(tiny.events(tmp_path / "model", size=None, parent=parent), UserError)
    assert message.startswith(f"{parent}: no such model folder")


# It learns


def test_a_tiny_model_learns_to_reverse() -> None:
    """Sequences of four to six out of eight symbols; those it is tried on it has never seen."""
    first, symbols = 4, 8
    numbers = random.Random(1)

    def draw() -> tuple[int, ...]:
        return tuple(numbers.randrange(first, first + symbols) for _ in range(numbers.randint(4, 6)))

    unseen = list(dict.fromkeys(draw() for _ in range(200)))
    forbidden = set(unseen)

    def stream() -> Iterator[tuple[Batch, StreamPosition]]:
        while True:
            chosen: list[tuple[int, ...]] = []
            while len(chosen) < 64:
                drawn = draw()
                if drawn not in forbidden:
                    chosen.append(drawn)
            target = padded([each[::-1] for each in chosen])
            yield Batch(padded(chosen).numpy(), target.numpy(), int((target != PAD).sum())), StreamPosition()

    shape = TransformerSettings(
        vocab_size=16, width=64, heads=4, feedforward=128, encoder_layers=1, decoder_layers=1, norm="pre"
    )
    settings = TrainSettings(
        steps=400,
        batch_tokens=1,
        micro_batch_tokens=1,
        schedule="linear",
        learning_rate=3e-3,
        warmup_steps=50,
        max_grad_norm=1.0,
        dropout=0.0,
    )
    torch.manual_seed(1)
    model = Transformer(shape)
    steps = training_steps(model, make_optimizer(model, settings), stream(), settings, width=shape.width)
    losses = [step.loss for step in steps]
    assert losses[-1] < losses[0]
    assert sum(reversed_by(model.eval(), unseen)) >= 0.95 * len(unseen)


def padded(rows: list[tuple[int, ...]]) -> Tensor:
    width = max(map(len, rows)) + 1
    return torch.tensor([[*row, EOS] + [PAD] * (width - 1 - len(row)) for row in rows])


def reversed_by(model: Transformer, rows: list[tuple[int, ...]]) -> list[bool]:
    """For each row whether the model writes it backwards."""
    with torch.inference_mode():
        found = search(
            lambda tokens, state: project_last(model, tokens, state),
            model.start(model.encode(padded(rows))),
            limits_B=torch.full((len(rows),), 10),
            decode=DecodeSettings(beam_size=1),
            writable_V=torch.arange(16) >= EOS,
            start=BOS,
            end=EOS,
        )
    return [best.token_ids == row[::-1] for (best, *_), row in zip(found, rows, strict=True)]


def project_last(model: Transformer, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
    hidden, state = model.decode(tokens, state)
    return model.project(hidden[:, -1]), state
