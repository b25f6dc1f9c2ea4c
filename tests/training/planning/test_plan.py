"""The plan of a run: model size, steps, validation interval and device, each with its reason."""

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch
from tests.padded import batch

from regard.data.batching.batches import StreamPosition
from regard.errors import RunError, SettingsError
from regard.machine import bfloat16
from regard.machine.cpu import cpu_count
from regard.models.kinds.transformer import Transformer
from regard.render.units import format_count
from regard.settings.kinds.transformer import TransformerSettings
from regard.settings.parser import user_overrides
from regard.settings.sections import Settings, assemble
from regard.settings.train import TrainSettings
from regard.storage.json_files import read_hashed_json, read_json, write_hashed_json
from regard.training.planning import step_time
from regard.training.planning.choices import (
    choose_model_size,
    choose_steps,
    choose_validation_interval,
    parse_duration,
    pick_device,
    steps_within,
)
from regard.training.planning.plan import Plan, differences, load_plan, save_plan, versions, with_steps
from regard.training.planning.step_time import StepTime, measure_step_time

torch.set_num_threads(1)

OLDER_PLAN = (
    "{path} was written by another version of Regard, and this version cannot continue an unfinished run: start "
    "again in a new --out, or finish it with the other version"
)


def make_plan(**changes: object) -> Plan:
    plan = Plan(
        request={"training data": [[{"name": "a.tsv", "sha256": "12"}]], "size": None, "budget": 60.0, "settings": {}},
        settings=with_steps(assemble(user_overrides(["model.width=64", "train.learning_rate=0.003"])), 100),
        validate_every=30,
        seconds_per_step=0.1 + 0.2,
        threads=2,
        device="cpu",
        versions=versions(),
        reasons=("because", "it is so"),
    )
    return replace(plan, **changes)  # type: ignore[arg-type]


# Durations


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("20m", 1200),
        ("2h", 7200),
        ("1h30m", 5400),
        ("1h30m5s", 5405),
        ("1.5h", 5400),
        ("0.5m", 30),
        (" 20m ", 1200),
        ("1h5s", 3605),
    ],
)
def test_durations_are_parsed(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", " ", "20", "20 m", "m", "1m1h", "20min", "-5m", "1h 30m", "1e3s", "²m", "20M"])
def test_text_that_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_duration(text)
    assert str(caught.value) == f"--budget {text}: write a time such as 90s, 20m or 1h30m"


@pytest.mark.parametrize("text", ["0s", "0h0m0s", "0.0m"])
def test_a_duration_of_zero_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match=f"--budget {text}"):
        parse_duration(text)


# Size, steps and their reasons


@pytest.mark.parametrize(
    ("pairs", "device", "size"),
    [
        (10, "cpu", "tiny"),
        (99_999, "cpu", "tiny"),
        (100_000, "cpu", "small"),
        (50_000_000, "cpu", "small"),
        (10, "cuda", "small"),
        (999_999, "mps", "small"),
        (1_000_000, "cuda", "base"),
    ],
)
def test_the_size_depends_on_the_data_and_the_device(pairs: int, device: str, size: str) -> None:
    machine = format_count(cpu_count(), "CPU core") if device == "cpu" else "a GPU"
    assert choose_model_size(pairs, device, "transformer") == (
        size,
        f"size {size}, chosen for {pairs:,} training pairs and {machine}",
    )


def test_a_single_pair_is_not_a_plural() -> None:
    assert choose_model_size(1, "cuda", "transformer")[1] == "size small, chosen for 1 training pair and a GPU"


def test_a_small_corpus_gets_forty_passes() -> None:
    assert choose_steps(100_000, StepTime(0.01, 1_000)) == (4_000, "4,000 steps, about 40 passes over the data")


def test_a_tiny_corpus_gets_at_least_five_hundred_steps() -> None:
    assert choose_steps(1_000, StepTime(0.01, 1_000)) == (500, "500 steps, about 500 passes over the data")


