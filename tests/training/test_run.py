"""Complete runs of a tiny model: their events, the errors that stop them, and interruptions without effect."""

import copy
import itertools
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tests.padded import batch, inputs
from tests.toy_kind import toy_kind
from tests.training.conftest import Result, TinyRuns
from torch import Tensor

import regard
from regard.data.batching.batches import Batch, StreamPosition
from regard.errors import RunError, SettingsError, UserError
from regard.inference.search.beam import search
from regard.inference.translator import Translator
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
from regard.training.checkpoints import Average, Checkpoints
from regard.training.optimizers.adam import make_optimizer
from regard.training.planning import memory_estimate, step_time
from regard.training.step import Step, derived_seed, training_steps
from regard.training.tracking.events import Event, Finished, Note, Planned, Stopped
from regard.training.validation import Validation, Validator

torch.set_num_threads(1)

Kind = TypeVar("Kind")


def of_type(kind: type[Kind], events: list[Event]) -> list[Kind]:
    return [event for event in events if isinstance(event, kind)]


def notes(events: list[Event]) -> list[str]:
    return [event.text for event in of_type(Note, events)]


@dataclass(frozen=True)
class Uninterrupted:
    """An uninterrupted run."""

    out: Path
    events: list[Event]
    result: Result


@pytest.fixture(scope="module")
def uninterrupted(tiny: TinyRuns, tmp_path_factory: pytest.TempPathFactory) -> Uninterrupted:
    out = tiny.fresh(tmp_path_factory.mktemp("uninterrupted") / "model")
    events = tiny(out)
    return Uninterrupted(out, events, Result.of(out))


# A complete run


def test_a_run_yields_its_plan_steps_validations_and_end(tiny: TinyRuns, uninterrupted: Uninterrupted) -> None:
    (planned,) = of_type(Planned, uninterrupted.events)
    assert planned.resumed == 0
    assert planned.plan.settings.train.steps == tiny.steps
    assert planned.plan.reasons[0] == "languages en to fr (set with --languages)"
    assert planned.plan.reasons[1] == "size tiny, as requested"
    assert planned.plan.reasons[-1] == "50 steps, as requested"
    assert [step.step for step in of_type(Step, uninterrupted.events)] == list(range(1, 51))
    assert [validation.step for validation in of_type(Validation, uninterrupted.events)] == [10, 20, 30, 40, 50]
    assert isinstance(uninterrupted.events[-1], Finished)
    assert uninterrupted.events[-1].folder == uninterrupted.out
    assert uninterrupted.events[-1].scores is not None
    assert not of_type(Stopped, uninterrupted.events)


def test_the_loss_falls_during_a_run(uninterrupted: Uninterrupted) -> None:
    steps, validations = of_type(Step, uninterrupted.events), of_type(Validation, uninterrupted.events)
    assert steps[-1].loss < steps[0].loss - 1
    assert validations[-1].loss < validations[0].loss


def test_the_run_has_several_epochs_and_several_micro_batches_per_step(uninterrupted: Uninterrupted) -> None:
    """Otherwise the tests of resuming below would prove little."""
    steps = of_type(Step, uninterrupted.events)
    assert steps[-1].position.epoch >= 3
    assert len({step.position for step in steps}) == len(steps)
    assert any(step.position.batch for step in steps)
    (planned,) = of_type(Planned, uninterrupted.events)
    train = planned.plan.settings.train
    assert train.batch_tokens == 2 * train.micro_batch_tokens
    assert train.dropout == 0.1


def test_the_model_folder_translates_alike_with_both_backends(tiny: TinyRuns, uninterrupted: Uninterrupted) -> None:
    sources = [source for source, _ in tiny.sentences(20, seed=2)]
    ctranslate2, torchs = (
        [one.text for one in regard.load(uninterrupted.out, backend=backend).translate(sources, DecodeSettings())]
        for backend in ("ctranslate2", "torch")
    )
    assert ctranslate2 == torchs
    assert len(set(torchs)) > 5  # the translation depends on the source
    assert open_folder(uninterrupted.out).languages == ("en", "fr")


def test_validation_uses_the_translations_that_users_get(uninterrupted: Uninterrupted) -> None:
    """It translates with torch, and users translate with CTranslate2."""
    last = uninterrupted.events[-1]
    assert isinstance(last, Finished) and last.scores is not None and last.scores.example is not None
    source, translation, _ = last.scores.example
    settings = of_type(Planned, uninterrupted.events)[0].plan.settings
    assert regard.load(uninterrupted.out, backend="ctranslate2").translate(source, settings.decode).text == translation


def test_a_run_leaves_the_random_numbers_of_the_caller_alone(tiny: TinyRuns, tmp_path: Path) -> None:
    before = torch.get_rng_state()
    for event in tiny.events(tmp_path / "model", steps=2):
        assert torch.equal(torch.get_rng_state(), before), event
    assert torch.equal(torch.get_rng_state(), before)


def test_the_model_card_describes_data_model_and_scores(tiny: TinyRuns, uninterrupted: Uninterrupted) -> None:
    card = (uninterrupted.out / "card.md").read_text("utf-8")
    assert "# A translator from en to fr" in card
    assert f"- training data: train.en, SHA-256 `{sha256(tiny.files[0])}`" in card
    assert "57 training pairs, 3 validation pairs held out of the training data, by source sentence." in card
    assert "1 + 1 layers, width 16, feed-forward 24, 2 heads, pre-norm" in card
    assert "| the last checkpoint" in card
    assert card.count("(kept)") == 1


def test_the_log_has_every_step_and_validation(uninterrupted: Uninterrupted) -> None:
    assert [line["step"] for line in uninterrupted.result.log if "loss" in line] == list(range(1, 51))
    assert [line["step"] for line in uninterrupted.result.log if "bleu" in line] == [10, 20, 30, 40, 50]


def test_a_finished_run_is_not_changed_by_the_same_command(tiny: TinyRuns, uninterrupted: Uninterrupted) -> None:
    before = {path: path.stat().st_mtime_ns for path in uninterrupted.out.rglob("*")}
    assert tiny(uninterrupted.out)[-1] == Finished(uninterrupted.out, None)
    assert {path: path.stat().st_mtime_ns for path in uninterrupted.out.rglob("*")} == before


def test_the_same_run_twice_gives_the_same_bytes(tiny: TinyRuns, uninterrupted: Uninterrupted, tmp_path: Path) -> None:
    """This includes preparation: the second run starts from the two files."""
    tiny(tmp_path / "again")
    assert Result.of(tmp_path / "again") == uninterrupted.result


def test_another_seed_gives_another_model(tiny: TinyRuns, uninterrupted: Uninterrupted, tmp_path: Path) -> None:
    tiny(tmp_path / "other", overrides=(*tiny.overrides, "train.seed=2"))
    assert sha256(tmp_path / "other" / "weights.safetensors") != uninterrupted.result.weights


def test_a_model_works_without_its_run_folder(uninterrupted: Uninterrupted, tmp_path: Path) -> None:
    shutil.copytree(uninterrupted.out, tmp_path / "model", ignore=shutil.ignore_patterns("run"))
    before, after = regard.load(uninterrupted.out, backend="torch"), regard.load(tmp_path / "model", backend="torch")
    assert before.translate("dog elf").text == after.translate("dog elf").text


