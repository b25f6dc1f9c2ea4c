"""The curves of BLEU rest on tokens that become the text again, and a table of the last scores before each time."""

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.vocabulary import train_tokenizer

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Return a function that imports a module of bench/, as a script there does."""
    monkeypatch.setattr(sys, "path", [str(BENCH), *sys.path])
    return importlib.import_module


def test_tokens_written_for_another_system_become_the_text_again(
    module: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    script = module("bleu_over_time")
    texts = {"train.en": ["a cat sat on a mat", "the dog sat, too", "\u732b \U0001f408"]}
    script.write_tokenized(tmp_path, texts, train_tokenizer(iter(texts["train.en"]), kind="unigram", vocab_size=300))
    tokenizer = SentencePieceTokenizer.load(tmp_path / "tokenizer.model")
    tokens = (tmp_path / "tokens" / "train.en").read_text("utf-8").splitlines()
    raw = (tmp_path / "train.en").read_text("utf-8").splitlines()
    assert script.detokenize(tokenizer, tokens) == raw == texts["train.en"]


def test_the_table_has_the_last_score_before_each_quarter(module: Callable[[str], ModuleType]) -> None:
    record = {"minutes": 40, "curve": [[9.0, 1.0], [11.0, 2.0], [20.1, 3.0], [39.0, 5.0], [40.3, 4.0]]}
    assert module("pages.bleu_over_time").bleu_at_fractions(record) == [1.0, 3.0, 3.0, 4.0]


@pytest.mark.parametrize(
    "contents",
    [
        {"format": 1, "model": {"longest": 64, "vocabulary": 300, "width": 8}},
        {
            "format": 2,
            "kind": "transformer",
            "model": {"max_positions": 64, "source_vocab_size": 300, "target_vocab_size": 300, "width": 8},
        },
    ],
    ids=lambda contents: f"format {contents['format']}",
)
def test_the_shape_of_a_model_folder_of_any_format_has_todays_names(
    module: Callable[[str], ModuleType], tmp_path: Path, contents: dict[str, Any]
) -> None:
    (tmp_path / "settings.json").write_text(json.dumps(contents), "utf-8")
    shape = module("systems.model_weights").read_shape(tmp_path)
    assert shape == {
        "kind": "transformer",
        "max_positions": 64,
        "source_vocab_size": 300,
        "target_vocab_size": 300,
        "width": 8,
    }