def test_a_medium_corpus_gets_thirty_million_tokens() -> None:
    assert choose_steps(3_000_000, StepTime(0.1, 4_000)) == (7_500, "7,500 steps, about 10 passes over the data")


def test_a_large_corpus_gets_the_steps_that_fit_in_two_hours() -> None:
    assert choose_steps(100_000_000, StepTime(1.0, 4_000)) == (
        6_624,
        "6,624 steps, as many as fit in 2 hours on this machine (125,000 would be better: use --steps 125000, or a "
        "--budget)",
    )


@pytest.mark.parametrize(
    ("budget", "spent", "per_step", "steps"),
    [(100, 0, 1.0, 92), (100, 0, 0.5, 184), (110, 10, 1.0, 92), (2, 0, 1.0, 1)],
)
def test_the_steps_of_a_budget_leave_time_for_validation(
    budget: float, spent: float, per_step: float, steps: int
) -> None:
    assert steps_within(budget, spent, per_step) == steps


@pytest.mark.parametrize(("budget", "spent"), [(10, 8), (10, 9.9), (10, 30)])
def test_a_budget_too_short_for_a_step_is_refused(budget: float, spent: float) -> None:
    with pytest.raises(RunError) as caught:
        steps_within(budget, spent, 2.5)
    assert str(caught.value) == (
        f"a budget of 10 s is too short for a single step: preparation took {spent:.0f} s, and a step takes 2.5 s; "
        "use a larger --budget, or --steps"
    )


@pytest.mark.parametrize(
    ("steps", "per_step", "every"),
    [
        (1, 1.0, 1),
        (3, 1.0, 1),
        (100, 0.01, 25),  # one second: four validations
        (1_000, 0.36, 166),  # six minutes: one per minute
        (100_000, 1.0, 5_000),  # one day: twenty validations
    ],
)
def test_a_run_validates_about_once_a_minute_within_limits(steps: int, per_step: float, every: int) -> None:
    assert choose_validation_interval(steps, per_step) == every


# The plan


def test_a_run_validates_at_its_interval_and_at_the_end() -> None:
    plan = make_plan()
    assert [step for step in range(1, 101) if plan.validates(step)] == [30, 60, 90, 100]


@pytest.mark.parametrize(
    ("average", "last", "steps"),
    [
        (1, 100, [100]),
        (2, 100, [90, 100]),
        (4, 100, [30, 60, 90, 100]),
        (9, 100, [30, 60, 90, 100]),
        (2, 60, [30, 60]),  # stopped early
        (3, 10, [10]),
    ],
)
def test_the_last_checkpoints_are_averaged(average: int, last: int, steps: list[int]) -> None:
    settings = make_plan().settings
    plan = make_plan(settings=replace(settings, train=replace(settings.train, average=average)))
    assert plan.averaged_steps(last) == steps


def test_no_checkpoint_that_a_later_average_needs_is_pruned() -> None:
    plan = make_plan()
    for last in (60, 90, 100):
        wanted = set(plan.averaged_steps(last))
        for step in range(1, last):
            saved = {point for point in range(1, step + 1) if plan.validates(point)}
            assert saved & wanted <= set(plan.averaged_steps(step))


def test_the_expected_duration_includes_validation() -> None:
    assert make_plan(seconds_per_step=0.92).seconds == pytest.approx(100)


def test_a_plan_is_read_back_exactly(tmp_path: Path) -> None:
    plan = make_plan()
    save_plan(tmp_path / "plan.json", plan)
    assert load_plan(tmp_path / "plan.json") == plan
    assert read_json(tmp_path / "plan.json")["settings"]["model"]["width"] == 64


