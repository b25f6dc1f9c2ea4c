"""The campaign: its data, its continuation, and a page whose sentences follow from the results."""

import importlib
import json
import sys
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from regard.data.synthetic.generator import minimal_pairs

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(BENCH), *sys.path])
    return importlib.import_module("coreference_campaign")


def test_the_lesson_has_minimal_pairs_on_lines_1_and_2_and_so_on(script: ModuleType) -> None:
    lesson = list(script.training_pairs(script.Run("language", lesson=True, seed=1, steps=3)))
    plain = list(script.training_pairs(script.Run("language", lesson=False, seed=1, steps=3)))
    assert len(lesson) == len(plain) == 3 * script.PAIRS_PER_STEP
    expected = [(one.source, one.target) for both in islice(minimal_pairs(1, "train"), 2) for one in both]
    assert lesson[2:6] == expected and lesson[:2] == plain[:2] and lesson[6:8] == plain[2:4]


def test_a_finished_part_is_not_repeated(script: ModuleType, tmp_path: Path) -> None:
    results, run = tmp_path / "results.jsonl", script.Run("text", lesson=True, seed=1, steps=3)
    assert not script.has_result(results, run, "training")
    assert script.has_result(results, run, "probes")  # not measured on text
    script.append(results, part="training", corpus="text", lesson=True, seed=1, steps=3)
    assert script.has_result(results, run, "training") and not script.has_result(results, run, "pronouns")
    assert not script.has_result(results, script.Run("text", lesson=True, seed=1, steps=4), "training")


def record(*, lesson: bool, seed: int, low: float, heads: int) -> dict[str, Any]:
    estimate = {"value": low + 0.1, "low": low, "high": low + 0.2, "count": 920}
    best = {"query": "cue", "head": "encoder.1.self.1", "p": 0.01, "right": estimate}
    point = {"step": 1, "accuracy": estimate, "pair_accuracy": estimate, "heads": heads, "best": best}
    run = {"part": "training", "corpus": "language", "lesson": lesson, "seed": seed, "steps": 1}
    return {**run, "curve": [point], "validations": [{"bleu": 1.0}], "command": "c", "machine": "m", "date": "d"}


def test_the_page_says_what_the_results_say(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = importlib.import_module("pages.coreference")
    runs = [record(lesson=True, seed=seed, low=0.4 + 0.1 * seed, heads=seed - 1) for seed in (1, 2, 3)]
    baselines = {name: {"low": 0.3} for name in ("diagonal", "IBM model 1")} | {"best fixed offset": {"low": 0.1}}
    measured = {**runs[0], "part": "alignment", "result": {"error": {"high": 0.2}, "baselines": baselines}}
    names = ("accuracy", "pair_accuracy", "swappable")
    scores: list[dict[str, Any]] = [
        {system: dict.fromkeys(names, run["curve"][0]["accuracy"]) for system in ("model", "without positions")}
        for run in runs
    ]
    scores[1]["model"]["swappable"] = {"value": 0.5, "low": 0.4, "high": 0.6}
    accuracies = [{**run, "part": "accuracy", "result": each} for run, each in zip(runs, scores, strict=True)]
    records = [*runs, measured, *accuracies]
    (tmp_path / "campaign.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    for name, file in (
        ("CAMPAIGN", "campaign.jsonl"),
        ("HEADS", "none"),
        ("PAGE", "page.md"),
        ("PICTURES", "pictures"),
    ):
        monkeypatch.setattr(page, name, tmp_path / file)
    page.write_page()
    text = (tmp_path / "page.md").read_text()
    assert "With the lesson, 2 of 3 models choose the right pronoun more often than chance, 1 of 3 also where" in text
    assert "and 2 of 3 have a head that follows the cue." in text
    assert "Not yet run: Real text" in text
    assert "Without the lesson, " not in text.partition("## ")[2].partition("**")[2]
    assert "| A cross-attention head aligns words better than rules about positions | 0 of 1 | – |" in text
    assert "| It also aligns better than IBM model 1 | 1 of 1 | – |" in text
    assert "<svg" in (tmp_path / "pictures" / "coreference-language.svg").read_text()