# A resumed run equals an uninterrupted one


def test_a_run_stopped_after_every_single_step_gives_the_same_model(
    tiny: TinyRuns, uninterrupted: Uninterrupted, tmp_path: Path
) -> None:
    out = tiny.fresh(tmp_path / "model")
    for step in range(1, 51):
        assert tiny.stopped(out, step)[-1] == Stopped(step)
    assert isinstance(tiny(out)[-1], Finished)
    assert Result.of(out) == uninterrupted.result


@pytest.mark.parametrize("call", range(1, 12))
def test_a_run_asked_to_stop_at_any_time_has_saved_its_last_step(tiny: TinyRuns, tmp_path: Path, call: int) -> None:
    """A signal may come between any two calls of `stop`, which then returns True from there on."""
    out, calls = tiny.fresh(tmp_path / "model"), itertools.count(1)
    last = tiny(out, stop=lambda: next(calls) >= call)[-1]
    assert isinstance(last, Stopped)
    assert of_type(Planned, tiny(out, stop=lambda: True))[0].resumed == last.step


@pytest.mark.parametrize("step", [1, 9, 10, 11, 37, 50])
def test_an_abandoned_run_resumes_from_the_last_checkpoint(
    tiny: TinyRuns, uninterrupted: Uninterrupted, tmp_path: Path, step: int
) -> None:
    """The caller stops reading events, which is like a crash: nothing is saved at that moment."""
    out = tiny.fresh(tmp_path / "model")
    events = tiny.events(out)
    assert any(isinstance(event, Step) and event.step == step for event in events)
    events.close()  # type: ignore[attr-defined]
    resumed = tiny(out)
    assert of_type(Planned, resumed)[0].resumed == (step - 1) // 10 * 10
    assert Result.of(out) == uninterrupted.result


def test_a_run_killed_after_its_last_step_is_finished_by_the_same_command(
    tiny: TinyRuns, uninterrupted: Uninterrupted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed just before it writes the manifest, which is the last file."""

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
    assert of_type(Step, events) == []
    assert isinstance(events[-1], Finished)
    assert Result.of(out) == uninterrupted.result


def test_a_damaged_newest_checkpoint_is_reported_and_the_previous_one_used(
    tiny: TinyRuns, uninterrupted: Uninterrupted, tmp_path: Path
) -> None:
    out = tiny.fresh(tmp_path / "model")
    tiny.stopped(out, 33)
    damaged = out / "run" / "checkpoints" / "step-00000033" / "optimizer.safetensors"
    flip_last_bit(damaged)
    events = tiny(out)
    assert notes(events) == [
        f"a checkpoint is damaged, so the run continues from the previous one: {damaged} was changed after it "
        "was written (its SHA-256 differs)"
    ]
    assert of_type(Planned, events)[0].resumed == 30
    assert Result.of(out) == uninterrupted.result


def flip_last_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def test_a_run_without_an_undamaged_checkpoint_stops_with_advice_that_works(tiny: TinyRuns, tmp_path: Path) -> None:
    out = tiny.fresh(tmp_path / "model")
    tiny.stopped(out, 33)
    folder = out / "run" / "checkpoints"
    damaged = [folder / "step-00000033" / "weights.safetensors", folder / "step-00000030" / "weights.safetensors"]
    for path in damaged:
        flip_last_bit(path)
    before = {path: path.read_bytes() for path in (out / "run").rglob("*") if path.is_file()}
    recovered = out / "run" / "recovered-step-00000020"
    message = (
        "the run cannot continue, because all checkpoints with an optimizer state are damaged:\n"
        f"  {damaged[0]} was changed after it was written (its SHA-256 differs)\n"
        f"  {damaged[1]} was changed after it was written (its SHA-256 differs)\n"
        "restore one of them from a copy and run the same command again, or start a new run in another --out; the "
        "parameters of steps 10, 20 are undamaged, and those of step 20 were written as a model folder, from which the "
        f"new run can start: --from {recovered}"
    )
    for _ in range(2):
        assert refused(tiny.events(out)) == message
    assert before.items() <= {path: path.read_bytes() for path in (out / "run").rglob("*") if path.is_file()}.items()
    expected = load_file(folder / "step-00000020" / "weights.safetensors")
    assert_mean(load_file(recovered / "weights.safetensors"), [expected])
    assert open_folder(recovered).decode == DecodeSettings(beam_size=2, max_length_offset=2)
    events = tiny(tmp_path / "new", size=None, steps=2, parent=recovered, overrides=FINE_TUNING)
    assert isinstance(events[-1], Finished)


def test_a_run_whose_only_checkpoints_are_damaged_stops(tiny: TinyRuns, tmp_path: Path) -> None:
    out = tiny.fresh(tmp_path / "model")
    tiny.stopped(out, 5)
    damaged = out / "run" / "checkpoints" / "step-00000005" / "weights.safetensors"
    flip_last_bit(damaged)
    assert refused(tiny.events(out)) == (
        "the run cannot continue, because all checkpoints with an optimizer state are damaged:\n"
        f"  {damaged} was changed after it was written (its SHA-256 differs)\n"
        "restore one of them from a copy and run the same command again, or start a new run in another --out"
    )


def test_checkpoints_damaged_during_the_last_steps_are_named(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parameters to keep are read from disk, and a disk may fail at any time."""
    out = tiny.fresh(tmp_path / "model")
    average = Checkpoints.average

    def damage(checkpoints: Checkpoints, steps: list[int]) -> Average:
        for step in checkpoints.steps():
            if step != 40:
                flip_last_bit(checkpoints.path(step) / "weights.safetensors")
        return average(checkpoints, steps)

    monkeypatch.setattr(Validator, "quick", fake_losses(3.0, 4.0, 4.0, 4.0, 4.0))  # step 10 is the best
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoints, "average", damage)
        message = refused(tiny.events(out))
    last = out / "run" / "checkpoints" / "step-00000050" / "weights.safetensors"
    assert message == (
        f"the parameters to keep cannot be read: {last} was changed after it was written (its SHA-256 differs); check "
        "the disk, and run the same command again, which continues from the newest undamaged checkpoint"
    )
    events = tiny(out)
    assert of_type(Planned, events)[0].resumed == 40
    assert isinstance(events[-1], Finished)


def test_the_comparison_would_notice_another_position_in_the_data(
    tiny: TinyRuns, uninterrupted: Uninterrupted, tmp_path: Path
) -> None:
    """Even the smallest number in a checkpoint matters, and the tests above would notice a change of it."""
    out = tiny.fresh(tmp_path / "model")
    tiny.stopped(out, 33)
    folder = out / "run" / "checkpoints" / "step-00000033"
    progress = read_json(folder / "progress.json")
    progress["position"] = {"epoch": 0, "pool": 0, "batch": 0}
    write_json(folder / "progress.json", progress)
    write_manifest(folder, list(read_json(folder / "manifest.json")))
    tiny(out)
    assert Result.of(out).log != uninterrupted.result.log