@pytest.mark.parametrize(
    ("section", "new", "old"),
    [
        ("train", "label_smoothing", "smoothing"),
        ("model", "max_positions", "longest"),
        ("tokenizer", "vocab_size", "pieces"),
        ("decode", "beam_size", "beams"),
    ],
)
def test_a_plan_of_an_older_version_is_refused_with_advice(tmp_path: Path, section: str, new: str, old: str) -> None:
    path = tmp_path / "plan.json"
    save_plan(path, make_plan())
    saved = {name: value for name, value in read_json(path).items() if name != "sha256"}
    saved["settings"][section][old] = saved["settings"][section].pop(new)
    write_hashed_json(path, saved)
    with pytest.raises(RunError) as caught:
        load_plan(path)
    assert str(caught.value) == OLDER_PLAN.format(path=path)


@pytest.mark.parametrize("change", ["missing field", "unknown field"])
def test_a_plan_with_other_fields_is_refused_with_advice(tmp_path: Path, change: str) -> None:
    path = tmp_path / "plan.json"
    save_plan(path, make_plan())
    saved = {name: value for name, value in read_json(path).items() if name != "sha256"}
    if change == "missing field":
        del saved["threads"]
    else:
        saved["workers"] = 2
    write_hashed_json(path, saved)
    with pytest.raises(RunError) as caught:
        load_plan(path)
    assert str(caught.value) == OLDER_PLAN.format(path=path)


@pytest.mark.parametrize("number", [1, 3, None])
def test_a_plan_of_another_format_is_refused(tmp_path: Path, number: int | None) -> None:
    path = tmp_path / "plan.json"
    save_plan(path, make_plan())
    saved = {name: value for name, value in read_hashed_json(path).items() if name != "format"}
    write_hashed_json(path, saved if number is None else {**saved, "format": number})
    with pytest.raises(RunError) as caught:
        load_plan(path)
    assert str(caught.value) == OLDER_PLAN.format(path=path)


def test_with_steps_changes_only_the_steps() -> None:
    settings = with_steps(Settings(), 5)
    assert settings == replace(Settings(), train=TrainSettings(steps=5))


def test_the_versions_of_the_libraries_are_recorded() -> None:
    assert sorted(versions()) == ["numpy", "python", "regard", "sentencepiece", "torch"]
    assert versions()["torch"] == torch.__version__


# Differences


def test_the_same_request_has_no_differences() -> None:
    request = make_plan().request
    assert differences(request, dict(request)) == []


def test_a_request_read_back_from_disk_has_no_differences(tmp_path: Path) -> None:
    plan = make_plan()
    save_plan(tmp_path / "plan.json", plan)
    assert differences(load_plan(tmp_path / "plan.json").request, plan.request) == []


def test_differences_are_described_line_by_line() -> None:
    before: dict[str, object] = {"steps": None, "size": "tiny", "settings": {}, "same": 1}
    now: dict[str, object] = {
        "steps": 50,
        "size": None,
        "settings": {"train.max_grad_norm": 1.0, "model.norm": "pre"},
        "same": 1,
    }
    assert differences(before, now) == [
        "  settings: was none, is now train.max_grad_norm=1.0, model.norm=pre",
        "  size: was tiny, is now not given",
        "  steps: was not given, is now 50",
    ]
    assert differences({"languages": ["en", "fr"]}, {"languages": [None, None]}) == [
        "  languages: was en fr, is now unknown"
    ]


def test_files_that_differ_are_listed_with_the_start_of_their_hashes() -> None:
    def corpus(*digests: str) -> list[dict[str, str]]:
        return [{"name": name, "sha256": digest} for name, digest in zip(("a.en", "a.fr"), digests, strict=True)]

    old, new = corpus("0123456789abcdef", "1" * 64), corpus("fedcba9876543210", "1" * 64)
    assert differences({"data": [old]}, {"data": [new, old]}) == [
        "  data: was a.en (0123456789ab) a.fr (111111111111), is now a.en (fedcba987654) a.fr (111111111111) "
        "a.en (0123456789ab) a.fr (111111111111)"
    ]
    assert differences({"data": [old]}, {"data": []}) == [
        "  data: was a.en (0123456789ab) a.fr (111111111111), is now none"
    ]


