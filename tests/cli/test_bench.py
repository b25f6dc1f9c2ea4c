"""`regard bench`: the speed of training and translating."""

import json
from pathlib import Path

import pytest
import torch
from tests.cli.runner import call, sentences

from regard.training.planning.choices import SHARE_FOR_STEPS


def test_the_speed_of_translation_is_measured(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.benchmark.translation_speed._SECONDS", 0.05)
    monkeypatch.setattr("regard.benchmark.translation_speed._COLD_STARTS", 1)
    texts = ["-- a line that looks like an option", "a bo cat " * 400, *sentences(18)]
    lines = "".join(text + "\n" for text in [*texts, "", *texts]).encode()
    done = call("bench", "translate", "--model", model, "--json", typed=lines)
    assert done.said.splitlines() == [
        "measuring: many sentences",
        "measuring: one sentence at a time",
        "measuring: cold start",
    ]
    found = json.loads(done.output)
    assert found["sentences"] == 20
    assert 0 < found["p50_milliseconds"] < 1000 * found["cold_start_seconds"]
    assert found["p50_milliseconds"] <= found["p99_milliseconds"]
    assert found["tokens_per_second"] > 0 < found["sentences_per_second"]
    assert found["share_of_ctranslate2"] > 0
    shown = call("bench", "translate", "--model", model, typed=lines)
    assert [line.split("  ")[0] for line in shown.lines] == ["many sentences", "one sentence", "cold start", "memory"]


def test_the_speed_of_training_is_measured(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.benchmark.training_speed._SECONDS", 0.0)
    monkeypatch.setattr("regard.benchmark.training_speed._PEAK_WIDTH", 64)
    data = (folder / "train.en", folder / "train.fr")
    few = ("--set", "train.batch_tokens=256", "--set", "train.micro_batch_tokens=256")
    random_state = torch.get_rng_state()
    found = json.loads(call("bench", "train", *data, "--json", *few).output)
    assert torch.equal(torch.get_rng_state(), random_state)
    assert found["size"] == "tiny"
    assert found["seconds"] == pytest.approx(found["steps"] * found["seconds_per_step"] / SHARE_FOR_STEPS)
    assert found["tokens_per_second"] * found["seconds_per_step"] < 256
    # In the forward and backward pass each parameter of a matrix takes part in about six operations per token.
    assert 2 < 1e9 * found["gigaflops"] / found["tokens_per_second"] / found["parameters"] < 12
    monkeypatch.setattr("regard.benchmark.training_speed._SECONDS", 0.1)
    shown = call("bench", "train", *data, "--size", "small", "--set", "train.steps=1", *few)
    assert [line.split("  ")[0] for line in shown.lines] == ["size", "speed", "arithmetic", "memory", "your data"]
    assert shown.lines[0].split()[1] == "small,"


def test_bench_translate_refuses_what_ctranslate2_cannot_do(model: Path) -> None:
    done = call("bench", "translate", "--model", model, "--set", "decode.temperature=0.5", typed=b"a\n")
    said = (
        "error: only CTranslate2 is measured, and it supports neither sampling nor a prefix; use decode.temperature=0, "
        "and leave out decode.prefix\n"
    )
    assert (done.code, done.said) == (2, said)
    for setting in ("n_best=2", "scores=true"):
        done = call("bench", "translate", "--model", model, "--set", f"decode.{setting}", typed=b"a\n")
        said = f"error: only the speed of plain translation is measured; leave out decode.{setting.partition('=')[0]}\n"
        assert (done.code, done.said) == (2, said)


def test_bench_translate_accepts_that_no_scores_are_wanted(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It never computes scores."""
    monkeypatch.setattr("regard.benchmark.translation_speed._SECONDS", 0.05)
    monkeypatch.setattr("regard.benchmark.translation_speed._COLD_STARTS", 1)
    done = call("bench", "translate", "--model", model, "--set", "decode.scores=false", "--json", typed=b"a bo\n")
    assert done.code == 0, done.said
    assert json.loads(done.output)["sentences"] == 1


def test_bench_translate_refuses_empty_input(model: Path) -> None:
    done = call("bench", "translate", "--model", model, typed=b"\n  \n")
    assert (done.code, done.said) == (
        2,
        "error: there is no text to translate; give some lines: regard bench translate --model … < lines\n",
    )