def test_a_damaged_older_checkpoint_is_left_out_of_the_average(
    tiny: TinyRuns, uninterrupted: Uninterrupted, tmp_path: Path
) -> None:
    out = tiny.fresh(tmp_path / "model")
    tiny.stopped(out, 45)
    damaged = out / "run" / "checkpoints" / "step-00000010" / "weights.safetensors"
    data = bytearray(damaged.read_bytes())
    data[-2] ^= 0x40  # changes the last number, and the file stays readable
    damaged.write_bytes(data)
    last = tiny(out)[-1]
    assert isinstance(last, Finished)
    assert "| the average of the last 4 checkpoints" in (out / "card.md").read_text("utf-8")


def test_damaged_prepared_data_is_prepared_again(tiny: TinyRuns, uninterrupted: Uninterrupted, tmp_path: Path) -> None:
    out = tiny.fresh(tmp_path / "model")
    for path in (out / "run" / "tokens" / "train" / "source.values", out / "run" / "texts" / "train" / "target.txt"):
        path.write_bytes(path.read_bytes()[:-2])
    tiny(out)
    assert Result.of(out) == uninterrupted.result


def test_each_start_hashes_the_data_once(
    tiny: TinyRuns, uninterrupted: Uninterrupted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hashing reads every byte, which takes minutes for a large corpus."""
    hashed: Counter[str] = Counter()

    def count(path: Path) -> str:
        hashed[path.as_posix().replace(".tmp/", "/")] += 1
        return sha256(path)

    monkeypatch.setattr("regard.storage.manifest.sha256", count)
    out = tmp_path / "model"
    raw = Counter(path.as_posix() for path in tiny.files)
    stored = Counter(
        (out / path.relative_to(uninterrupted.out)).as_posix()
        for store in ("texts", "word_counts", "tokens", "tokenizer")
        for path in (uninterrupted.out / "run" / store).rglob("*")
        if path.is_file() and path.name != "manifest.json"
    )
    assert len(stored) > 15

    def hashes() -> Counter[str]:
        """Return how often each input file and each file of the stores was hashed since the last call."""
        counts = Counter({path: hashed[path] for path in (*raw, *stored) if hashed[path]})
        hashed.clear()
        return counts

    tiny.stopped(out, 5)
    assert hashes() == raw + stored  # the stores are hashed when they are written
    tiny.stopped(out, 7)
    assert hashes() == raw + stored  # and verified when they are read
    tiny(out)
    hashes()
    tiny(out)
    assert hashes() == raw  # a finished run reads no store
    assert Result.of(out) == uninterrupted.result


def test_an_interrupted_run_may_be_moved(tiny: TinyRuns, uninterrupted: Uninterrupted, tmp_path: Path) -> None:
    tiny.stopped(tiny.fresh(tmp_path / "here"), 5)
    shutil.move(tmp_path / "here", tmp_path / "there")
    tiny(tmp_path / "there")
    assert Result.of(tmp_path / "there") == uninterrupted.result


def test_other_library_versions_are_noted(tiny: TinyRuns, tmp_path: Path) -> None:
    out = tiny.fresh(tmp_path / "model")
    plan = read_hashed_json(out / "run" / "plan.json")
    plan["versions"]["torch"] = "1.0"
    write_hashed_json(out / "run" / "plan.json", plan)
    assert (
        "the run was started with other library versions: it continues, but may differ from an uninterrupted run"
        in notes(tiny.stopped(out, 1))
    )


# Another run in the same folder


def refused(events: Iterator[Event], kind: type[UserError] = RunError) -> str:
    with pytest.raises(kind) as caught:
        list(events)
    return str(caught.value)


@pytest.mark.parametrize("finished", [False, True])
def test_another_command_for_the_same_folder_is_refused_with_the_differences(
    tiny: TinyRuns, uninterrupted: Uninterrupted, tmp_path: Path, finished: bool
) -> None:
    out = uninterrupted.out if finished else tiny.fresh(tmp_path / "model")
    other = tiny.write(tmp_path, "train", tiny.sentences(61, seed=1))
    was, now = (" ".join(f"{path.name} ({sha256(path)[:12]})" for path in files) for files in (tiny.files, other))
    settings = ", ".join(tiny.overrides)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"files": other}, f"  training data: was {was}, is now {now}"),
        ({"valid": tiny.files}, f"  validation data: was none, is now {was}"),
        ({"steps": 51}, "  steps: was 50, is now 51"),
        ({"steps": None, "budget": 60.0}, "  budget: was not given, is now 60.0\n  steps: was 50, is now not given"),
        ({"size": "small"}, "  size: was tiny, is now small"),
        ({"languages": ("en", "de")}, "  languages: was en fr, is now en de"),
        (
            {"parent": uninterrupted.out, "size": None, "overrides": ()},
            f"  from: was not given, is now {sha256(uninterrupted.out / 'weights.safetensors')}",
        ),
        ({"overrides": (*tiny.overrides, "train.max_grad_norm=2")}, f"  settings: was {settings}, is now "),
    ]
    for changes, difference in cases:
        message = refused(tiny.events(out, **changes))
        assert message.startswith(f"{out} holds a run that was started differently:\n")
        assert difference in message
        assert message.endswith("use the same command to continue it, or another --out for a new run")


def test_a_folder_with_other_files_is_refused(tiny: TinyRuns, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    assert refused(tiny.events(tmp_path)) == (
        f"{tmp_path} already holds other files; choose another --out, or an empty folder"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_the_validation_interval_of_a_size_is_used_if_it_is_shorter_than_the_run(
    tiny: TinyRuns, tmp_path: Path
) -> None:
    """Otherwise the run would not validate before its end."""

    def interval(steps: int, *overrides: str) -> int:
        free = [override for override in tiny.overrides if not override.startswith("train.validate_every")]
        options: dict[str, Any] = {"size": "base", "steps": None, "stop": lambda: True}
        out = tmp_path / f"{steps} {overrides}"
        events = tiny(out, overrides=(*free, f"train.steps={steps}", *overrides), **options)
        return of_type(Planned, events)[0].plan.validate_every

    assert interval(1_501) == 1_500
    assert [interval(steps) for steps in (1_000, 1_500)] == [250, 375]
    assert interval(1_000, "train.validate_every=1500") == 1_500


def test_checkpoints_between_validations_are_pruned(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.training.trainer.SAVE_SECONDS", 0)
    most = 0
    for _ in tiny.events(tiny.fresh(tmp_path / "model")):
        most = max(most, len(list((tmp_path / "model" / "run" / "checkpoints").glob("step-*/optimizer.safetensors"))))
    assert most == 2


def test_a_file_as_model_folder_is_refused(tiny: TinyRuns, tmp_path: Path) -> None:
    (tmp_path / "model").write_text("a file")
    assert refused(tiny.events(tmp_path / "model")) == (
        f"--out {tmp_path / 'model'} is a file; choose another name for the model folder"
    )


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"budget": 60.0}, RunError, "use either --steps or --budget, not both: a budget is converted to steps"),
        (
            {"size": "huge"},
            SettingsError,
            "unknown size 'huge'; the sizes of transformer models are tiny, small, base, big",
        ),
        ({"overrides": ("train.stepz=1",)}, SettingsError, "unknown setting train.stepz; did you mean train.steps?"),
        (
            {"overrides": ("model.width=30",)},
            SettingsError,
            "model.width (30) must be a multiple of model.heads (4)",
        ),
    ],
)
def test_mistakes_are_reported_before_any_work(
    tiny: TinyRuns, tmp_path: Path, changes: dict[str, Any], kind: type[UserError], message: str
) -> None:
    assert refused(tiny.events(tmp_path / "model", **changes), kind) == message
    assert not (tmp_path / "model").exists()


def test_bfloat16_that_would_crash_is_reported_before_any_work(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bfloat16, "is_safe", lambda: False)
    message = refused(tiny.events(tmp_path / "model", overrides=(*tiny.overrides, "train.precision=bfloat16")))
    assert message.startswith("train.precision=bfloat16 crashes torch on this machine")
    assert not (tmp_path / "model").exists()


def test_placeholders_beside_a_minimal_pair_weight_are_refused(tiny: TinyRuns, tmp_path: Path) -> None:
    overrides = (*tiny.overrides, "train.minimal_pair_weight=10", "tokenizer.placeholders=8")
    with pytest.raises(SettingsError, match=r"tokenizer\.placeholders cannot be trained together with"):
        tiny(tmp_path / "out", overrides=overrides)


def test_a_minimal_pair_weight_without_minimal_pairs_is_refused(tiny: TinyRuns, tmp_path: Path) -> None:
    data = tmp_path / "data.tsv"
    unlike = [f"{'abcdefgh'[line % 8] * 3} {line:b}\t{line:b}" for line in range(100, 300)]
    data.write_text("".join(f"{line}\n" for line in unlike), "utf-8")
    overrides = (*tiny.overrides, "train.minimal_pair_weight=10", "tokenizer.vocab_size=300")
    message = refused(tiny.events(tmp_path / "model", [data], overrides=overrides))
    assert message.startswith(
        "train.minimal_pair_weight needs minimal pairs: neighbouring lines (1 and 2, 3 and 4, …) with similar sources"
    )


def test_settings_are_checked_together_with_the_size(tiny: TinyRuns, tmp_path: Path) -> None:
    """A width of 20 fits the four heads of `tiny`, but not the eight heads of the paper's sizes."""
    events = tiny.events(tmp_path / "model", overrides=("model.width=20", *tiny.overrides[2:]), stop=lambda: True)
    assert isinstance(list(events)[-1], Stopped)


def test_steps_as_option_and_as_setting_are_refused(tiny: TinyRuns, tmp_path: Path) -> None:
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
    assert tiny.stopped(out, 1)[-1] == Stopped(1)  # the system has released the lock of the dead process


def test_two_runs_of_one_process_cannot_train_in_one_folder_either(tiny: TinyRuns, tmp_path: Path) -> None:
    out = tiny.fresh(tmp_path / "model")
    first = tiny.events(out)
    assert any(isinstance(event, Planned) for event in first)
    assert refused(tiny.events(out)).startswith(f"another process is training in {out}")
    first.close()  # type: ignore[attr-defined]


# Data


def test_validation_pairs_are_held_out(tiny: TinyRuns, uninterrupted: Uninterrupted) -> None:
    texts = uninterrupted.out / "run" / "texts"
    train, valid = (set((texts / split / "source.txt").read_text("utf-8").splitlines()) for split in ("train", "valid"))
    assert len(valid) == 3
    assert not train & valid
    assert train | valid == set(tiny.files[0].read_text("utf-8").splitlines())


def test_validation_files_are_used_as_given(tiny: TinyRuns, tmp_path: Path) -> None:
    valid = tiny.write(tmp_path, "valid", tiny.sentences(4, seed=2))
    events = tiny(tmp_path / "model", valid=valid, steps=2)
    assert [validation.sentences for validation in of_type(Validation, events)] == [4]
    card = (tmp_path / "model" / "card.md").read_text("utf-8")
    assert "60 training pairs, 4 validation pairs." in card
    assert f"- validation data: valid.en, SHA-256 `{sha256(valid[0])}`" in card


def test_pairs_that_are_left_out_are_counted_and_listed(tiny: TinyRuns, tmp_path: Path) -> None:
    pairs = tiny.sentences(40, seed=1)
    pairs[4], pairs[9], pairs[20] = ("a", ""), (" ", "b"), ("long " * 60, "c")
    files = tiny.write(tmp_path, "holes", pairs)
    valid = tiny.write(tmp_path, "valid", tiny.sentences(3, seed=2))
    overrides = (*tiny.overrides, "model.max_positions=50")
    out = tmp_path / "model"
    events = tiny(out, files, valid=valid, steps=2, overrides=overrides)
    listing = out / "run" / "tokens" / "dropped.tsv"
    assert notes(events)[-1] == f"left out source empty: 1, source too long: 1, target empty: 1; {listing} lists them"
    assert listing.read_text("utf-8").splitlines() == [
        "file\tline\treason",
        "holes.fr\t5\ttarget empty",
        "holes.en\t10\tsource empty",
        "holes.en\t21\tsource too long",
    ]
    assert "1 left out (source too long)" in (out / "card.md").read_text("utf-8")


def test_pairs_that_are_left_out_do_not_count_in_the_validation(tiny: TinyRuns, tmp_path: Path) -> None:
    pairs = tiny.sentences(4, seed=2)
    holes = [("", "b"), *pairs[:2], ("a", " "), ("long " * 60, "c"), *pairs[2:]]
    overrides = (*tiny.overrides, "model.max_positions=50")
    clean, dirty = (
        of_type(
            Validation, tiny(tmp_path / name, valid=tiny.write(tmp_path, name, valid), steps=2, overrides=overrides)
        )
        for name, valid in (("clean", pairs), ("holes", holes))
    )
    assert clean == dirty
    assert [validation.sentences for validation in clean] == [4]


def test_several_corpora_are_joined(tiny: TinyRuns, tmp_path: Path) -> None:
    pairs = tiny.sentences(60, seed=1)
    first = tiny.write(tmp_path, "one", pairs[:25])
    second = tmp_path / "two.tsv"
    second.write_text("".join(f"{source}\t{target}\n" for source, target in pairs[25:]), "utf-8")
    tiny(tmp_path / "model", [*first, second], steps=1)
    lines = (tmp_path / "model" / "run" / "texts" / "train" / "source.txt").read_text("utf-8").splitlines()
    assert len(lines) == 57


# The length of a run


def test_a_budget_is_converted_to_steps_once(tiny: TinyRuns, tmp_path: Path) -> None:
    out = tmp_path / "model"
    planned = of_type(Planned, tiny(out, steps=None, budget=1.0, stop=lambda: True))[0]
    steps = planned.plan.settings.train.steps
    assert 1 <= steps <= 92  # 0.01 s per step, minus the time of preparation
    assert planned.plan.reasons[-1] == (
        f"{steps:,} steps, as many as fit in the budget at 5,000 target tokens per second"
    )
    again = of_type(Planned, tiny(out, steps=None, budget=1.0, stop=lambda: True))[0]
    assert again.plan == planned.plan


def test_steps_may_come_from_the_settings(tiny: TinyRuns, tmp_path: Path) -> None:
    events = tiny(tmp_path / "model", steps=None, overrides=(*tiny.overrides, "train.steps=3"))
    assert len(of_type(Step, events)) == 3
    assert of_type(Planned, events)[0].plan.reasons[-1] == "3 steps, from the settings"


def test_size_and_steps_are_chosen_with_reasons(tiny: TinyRuns, tmp_path: Path) -> None:
    planned = of_type(Planned, tiny(tmp_path / "model", size=None, steps=None, stop=lambda: True))[0]
    _, size, vocabulary, memory, decay, steps = planned.plan.reasons
    assert size.startswith("size tiny, chosen for 57 training pairs and ")
    assert re.fullmatch(r"a vocabulary of [\d,]+ tokens for [\d,]+ words of text", vocabulary)
    assert re.fullmatch(r"about \d+ MB of memory for micro-batches of 48 tokens", memory)
    assert decay == "weight decay 1 against memorisation: unused parameters shrink to about a third in 250 steps"
    assert planned.plan.settings.train.weight_decay == pytest.approx(1.0)
    assert steps.endswith(" passes over the data")


# Early stopping and the choice of parameters


def fake_losses(*losses: float) -> Callable[[Validator, Transformer, int], Validation]:
    """Return a fake validation with the first of these losses at step 10, the second at step 20, …"""
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
def test_early_stopping_waits_for_the_patience(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patience: int, losses: list[float], last: int
) -> None:
    monkeypatch.setattr(Validator, "quick", fake_losses(*losses))
    out = tmp_path / "model"
    events = tiny(out, overrides=(*tiny.overrides, f"train.patience={patience}"))
    assert of_type(Step, events)[-1].step == last
    note = f"the validation loss has not improved for {patience} validations: stopping early"
    assert notes(events) == ([note] if patience else [])
    assert isinstance(events[-1], Finished)
    best = losses.index(min(losses)) * 10 + 10
    assert f"| the checkpoint with the best validation loss, step {best}" in (out / "card.md").read_text("utf-8")


def test_a_run_killed_after_early_stopping_takes_no_more_steps(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Validator, "quick", fake_losses(3.0, 4.0))
    overrides = (*tiny.overrides, "train.patience=1")
    tiny(tmp_path / "uninterrupted", overrides=overrides)
    events = tiny.events(tmp_path / "killed", overrides=overrides)
    assert any(isinstance(event, Note) for event in events)
    events.close()  # type: ignore[attr-defined]
    assert of_type(Step, tiny(tmp_path / "killed", overrides=overrides)) == []
    assert sha256(tmp_path / "killed" / "weights.safetensors") == sha256(
        tmp_path / "uninterrupted" / "weights.safetensors"
    )


CANDIDATES = [
    "the last checkpoint",
    "the average of the last 5 checkpoints",
    "the checkpoint with the best validation loss, step 20",
]


@pytest.mark.parametrize("wanted", CANDIDATES)
@pytest.mark.parametrize("sentences", [199, 200])
def test_the_parameters_with_the_best_validation_are_kept(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str, sentences: int
) -> None:
    """BLEU decides, or the loss if there are so few sentences that BLEU is mostly noise."""
    names = iter(CANDIDATES)

    def full(_: Validator, model: Transformer, step: int) -> Validation:
        is_best = next(names) == wanted
        bleu, loss = (2.0, 5.0) if is_best == (sentences == 200) else (1.0, 4.0)
        return Validation(step, loss, bleu, 0.0, sentences, ("", "", ""))

    monkeypatch.setattr(Validator, "quick", fake_losses(3.0, 1.0, 2.0, 2.0, 2.0))
    monkeypatch.setattr(Validator, "full", full)
    out = tiny.fresh(tmp_path / "model")
    last = tiny(out)[-1]
    assert isinstance(last, Finished)
    assert last.kept == wanted
    assert f"| {wanted} (kept) |" in (out / "card.md").read_text("utf-8")
    steps: dict[str, list[int]] = dict(zip(CANDIDATES, ([50], [10, 20, 30, 40, 50], [20]), strict=True))
    assert_mean(load_file(out / "weights.safetensors"), [checkpoint(out, step) for step in steps[wanted]])


def checkpoint(out: Path, step: int) -> dict[str, Tensor]:
    return load_file(out / "run" / "checkpoints" / f"step-{step:08d}" / "weights.safetensors")


def assert_mean(mean: dict[str, Tensor], checkpoints: list[dict[str, Tensor]]) -> None:
    for name, tensor in mean.items():
        assert torch.equal(tensor, torch.stack([each[name].double() for each in checkpoints]).mean(dim=0).float()), name


def test_the_lower_loss_decides_between_equal_scores(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = iter([2.0, 1.0])
    full: Callable[..., Validation] = lambda _, model, step: Validation(step, next(losses), 7.0, 0.0, 500, ("", "", ""))  # noqa: E731
    monkeypatch.setattr(Validator, "full", full)
    last = tiny(tiny.fresh(tmp_path / "model"))[-1]
    assert isinstance(last, Finished)
    assert last.kept == "the average of the last 5 checkpoints"


def test_only_the_needed_files_of_checkpoints_are_kept(uninterrupted: Uninterrupted) -> None:
    folders = sorted((uninterrupted.out / "run" / "checkpoints").iterdir())
    assert [path.name for path in folders] == [f"step-{step:08d}" for step in (10, 20, 30, 40, 50)]
    assert [(path / "optimizer.safetensors").exists() for path in folders] == [False, False, False, True, True]


# Failures during a run


def corrupt_gradients(monkeypatch: pytest.MonkeyPatch, *steps: int, value: float = float("nan")) -> None:
    """Put a value that is not finite into the gradients of these steps."""
    original = step_module.accumulate_gradients

    def accumulate(
        replicas: Sequence[Transformer], batches: list[Batch], settings: TrainSettings, step: int
    ) -> tuple[float, int]:
        result = original(replicas, batches, settings, step)
        if step in steps:
            grad = replicas[0].encoder["1"].self.query.weight.grad  # type: ignore[union-attr]
            assert isinstance(grad, Tensor)
            grad[0, 0] = value
        return result

    monkeypatch.setattr(step_module, "accumulate_gradients", accumulate)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_steps_with_gradients_that_are_not_finite_are_skipped_also_after_resuming(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: float
) -> None:
    corrupt_gradients(monkeypatch, 12, 23, 24, value=value)
    whole, resumed = tiny.fresh(tmp_path / "whole"), tiny.fresh(tmp_path / "resumed")
    events = tiny(whole, steps=50)
    assert notes(events) == [
        "step 12 was skipped because its gradient is not finite (1 so far)",
        "step 23 was skipped because its gradient is not finite (2 so far)",
        "step 24 was skipped because its gradient is not finite (3 so far)",
    ]
    assert [step.step for step in of_type(Step, events) if step.skipped] == [12, 23, 24]
    assert [line["step"] for line in Result.of(whole).log if line.get("skipped")] == [12, 23, 24]
    assert read_json(whole / "run" / "checkpoints" / "step-00000050" / "progress.json")["divergence"]["skipped"] == 3
    assert "- 3 steps skipped because their gradients were not finite\n" in (whole / "card.md").read_text("utf-8")
    assert all(tensor.isfinite().all() for tensor in load_file(whole / "weights.safetensors").values())
    for step in (11, 12, 23):
        tiny.stopped(resumed, step)
    tiny(resumed)
    assert Result.of(resumed) == Result.of(whole)


def test_a_run_may_start_with_a_skipped_step_and_resume_after_it(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Adam has no state yet."""
    corrupt_gradients(monkeypatch, 1)
    whole, resumed = tiny.fresh(tmp_path / "whole"), tiny.fresh(tmp_path / "resumed")
    tiny(whole)
    assert tiny.stopped(resumed, 1)[-1] == Stopped(1)
    tiny(resumed)
    assert Result.of(resumed) == Result.of(whole)


def test_a_skipped_step_changes_neither_parameters_nor_optimizer_state(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = np.array([[5, 6, EOS]])
    stream = itertools.repeat((batch(ids, ids), StreamPosition()))
    shape = TransformerSettings(
        source_vocab_size=16, target_vocab_size=16, width=8, heads=2, feedforward=8, encoder_layers=1, decoder_layers=1
    )
    settings = TrainSettings(steps=3, batch_tokens=8, micro_batch_tokens=8, max_grad_norm=1.0)
    model = Transformer(shape)
    optimizer = make_optimizer(model, settings)
    corrupt_gradients(monkeypatch, 2)
    steps = training_steps(model, optimizer, stream, settings)
    next(steps)
    before = copy.deepcopy((model.state_dict(), optimizer.state_dict()["state"]))
    assert next(steps).skipped
    after = (model.state_dict(), optimizer.state_dict()["state"])
    assert all(torch.equal(tensor, before[0][name]) for name, tensor in after[0].items())
    for number, moments in after[1].items():
        assert all(torch.equal(tensor, before[1][number][name]) for name, tensor in moments.items())
    assert not next(steps).skipped


def test_ten_skipped_steps_in_a_row_stop_the_run_with_advice(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corrupt_gradients(monkeypatch, *range(15, 60))
    out = tiny.fresh(tmp_path / "model")
    message = (
        "the run diverged at step 24: the gradients of the last 10 steps were not finite; start again in another --out "
        "with a lower train.learning_rate (it is 0.004; try 0.001), or a longer warm-up (train.warmup_steps is 400); "
        "the parameters with the best validation loss are kept in "
        f"{out / 'run' / 'checkpoints' / 'step-00000020'}"
    )
    assert refused(tiny.events(out)) == message
    assert refused(tiny.events(out)) == message  # the same command fails in the same way
    assert find_damage(out / "run" / "checkpoints" / "step-00000020") is None


def test_an_extreme_learning_rate_stops_the_run_with_advice(tiny: TinyRuns, tmp_path: Path) -> None:
    overrides = (*tiny.overrides, "train.learning_rate=1e30", "train.max_grad_norm=0")
    assert refused(tiny.events(tmp_path / "model", overrides=overrides)) == (
        "the run diverged at step 10: the validation loss is not finite; start again in another --out with a lower "
        "train.learning_rate (it is 1e+30; try 3e+29), or --set train.max_grad_norm=1, or a longer warm-up "
        "(train.warmup_steps is 400)"
    )


def limit_memory(monkeypatch: pytest.MonkeyPatch, rows: int, steps: Sequence[int] = range(10**6)) -> None:
    """Let memory run out in the middle of each micro-batch that has more pairs than `rows`."""
    original = loss.backward_in_chunks

    def backward(model: Transformer, batch: Batch, **options: Any) -> float:
        loss_sum = original(model, batch, **options)
        if len(batch) > rows and limit_memory.step in steps:  # type: ignore[attr-defined]
            raise RuntimeError(
                "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory"
            )
        return loss_sum

    def seed(*purpose: int | str) -> int:
        if purpose[1] == "dropout":
            limit_memory.step = purpose[2]  # type: ignore[attr-defined]
        return derived_seed(*purpose)

    monkeypatch.setattr(step_module, "backward_in_chunks", backward)
    monkeypatch.setattr(step_module, "derived_seed", seed)


def test_a_step_that_does_not_fit_in_memory_is_sliced_also_after_resuming(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, resumed = tiny.fresh(tmp_path / "whole"), tiny.fresh(tmp_path / "resumed")
    with monkeypatch.context() as patch:
        limit_memory(patch, rows=3, steps=[14])
        (note,) = notes(tiny(whole))
        slices = int(note.split()[-3])
        assert note == (f"step 14 did not fit in memory: from this step on, micro-batches are {slices} times smaller")
        tiny.stopped(resumed, 16)
    assert [line["slices"] for line in Result.of(whole).log if "slices" in line] == [slices] * 37
    card = (whole / "card.md").read_text("utf-8")
    assert f"- from step 14 on, micro-batches {slices} times smaller, to fit in memory\n" in card
    # Memory is available again and the newest checkpoint is lost: the sliced steps are repeated with the same slices.
    shutil.rmtree(resumed / "run" / "checkpoints" / "step-00000016")
    assert notes(tiny(resumed)) == []
    assert Result.of(resumed) == Result.of(whole)


def test_a_single_pair_that_does_not_fit_in_memory_stops_the_run(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit_memory(monkeypatch, rows=0, steps=[3])
    assert refused(tiny.events(tiny.fresh(tmp_path / "model"))) == (
        "step 3 does not fit in memory, even one pair at a time; close other programs and run the same command again, "
        "or start a new run with a smaller --size or a smaller model.max_positions"
    )


def test_memory_that_runs_out_outside_of_steps_stops_the_run(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def quick(*_: object) -> Validation:
        raise MemoryError

    monkeypatch.setattr(Validator, "quick", quick)
    assert refused(tiny.events(tiny.fresh(tmp_path / "model"))) == (
        "memory ran out; close other programs and run the same command again, which continues from the last "
        "checkpoint, or start a new run with a smaller --size"
    )


def test_the_micro_batch_is_fitted_to_the_free_memory_with_a_reason(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_estimate, "MIN_TOKENS", 10)
    monkeypatch.setattr(memory_estimate, "fixed_bytes", lambda *_: 1_000_000)
    monkeypatch.setattr(memory_estimate, "activation_bytes_per_token", lambda *_: 100_000.0)
    monkeypatch.setattr(memory, "free_memory", lambda _: 5_000_000)
    out = tmp_path / "model"
    plan = of_type(Planned, tiny(out, stop=lambda: True))[0].plan
    assert plan.settings.train.micro_batch_tokens == 24
    assert plan.reasons[-3] == (
        "about 4 MB of memory for micro-batches of 24 tokens (train.micro_batch_tokens was 48, but only 5 MB are free)"
    )
    monkeypatch.setattr(memory, "free_memory", lambda _: 10**12)
    assert of_type(Planned, tiny(out, stop=lambda: True))[0].plan == plan  # the plan is not made again


def test_a_changed_plan_is_refused(tiny: TinyRuns, tmp_path: Path) -> None:
    out = tiny.fresh(tmp_path / "model")
    path = out / "run" / "plan.json"
    path.write_text(path.read_text("utf-8").replace('"seed": 1', '"seed": 2'), "utf-8")
    assert refused(tiny.events(out)) == (
        f"{path} was changed after it was written (its SHA-256 differs); restore it from a copy, or start a new run in "
        "another --out"
    )


def test_an_unfinished_run_of_an_older_version_is_refused(tiny: TinyRuns, tmp_path: Path) -> None:
    out = tiny.fresh(tmp_path / "model")
    tiny.stopped(out, 5)
    path = out / "run" / "plan.json"
    plan = read_hashed_json(path)
    train = plan["settings"]["train"]
    for new, old in (("label_smoothing", "smoothing"), ("warmup_steps", "warmup"), ("max_grad_norm", "clip")):
        train[old] = train.pop(new)
    write_hashed_json(path, plan)
    before = {file: file.read_bytes() for file in out.rglob("*") if file.is_file()}
    assert refused(tiny.events(out)) == (
        f"{path} was written by another version of Regard, and this version cannot continue an unfinished run: start "
        "again in a new --out, or finish it with the other version"
    )
    assert {file: file.read_bytes() for file in out.rglob("*") if file.is_file()} == before


def test_a_changed_tokenizer_is_trained_again(tiny: TinyRuns, uninterrupted: Uninterrupted, tmp_path: Path) -> None:
    out = tiny.fresh(tmp_path / "model")
    path = out / "run" / "tokenizer" / "tokenizer.model"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    tiny(out)
    assert Result.of(out) == uninterrupted.result


# Fine-tuning


FINE_TUNING = (
    "train.micro_batch_tokens=48",
    "train.batch_tokens=96",
    "train.validate_every=5",
    "decode.beam_size=1",
    "decode.max_length_offset=2",
)


def test_fine_tuning_continues_from_the_parent(tiny: TinyRuns, uninterrupted: Uninterrupted, tmp_path: Path) -> None:
    files = tiny.write(tmp_path, "more", tiny.sentences(30, seed=3))
    out = tmp_path / "better"
    events = tiny(out, files, size=None, steps=10, parent=uninterrupted.out, overrides=FINE_TUNING)
    (planned,) = of_type(Planned, events)
    assert planned.plan.reasons[0].endswith(" (as in the model to fine-tune)")
    assert planned.plan.reasons[1] == "fine-tuned from model, with its size and tokenizer"
    assert planned.plan.settings.model == open_folder(uninterrupted.out).settings
    assert planned.plan.settings.train.learning_rate == 5e-4
    assert (out / "tokenizer.model").read_bytes() == (uninterrupted.out / "tokenizer.model").read_bytes()
    parameters = sha256(uninterrupted.out / "weights.safetensors")
    card = (out / "card.md").read_text("utf-8")
    assert f"Fine-tuned from the model `model` (SHA-256 of its parameters: `{parameters}`)." in card
    assert (
        of_type(Step, events)[0].loss < of_type(Step, uninterrupted.events)[0].loss - 1
    )  # training does not start from the beginning
    assert sha256(out / "weights.safetensors") != uninterrupted.result.weights


def test_fine_tuning_starts_with_the_parameters_of_the_parent(
    tiny: TinyRuns, uninterrupted: Uninterrupted, tmp_path: Path
) -> None:
    """A learning rate close to zero does not change them."""
    overrides = (*FINE_TUNING, "train.learning_rate=1e-30", "train.average=1")
    tiny(tmp_path / "same", size=None, steps=2, parent=uninterrupted.out, overrides=overrides)
    assert_mean(
        load_file(tmp_path / "same" / "weights.safetensors"), [load_file(uninterrupted.out / "weights.safetensors")]
    )


def test_a_resumed_fine_tuning_run_equals_an_uninterrupted_one(
    tiny: TinyRuns, uninterrupted: Uninterrupted, tmp_path: Path
) -> None:
    changes: dict[str, Any] = {"size": None, "steps": 10, "parent": uninterrupted.out, "overrides": FINE_TUNING}
    tiny(tmp_path / "whole", **changes)
    tiny.stopped(tmp_path / "resumed", 7, **changes)
    tiny(tmp_path / "resumed", **changes)
    assert Result.of(tmp_path / "resumed") == Result.of(tmp_path / "whole")


def test_a_minimal_pair_weight_changes_the_model_and_the_run_resumes_exactly(
    tiny: TinyRuns, uninterrupted: Uninterrupted, tmp_path: Path
) -> None:
    data = tmp_path / "pairs.tsv"
    lines = [
        f"{source} {source} {last}\t{target} {last}\n"
        for source, target in tiny.sentences(60, 3)
        for last in ("a", "b")
    ]
    data.write_text("".join(lines), "utf-8")
    changes: dict[str, Any] = {"files": [data], "size": None, "steps": 6, "parent": uninterrupted.out}
    tiny(tmp_path / "plain", overrides=FINE_TUNING, **changes)
    changes["overrides"] = (*FINE_TUNING, "train.minimal_pair_weight=9")
    tiny(tmp_path / "whole", **changes)
    tiny.stopped(tmp_path / "resumed", 4, **changes)
    tiny(tmp_path / "resumed", **changes)
    assert Result.of(tmp_path / "resumed") == Result.of(tmp_path / "whole")
    assert Result.of(tmp_path / "whole") != Result.of(tmp_path / "plain")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"size": "tiny"}, "fine-tuning keeps the size of the parent model; leave out --size"),
        (
            {"languages": ("en", "de")},
            "fine-tuning keeps the languages of the parent model, en to fr; leave out --languages, or train a new "
            "model without --from",
        ),
        (
            {"overrides": ("model.width=32",)},
            "fine-tuning keeps the model settings of the parent model; leave out model.* settings and --kind",
        ),
    ],
)
def test_fine_tuning_keeps_the_shape_of_the_parent(
    tiny: TinyRuns, uninterrupted: Uninterrupted, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    arguments = {"size": None, "parent": uninterrupted.out, "overrides": (), **changes}
    assert refused(tiny.events(tmp_path / "model", **arguments)) == message


def test_fine_tuning_keeps_the_tokenizer_of_the_parent(
    tiny: TinyRuns, uninterrupted: Uninterrupted, tmp_path: Path
) -> None:
    events = tiny.events(
        tmp_path / "model", size=None, parent=uninterrupted.out, overrides=("tokenizer.vocab_size=400",)
    )
    assert "tokenizer" in refused(events)


def test_a_missing_parent_is_refused(tiny: TinyRuns, tmp_path: Path) -> None:
    parent = tmp_path / "none"
    message = refused(tiny.events(tmp_path / "model", size=None, parent=parent), UserError)
    assert message.startswith(f"{parent}: no such model folder")


# Training works


def test_a_tiny_model_learns_to_reverse() -> None:
    """The sequences have four to six of eight symbols; those in the test are not in the training data."""
    first, symbols = 4, 8
    generator = random.Random(1)

    def sample() -> tuple[int, ...]:
        return tuple(generator.randrange(first, first + symbols) for _ in range(generator.randint(4, 6)))

    unseen = list(dict.fromkeys(sample() for _ in range(200)))
    forbidden = set(unseen)

    def stream() -> Iterator[tuple[Batch, StreamPosition]]:
        while True:
            chosen: list[tuple[int, ...]] = []
            while len(chosen) < 64:
                sequence = sample()
                if sequence not in forbidden:
                    chosen.append(sequence)
            target = padded([sequence[::-1] for sequence in chosen])
            yield batch(padded(chosen), target), StreamPosition()

    shape = TransformerSettings(
        source_vocab_size=16,
        target_vocab_size=16,
        width=64,
        heads=4,
        feedforward=128,
        encoder_layers=1,
        decoder_layers=1,
        norm="pre",
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
    steps = training_steps(model, make_optimizer(model, settings), stream(), settings)
    losses = [step.loss for step in steps]
    assert losses[-1] < losses[0]
    assert sum(reversed_by(model.eval(), unseen)) >= 0.95 * len(unseen)


def padded(rows: list[tuple[int, ...]]) -> Tensor:
    width = max(map(len, rows)) + 1
    return torch.tensor([[*row, EOS] + [PAD] * (width - 1 - len(row)) for row in rows])


def reversed_by(model: Transformer, rows: list[tuple[int, ...]]) -> list[bool]:
    """Return for each row whether the model generates its reverse."""
    with torch.inference_mode():
        hypotheses = search(
            lambda tokens, state: project_last(model, tokens, state),
            model.start(model.encode(inputs(padded(rows)))),
            limits_B=torch.full((len(rows),), 10),
            decode=DecodeSettings(beam_size=1),
            generable_V=torch.arange(16) >= EOS,
            bos=BOS,
            eos=EOS,
        )
    return [best.token_ids == row[::-1] for (best, *_), row in zip(hypotheses, rows, strict=True)]


def project_last(model: Transformer, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
    hidden, state = model.decode(tokens, state)
    return model.project(hidden[:, -1]), state


def test_a_finished_model_of_an_older_version_is_not_called_unfinished(
    tiny: TinyRuns, uninterrupted: Uninterrupted, tmp_path: Path
) -> None:
    out = tmp_path / "model"
    shutil.copytree(uninterrupted.out, out)
    path = out / "run" / "plan.json"
    write_hashed_json(path, {**read_hashed_json(path), "format": 1})
    assert refused(tiny.events(out)) == (
        f"{out} holds a finished model that another version of Regard trained; you can use it as it is, or choose "
        "another --out for a new run"
    )


def test_naming_the_default_kind_is_not_another_request(
    tiny: TinyRuns, uninterrupted: Uninterrupted, tmp_path: Path
) -> None:
    out = tiny.fresh(tmp_path / "model")
    tiny.stopped(out, 7)
    tiny(out, kind="transformer")
    assert Result.of(out) == uninterrupted.result
    assert tiny(out, overrides=("model.kind=transformer", *tiny.overrides))[-1] == Finished(out)


@pytest.mark.parametrize("override", ["transformer", "toy"])
def test_a_kind_that_contradicts_a_setting_is_refused(tiny: TinyRuns, tmp_path: Path, override: str) -> None:
    other = {"transformer": "toy", "toy": "transformer"}[override]
    with toy_kind():
        message = refused(
            tiny.events(tmp_path / "model", kind=other, overrides=(f"model.kind={override}",)), SettingsError
        )
    assert message == f"the kind of model is given as {other} and as {override}; give it once, with --kind"


# Decode settings


def test_decode_settings_of_the_run_are_stored_with_the_model_and_passed_on(tiny: TinyRuns, tmp_path: Path) -> None:
    overrides = (*tiny.overrides, "decode.length_penalty=1.5", "decode.n_best=2")
    tiny(tmp_path / "parent", steps=2, overrides=overrides)
    stored = {"beam_size": 2, "max_length_offset": 2, "length_penalty": 1.5}
    assert read_json(tmp_path / "parent" / "settings.json")["decode"] == stored
    few = ("train.micro_batch_tokens=48", "train.batch_tokens=96")
    tuned: dict[str, Any] = {"size": None, "steps": 2, "parent": tmp_path / "parent"}
    tiny(tmp_path / "same", **tuned, overrides=few)
    assert read_json(tmp_path / "same" / "settings.json")["decode"] == stored
    tiny(tmp_path / "other", **tuned, overrides=(*few, "decode.beam_size=4", "decode.length_penalty=1"))
    changed = {"max_length_offset": 2, "length_penalty": 1.0}  # a beam size of 4 is the default
    assert read_json(tmp_path / "other" / "settings.json")["decode"] == changed


def test_validation_translates_as_the_saved_model_does(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[DecodeSettings] = []
    original = Translator.translate

    def translate(self: Translator, texts: Any, decode: DecodeSettings) -> Any:
        used.append(decode)
        return original(self, texts, decode)

    monkeypatch.setattr(Translator, "translate", translate)
    tiny(tmp_path / "parent", steps=2, overrides=(*tiny.overrides, "tokenizer.placeholders=0"))
    few = ("train.micro_batch_tokens=48", "train.batch_tokens=96", "decode.prefix=a", "decode.length_penalty=2")
    tiny(tmp_path / "child", size=None, steps=2, parent=tmp_path / "parent", overrides=few)
    # Without placeholders in the vocabulary, names would stand in for spans, and would be scored instead of the model.
    assert set(used) == {replace(open_folder(tmp_path / name).decode, protect=False) for name in ("parent", "child")}
    assert len(set(used)) == 2


# Threads


def test_a_quota_of_cpus_limits_the_threads_of_the_whole_run(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("regard.training.parallel.threads.usable_cpus", lambda: 2)
    used: dict[str, int] = {}

    def spy(owner: Any, name: str) -> None:
        original = getattr(owner, name)

        def call(*arguments: Any, **options: Any) -> Any:
            used[name] = torch.get_num_threads()
            return original(*arguments, **options)

        monkeypatch.setattr(owner, name, call)

    spy(step_time, "measure_step_time")
    spy(step_module, "accumulate_gradients")
    spy(Validator, "quick")
    spy(Validator, "full")
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        tiny(tmp_path / "model", steps=2)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    assert used == dict.fromkeys(("measure_step_time", "accumulate_gradients", "quick", "full"), 2)


def test_the_card_and_the_plan_count_the_cpus_that_may_be_used(
    tiny: TinyRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("planning.choices", "tracking.model_card"):
        monkeypatch.setattr(f"regard.training.{module}.cpu_count", lambda: 3)
    monkeypatch.setattr("os.cpu_count", lambda: 64)
    tiny(tmp_path / "model", steps=1, size=None)
    card = (tmp_path / "model" / "card.md").read_text("utf-8")
    assert (
        "training pairs and 3 CPU cores" in card and ", 3 cores, cpu, " in card and "64" not in card.split("## Data")[0]
    )
