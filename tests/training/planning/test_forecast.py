"""The forecast agrees with an actual run, on data small enough to be its own sample."""

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from tests.toy_kind import TOY

from regard.benchmark.training_speed import measure_training
from regard.data.check.corpus_report import check_corpora
from regard.data.formats.corpus import Corpus, corpora
from regard.progress import run_to_end
from regard.settings.kinds import KINDS
from regard.settings.kinds.transformer import SIZES
from regard.settings.parser import user_overrides
from regard.settings.sections import assemble
from regard.settings.sizes import size_overrides
from regard.training.planning import corpus_sample
from regard.training.planning.choices import SHARE_FOR_STEPS, choose_steps
from regard.training.planning.forecast import Forecast, forecast
from regard.training.planning.step_time import StepTime
from regard.training.tracking.events import Note, Planned

if TYPE_CHECKING:
    from tests.training.conftest import TinyRuns


def make_forecast(train: list[Corpus], *overrides: str) -> Forecast:
    report = run_to_end(check_corpora(train))
    return run_to_end(forecast(train, report, user_overrides(overrides)))


def test_the_forecast_leaves_out_the_pairs_that_a_run_leaves_out(tiny: "TinyRuns", tmp_path: Path) -> None:
    pairs = tiny.sentences(60, seed=1)
    pairs[4], pairs[9], pairs[20], pairs[21] = ("a", ""), (" ", ""), ("long " * 80, "c"), ("b", "long " * 80)
    path = tmp_path / "a.tsv"
    path.write_bytes("".join(f"{source}\t{target}\n" for source, target in pairs).encode() + b"\xff\tb\n")
    result = make_forecast(corpora([path]), *tiny.overrides, "model.max_positions=50")
    valid = tiny.write(tmp_path, "v", tiny.sentences(3, seed=2))
    overrides = (*tiny.overrides, "model.max_positions=50")
    events = tiny(tmp_path / "model", [path], valid=valid, steps=1, overrides=overrides)
    note = "not UTF-8: 1, source empty: 1, source too long: 1, target empty: 1, target too long: 1"
    assert [event.text for event in events if isinstance(event, Note) and note in event.text]
    assert result.left_out == {
        "source empty": 1,
        "source too long": 1,
        "target empty": 1,
        "target too long": 1,
        "unreadable": 1,
    }
    assert result.kept == 56
    assert f"{result.kept} training pairs, 3 validation pairs" in (tmp_path / "model" / "card.md").read_text("utf-8")


def test_sizes_that_contradict_the_settings_are_left_out(tiny: "TinyRuns") -> None:
    """The four heads of `tiny` and `small` divide this width, and the eight heads of the paper's sizes do not."""
    result = make_forecast(corpora(tiny.files), *tiny.overrides[2:], "model.width=20")
    assert [entry.size for entry in result.expected] == ["tiny", "small"]


def test_the_forecast_leaves_the_random_numbers_of_the_caller_alone(tiny: "TinyRuns") -> None:
    before = torch.get_rng_state()
    make_forecast(corpora(tiny.files), *tiny.overrides)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_forecast_describes_the_tokens(tiny: "TinyRuns") -> None:
    tokens = make_forecast(corpora(tiny.files), *tiny.overrides).tokens
    assert tokens.vocab_size <= 300
    assert tokens.pairs == 60
    assert 1 <= tokens.per_word["source"] < 4
    assert tokens.maximum.keys() == tokens.per_word.keys() == {"source", "target"}
    assert 0 <= tokens.by_bytes < 0.5
    assert "".join(tokens.example).replace("\u2581", " ").strip() == tiny.sentences(60, seed=1)[0][0]


def test_every_size_has_a_duration(tiny: "TinyRuns") -> None:
    # The tests pretend that a step of 50 tokens takes 0.01 s.
    sizes = {entry.size: entry for entry in make_forecast(corpora(tiny.files), "tokenizer.vocab_size=300").expected}
    assert list(sizes) == list(SIZES)
    assert [entry.measured for entry in sizes.values()] == [True, True, False, False]
    assert sizes["base"].steps == assemble(size_overrides("base")).train.steps
    for size in ("tiny", "small"):
        assert math.isclose(sizes[size].seconds, sizes[size].steps * 0.01 / SHARE_FOR_STEPS)
    per_step = 0.01 / 50 * 25_000 * sizes["big"].parameters / sizes["small"].parameters
    assert math.isclose(sizes["big"].seconds, sizes["big"].steps * per_step / SHARE_FOR_STEPS)


