"""What a run decides before its first step: the size, the steps, when to validate, and why."""

import itertools
import os
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch

from regard.data.batching.batches import Batch, StreamPosition
from regard.errors import RunError, SettingsError
from regard.machine import bfloat16
from regard.models.kinds.transformer import Transformer
from regard.settings.kinds.transformer import TransformerSettings
from regard.settings.parser import user_overrides
from regard.settings.sections import Settings, assemble
from regard.settings.train import TrainSettings
from regard.storage.json_files import read_json
from regard.training.planning import step_time
from regard.training.planning.choices import (
    choose_model_size,
    choose_steps,
    choose_validations,
    parse_duration,
    pick_device,
    steps_within,
)
from regard.training.planning.plan import Plan, differences, load_plan, save_plan, versions, with_steps
from regard.training.planning.step_time import StepTime, measure_step_time

torch.set_num_threads(1)


def make(**changes: object) -> Plan:
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


# Time as people write it


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
def test_a_duration(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", " ", "20", "20 m", "m", "1m1h", "20min", "-5m", "1h 30m", "1e3s", "²m", "20M"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_duration(text)
    assert str(caught.value) == f"--budget {text}: write a time such as 90s, 20m or 1h30m"


@pytest.mark.parametrize("text", ["0s", "0h0m0s", "0.0m"])
def test_no_time_at_all_is_no_budget(text: str) -> None:
    with pytest.raises(SettingsError, match=f"--budget {text}"):
        parse_duration(text)


# Size and steps, with reasons


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
def test_the_size_follows_from_data_and_machine(pairs: int, device: str, size: str) -> None:
    machine = f"{os.cpu_count()} processor cores" if device == "cpu" else "a GPU"
    assert choose_model_size(pairs, device) == (
        size,
        f"size {size}, because there are {pairs:,} training pairs and {machine}",
    )


def test_a_small_corpus_gets_many_passes() -> None:
    assert choose_steps(100_000, StepTime(0.01, 1_000)) == (4_000, "4,000 steps, about 40 passes over the data")


def test_a_tiny_corpus_gets_a_fair_number_of_steps() -> None:
    assert choose_steps(1_000, StepTime(0.01, 1_000)) == (500, "500 steps, about 500 passes over the data")


def test_a_middling_corpus_gets_thirty_million_pieces() -> None:
    assert choose_steps(3_000_000, StepTime(0.1, 4_000)) == (7_500, "7,500 steps, about 10 passes over the data")


def test_a_large_corpus_gets_what_fits_and_hears_what_would_be_better() -> None:
    assert choose_steps(100_000_000, StepTime(1.0, 4_000)) == (
        6_624,
        "6,624 steps, what fits in 2 hours on this machine (125,000 would be better: --steps 125000, or a --budget)",
    )


@pytest.mark.parametrize(
    ("budget", "spent", "per_step", "steps"),
    [(100, 0, 1.0, 92), (100, 0, 0.5, 184), (110, 10, 1.0, 92), (2, 0, 1.0, 1)],
)
def test_a_budget_in_steps_leaves_time_for_validation(budget: float, spent: float, per_step: float, steps: int) -> None:
    assert steps_within(budget, spent, per_step) == steps


@pytest.mark.parametrize(("budget", "spent"), [(10, 8), (10, 9.9), (10, 30)])
def test_a_budget_without_room_for_a_step_is_refused(budget: float, spent: float) -> None:
    with pytest.raises(RunError) as caught:
        steps_within(budget, spent, 2.5)
    assert str(caught.value) == (
        f"a budget of 10 s has no room for a step: preparing took {spent:.0f} s, and a step takes 2.5 s; "
        "give a larger --budget, or --steps"
    )


@pytest.mark.parametrize(
    ("steps", "per_step", "every"),
    [
        (1, 1.0, 1),
        (3, 1.0, 1),
        (100, 0.01, 25),  # a second of work: four times
        (1_000, 0.36, 166),  # six minutes: every minute
        (100_000, 1.0, 5_000),  # a day: twenty times
    ],
)
def test_validations_come_every_minute_or_so(steps: int, per_step: float, every: int) -> None:
    assert choose_validations(steps, per_step) == every


# The plan


def test_it_validates_every_so_often_and_at_the_end() -> None:
    plan = make()
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
def test_the_average_takes_the_last_checkpoints(average: int, last: int, steps: list[int]) -> None:
    settings = make().settings
    plan = make(settings=replace(settings, train=replace(settings.train, average=average)))
    assert plan.averaged_steps(last) == steps


def test_what_a_later_average_needs_is_never_pruned_on_the_way() -> None:
    plan = make()
    for last in (60, 90, 100):
        wanted = set(plan.averaged_steps(last))
        for step in range(1, last):
            made = {point for point in range(1, step + 1) if plan.validates(point)}
            assert made & wanted <= set(plan.averaged_steps(step))


def test_the_time_it_should_take_includes_validation() -> None:
    assert make(seconds_per_step=0.92).seconds == pytest.approx(100)


def test_a_plan_comes_back_from_disk_exactly(tmp_path: Path) -> None:
    plan = make()
    save_plan(tmp_path / "plan.json", plan)
    assert load_plan(tmp_path / "plan.json") == plan
    assert read_json(tmp_path / "plan.json")["settings"]["model"]["width"] == 64


def test_only_the_steps_change_with_the_steps() -> None:
    settings = with_steps(Settings(), 5)
    assert settings == replace(Settings(), train=TrainSettings(steps=5))


def test_the_versions_of_what_computes_are_kept() -> None:
    assert sorted(versions()) == ["numpy", "python", "regard", "sentencepiece", "torch"]
    assert versions()["torch"] == torch.__version__


# Differences


def test_the_same_request_has_no_differences() -> None:
    request = make().request
    assert differences(request, dict(request)) == []


def test_a_request_that_went_through_json_is_still_the_same(tmp_path: Path) -> None:
    plan = make()
    save_plan(tmp_path / "plan.json", plan)
    assert differences(load_plan(tmp_path / "plan.json").request, plan.request) == []


def test_differences_are_told_in_words() -> None:
    before: dict[str, object] = {"steps": None, "size": "tiny", "settings": {}, "same": 1}
    now: dict[str, object] = {
        "steps": 50,
        "size": None,
        "settings": {"train.max_grad_norm": 1.0, "model.norm": "pre"},
        "same": 1,
    }
    assert differences(before, now) == [
        "  settings: was nothing, is now train.max_grad_norm=1.0, model.norm=pre",
        "  size: was tiny, is now not given",
        "  steps: was not given, is now 50",
    ]


def test_files_that_differ_are_named_with_the_start_of_their_hashes() -> None:
    def corpus(*digests: str) -> list[dict[str, str]]:
        return [{"name": name, "sha256": digest} for name, digest in zip(("a.en", "a.fr"), digests, strict=True)]

    old, new = corpus("0123456789abcdef", "1" * 64), corpus("fedcba9876543210", "1" * 64)
    assert differences({"data": [old]}, {"data": [new, old]}) == [
        "  data: was a.en (0123456789ab) a.fr (111111111111), is now a.en (fedcba987654) a.fr (111111111111) "
        "a.en (0123456789ab) a.fr (111111111111)"
    ]
    assert differences({"data": [old]}, {"data": []}) == [
        "  data: was a.en (0123456789ab) a.fr (111111111111), is now nothing"
    ]


# The machine


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_speed_is_measured_without_changing_the_model(optimizer: Literal["adam", "muon"]) -> None:
    model = Transformer(
        TransformerSettings(vocab_size=16, width=8, heads=2, feedforward=8, encoder_layers=1, decoder_layers=1), 0.1
    )
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    ids = np.array([[5, 6, 3]])
    stream = iter([(Batch(ids, ids, 3), StreamPosition())] * 4)
    settings = TrainSettings(batch_tokens=100, micro_batch_tokens=50, optimizer=optimizer)
    speed = measure_step_time(model, stream, settings, seconds=0.0)
    assert speed.seconds > 0
    assert speed.tokens == 6  # two micro-batches of three pieces make a step
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_a_slow_beginning_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, costs = 0.0, itertools.chain([30.0, 2.0], itertools.repeat(0.5))

    def taken(*_: object) -> tuple[float, int]:
        nonlocal clock
        clock += next(costs)
        return 0.0, 3

    monkeypatch.setattr(step_time, "accumulate_gradients", taken)
    monkeypatch.setattr("time.perf_counter", lambda: clock)
    model = Transformer(TransformerSettings(vocab_size=16, width=8, heads=2, feedforward=8), 0.1)
    ids = np.array([[5, 6, 3]])
    stream = itertools.repeat((Batch(ids, ids, 3), StreamPosition()))
    assert (
        measure_step_time(model, stream, TrainSettings(batch_tokens=50, micro_batch_tokens=50), seconds=124.0).seconds
        == 0.5
    )


def test_the_device_is_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """An Apple GPU is taken only if asked for."""
    assert pick_device("cpu", "float32") == "cpu"
    for cuda, mps, found in [(False, False, "cpu"), (False, True, "cpu"), (True, False, "cuda"), (True, True, "cuda")]:
        monkeypatch.setattr(torch.cuda, "is_available", lambda cuda=cuda: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda mps=mps: mps)
        assert pick_device("auto", "float32") == found
        for asked, there in (("cuda", cuda), ("mps", mps)):
            if there:
                assert pick_device(asked, "float32") == asked


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("cuda", "train.device=cuda, but torch sees no CUDA GPU here; leave it at auto, or install a CUDA torch"),
        ("mps", "train.device=mps, but torch sees no Apple GPU here; leave it at auto"),
    ],
)
def test_a_device_that_is_not_there(monkeypatch: pytest.MonkeyPatch, device: str, message: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(RunError) as caught:
        pick_device(device, "float32")
    assert str(caught.value) == message


def test_a_process_that_dies_of_bfloat16_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    for program in ("pass", "raise MemoryError"):
        monkeypatch.setattr(bfloat16, "_PRODUCT", program)
        assert bfloat16.is_safe.__wrapped__()
    monkeypatch.setattr(bfloat16, "_PRODUCT", "import os; os.abort()")
    assert not bfloat16.is_safe.__wrapped__()


def test_a_run_that_would_die_of_bfloat16_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bfloat16, "is_safe", lambda: False)
    assert pick_device("cpu", "float32") == "cpu"
    with pytest.raises(RunError, match="environment variable ONEDNN_MAX_CPU_ISA=AVX512_CORE_FP16 before the command"):
        pick_device("cpu", "bfloat16")
    monkeypatch.setattr(bfloat16, "is_safe", lambda: True)
    assert pick_device("cpu", "bfloat16") == "cpu"