# The machine


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_measuring_the_step_time_does_not_change_the_model(optimizer: Literal["adam", "muon"]) -> None:
    model = Transformer(
        TransformerSettings(
            source_vocab_size=16,
            target_vocab_size=16,
            width=8,
            heads=2,
            feedforward=8,
            encoder_layers=1,
            decoder_layers=1,
        ),
        0.1,
    )
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    ids = np.array([[5, 6, 3]])
    stream = iter([(batch(ids, ids), StreamPosition())] * 4)
    settings = TrainSettings(batch_tokens=100, micro_batch_tokens=50, optimizer=optimizer)
    speed = measure_step_time(model, stream, settings, seconds=0.0)
    assert speed.seconds > 0
    assert speed.tokens == 6  # a step has two micro-batches of three tokens
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_the_warm_up_is_not_counted_in_the_step_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, costs = 0.0, itertools.chain([30.0, 2.0], itertools.repeat(0.5))

    def accumulate(*_: object) -> tuple[float, int]:
        nonlocal clock
        clock += next(costs)
        return 0.0, 3

    monkeypatch.setattr(step_time, "accumulate_gradients", accumulate)
    monkeypatch.setattr("time.perf_counter", lambda: clock)
    model = Transformer(
        TransformerSettings(source_vocab_size=16, target_vocab_size=16, width=8, heads=2, feedforward=8), 0.1
    )
    ids = np.array([[5, 6, 3]])
    stream = itertools.repeat((batch(ids, ids), StreamPosition()))
    assert (
        measure_step_time(model, stream, TrainSettings(batch_tokens=50, micro_batch_tokens=50), seconds=124.0).seconds
        == 0.5
    )


def test_auto_picks_an_available_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """An Apple GPU is used only on request."""
    assert pick_device("cpu", "float32") == "cpu"
    for cuda, mps, expected in [
        (False, False, "cpu"),
        (False, True, "cpu"),
        (True, False, "cuda"),
        (True, True, "cuda"),
    ]:
        monkeypatch.setattr(torch.cuda, "is_available", lambda cuda=cuda: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda mps=mps: mps)
        assert pick_device("auto", "float32") == expected
        for requested, is_available in (("cuda", cuda), ("mps", mps)):
            if is_available:
                assert pick_device(requested, "float32") == requested


@pytest.mark.parametrize(
    ("device", "message"),
    [
        (
            "cuda",
            "train.device=cuda, but torch finds no CUDA GPU on this machine; leave the setting at auto, or install "
            "torch with CUDA support",
        ),
        (
            "mps",
            "train.device=mps, but torch finds no Apple GPU on this machine; leave the setting at auto",
        ),
    ],
)
def test_a_device_that_is_not_available_is_refused(monkeypatch: pytest.MonkeyPatch, device: str, message: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(RunError) as caught:
        pick_device(device, "float32")
    assert str(caught.value) == message


def test_a_process_that_crashes_in_bfloat16_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    for program in ("pass", "raise MemoryError"):
        monkeypatch.setattr(bfloat16, "_MATRIX_PRODUCT", program)
        assert bfloat16.is_safe.__wrapped__()
    monkeypatch.setattr(bfloat16, "_MATRIX_PRODUCT", "import os; os.abort()")
    assert not bfloat16.is_safe.__wrapped__()


def test_a_run_that_would_crash_in_bfloat16_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bfloat16, "is_safe", lambda: False)
    assert pick_device("cpu", "float32") == "cpu"
    with pytest.raises(RunError, match="environment variable ONEDNN_MAX_CPU_ISA=AVX512_CORE_FP16 before the command"):
        pick_device("cpu", "bfloat16")
    monkeypatch.setattr(bfloat16, "is_safe", lambda: True)
    assert pick_device("cpu", "bfloat16") == "cpu"
