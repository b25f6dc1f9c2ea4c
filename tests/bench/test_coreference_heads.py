"""The heads on GAP and LitBank: spans become tokens, rules follow their definition, and F1 is that of GAP."""

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


def test_a_line_of_gap_becomes_a_text(script: ModuleType) -> None:
    (text,) = script.gap([LINE, LINE.replace("development", "validation")])
    assert [text.text[slice(*span)] for span in (text.pronoun, *text.candidates)] == ["she", "Ann", "Sue"]
    assert text.gold == {1} and script.nearest(text) == 1
    assert script.subject_rule(text) == 0  # only Ann begins a clause
    (other,) = script.gap([LINE.replace("she\t17", "him\t31")])
    assert script.subject_rule(other) == 1


BOOK = [
    "doc\tsent\ttokens\tmentions\n",
    "a\t0\tThe old master of the house , Tom , saw Ann .\t0-5:0 4-5:1 7-7:0 10-10:2\n",
    "a\t1\tShe did n't see him ; he left .\t0-0:2 4-4:0 6-6:0\n",
    "b\t0\tHe left .\t0-0:0\n",
]


def test_pronouns_of_litbank_have_the_earlier_names_and_nouns(script: ModuleType) -> None:
    texts = list(script.litbank(BOOK))
    whole = "The old master of the house, Tom, saw Ann. She didn't see him; he left."
    assert {text.text for text in texts} == {whole}
    assert [whole[slice(*text.pronoun)] for text in texts] == ["She", "him", "he"]
    names = ["The old master of the house", "the house", "Tom", "Ann"]
    assert all([whole[slice(*span)] for span in text.candidates] == names for text in texts)
    assert [text.gold for text in texts] == [{3}, {0, 2}, {0, 2}]
    heads = [whole[slice(*script.head_word(whole, span))] for span in texts[0].candidates]
    assert heads == ["master", "house", "Tom", "Ann"]
    assert [script.nearest(text) for text in texts] == [3, 3, 3]
    assert [script.subject_rule(text) for text in texts] == [2, 3, 2]  # "Tom" follows a comma; "him" is no subject


def test_halves_share_no_document(script: ModuleType) -> None:
    texts = [script.Text("", (0, 0), ((0, 0),), frozenset({0}), document) for document in "aabccd"]
    assert script.divide(texts) == ([0, 1, 3, 4], [2, 5])


def test_f1_counts_texts_without_an_antecedent(script: ModuleType) -> None:
    golds = [frozenset({0}), frozenset({0}), frozenset({1}), frozenset()]
    texts = [script.Text("", (0, 0), ((0, 0), (0, 0)), gold, str(index)) for index, gold in enumerate(golds)]
    # Two of three right, one answer too many: precision 2/4, recall 2/3.
    assert script.f1(np.array([0, 1, 1, 0]), texts) == pytest.approx(2 * (1 / 2) * (2 / 3) / (1 / 2 + 2 / 3))
    found = script.accuracy(np.array([0, 1, 1, 0]), texts)
    assert (found.value, found.count) == (pytest.approx(2 / 3), 3)


def test_each_head_answers_with_the_name_it_attends_to(script: ModuleType, model_of: Callable[[str], Any]) -> None:
    model = model_of("pre")
    (text,) = script.gap([LINE])
    ids, (pronoun, first, second) = script.encode(text, model.tokenizer)
    assert model.tokenizer.decode([[ids[at] for at in second]])[0].strip(" ,") == "Sue"
    answers = script.head_answers(model.network, model.tokenizer, [text])
    trace = model.look(text.text, target="a dog.").trace
    assert tuple(trace.source.ids) == tuple(ids)
    for head, answer in answers.items():
        row = np.asarray(trace[f"{head}.weight"])[pronoun].mean(axis=0)
        assert answer.tolist() == [int(row[second].sum() > row[first].sum())]
