"""The measurement of heads on GAP: spans become tokens, rules follow their definition, and F1 is that of GAP."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

BENCH = Path(__file__).parents[2] / "bench"

LINE = "gap\tdevelopment\t1\tAnn met Sue, and she smiled at him.\tshe\t17\tAnn\t0\tSue\t8\tB\tF\n"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(BENCH), *sys.path])
    return importlib.import_module("coreference_heads")


def test_a_line_becomes_a_text(script: ModuleType) -> None:
    (text,) = script.parse([LINE, LINE.replace("development", "validation")], "development")
    assert [text.text[slice(*span)] for span in (text.pronoun, *text.names)] == ["she", "Ann", "Sue"]
    assert text.gold == "B" and script.nearest(text) == 1
    assert script.subject_rule(text) == 0  # only Ann begins a clause
    (other,) = script.parse([LINE.replace("she\t17", "him\t31")], "development")
    assert script.subject_rule(other) == 1


def test_f1_counts_texts_without_an_antecedent(script: ModuleType) -> None:
    texts = [script.Text("", (0, 0), ((0, 0), (0, 0)), gold) for gold in "AABN"]
    # Two of three right, one answer too many: precision 2/4, recall 2/3.
    assert script.f1(np.array([0, 1, 1, 0]), texts) == pytest.approx(2 * (1 / 2) * (2 / 3) / (1 / 2 + 2 / 3))
    found = script.accuracy(np.array([0, 1, 1, 0]), texts)
    assert (found.value, found.count) == (pytest.approx(2 / 3), 3)


def test_each_head_answers_with_the_name_it_attends_to(script: ModuleType, model_of: Callable[[str], Any]) -> None:
    model = model_of("pre")
    (text,) = script.parse([LINE], "development")
    ids, (pronoun, first, second) = script.encode(text, model.tokenizer)
    assert model.tokenizer.decode([[ids[at] for at in second]])[0].strip(" ,") == "Sue"
    answers = script.head_answers(model.network, model.tokenizer, [text])
    trace = model.look(text.text, target="a dog.").trace
    assert tuple(trace.source.ids) == tuple(ids)
    for head, answer in answers.items():
        row = np.asarray(trace[f"{head}.weight"])[pronoun].mean(axis=0)
        assert answer.tolist() == [int(row[second].sum() > row[first].sum())]