def test_corpus_weights_count_in_the_forecast(tiny: "TinyRuns", monkeypatch: pytest.MonkeyPatch) -> None:
    epoch_tokens: list[int] = []

    def record(tokens: int, speed: StepTime) -> tuple[int, str]:
        epoch_tokens.append(tokens)
        return choose_steps(tokens, speed)

    monkeypatch.setattr("regard.training.planning.choices.choose_steps", record)
    source, target = tiny.files
    make_forecast(corpora([source, target]), "tokenizer.vocab_size=300")
    make_forecast(corpora([source, Path(f"{target}=3")]), "tokenizer.vocab_size=300")
    assert math.isclose(epoch_tokens[-1], 3 * epoch_tokens[0], rel_tol=0.001)


def test_a_sample_represents_all_the_data(tiny: "TinyRuns", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_sample, "SAMPLE_PAIRS", 20)
    result = make_forecast(corpora(tiny.files), "tokenizer.vocab_size=300")
    assert result.tokens.pairs == 20
    assert result.kept == 60


@pytest.fixture
def own_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy kind with sizes of other names, one of which states its number of steps."""
    sizes = {
        "mini": TOY.sizes["tiny"],
        "broad": {"model": {"width": 32}, "train": {"batch_tokens": 512, "micro_batch_tokens": 512}},
        "paper": {"model": {"width": 24}, "train": {"steps": 7, "batch_tokens": 256, "micro_batch_tokens": 256}},
    }
    monkeypatch.setitem(KINDS, "toy", replace(TOY, sizes=sizes))
    monkeypatch.setattr("regard.benchmark.training_speed._SECONDS", 0.0)
    monkeypatch.setattr("regard.benchmark.training_speed._PEAK_WIDTH", 64)


@pytest.mark.usefixtures("own_sizes")
def test_a_kind_with_its_own_sizes_takes_the_steps_of_the_forecast(tiny: "TinyRuns", tmp_path: Path) -> None:
    overrides = ["tokenizer.vocab_size=300", "model.kind=toy"]
    expected = make_forecast(corpora(tiny.files), *overrides).expected
    assert [(one.size, one.measured, one.seconds > 0) for one in expected] == [
        (size, True, True) for size in ("mini", "broad", "paper")
    ]
    report = run_to_end(check_corpora(corpora(tiny.files)))
    measured = {
        size: run_to_end(measure_training(corpora(tiny.files), report, size, user_overrides(overrides))).steps
        for size in ("mini", "broad", "paper")
    }
    for one in expected:
        events = tiny.events(tmp_path / one.size, size=one.size, steps=None, overrides=overrides, valid=tiny.files)
        plan = next(event.plan for event in events if isinstance(event, Planned))
        assert plan.settings.train.steps == one.steps
        assert ("from the settings" in " ".join(plan.reasons)) == (measured[one.size] == 7) == (one.size == "paper")
        events.close()  # type: ignore[attr-defined]


@pytest.mark.usefixtures("own_sizes")
def test_a_first_size_that_is_large_is_measured(tiny: "TinyRuns", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.training.planning.forecast._MEASURED_PARAMETERS", 0)
    expected = make_forecast(corpora(tiny.files), "tokenizer.vocab_size=300", "model.kind=toy").expected
    assert [one.measured for one in expected] == [True, False, False]
    assert all(one.seconds > 0 for one in expected)


@pytest.mark.usefixtures("own_sizes")
def test_a_quota_of_cpus_limits_the_threads_of_measurements(tiny: "TinyRuns", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("regard.training.parallel.threads.usable_cpus", lambda: 2)
    threads: list[int] = []

    def measure(*_: object) -> StepTime:
        threads.append(torch.get_num_threads())
        return StepTime(0.01, 50.0)

    monkeypatch.setattr("regard.training.planning.step_time.measure_step_time", measure)
    monkeypatch.setattr("regard.benchmark.training_speed._measure_steps", measure)
    monkeypatch.setattr("regard.benchmark.training_speed.peak_speed", lambda _: float(measure().tokens))
    overrides = user_overrides(["tokenizer.vocab_size=300", "model.kind=toy"])
    train = corpora(tiny.files)
    report = run_to_end(check_corpora(train))
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        run_to_end(forecast(train, report, overrides))
        assert threads == [2, 2, 2]
        run_to_end(measure_training(train, report, "mini", overrides))
        assert threads == [2, 2, 2, 2, 2]
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
