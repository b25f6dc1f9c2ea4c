"""What the page of curves rests on: pieces become text again, and a table says what was known at its minutes."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.vocabulary import train_tokenizer

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def curve(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(BENCH), *sys.path])  # as Python does for the script itself
    return importlib.import_module("curve")


def test_pieces_cut_for_a_peer_become_the_text_again(curve: ModuleType, tmp_path: Path) -> None:
    texts = {"train.en": ["a cat sat on a mat", "the dog sat, too", "\u732b \U0001f408"]}
    curve.cut(tmp_path, texts, train_tokenizer(iter(texts["train.en"]), kind="unigram", vocab_size=300))
    tokenizer = SentencePieceTokenizer.load(tmp_path / "tokenizer.model")
    pieces = (tmp_path / "pieces" / "train.en").read_text("utf-8").splitlines()
    assert (
        curve._text(tokenizer, pieces) == (tmp_path / "train.en").read_text("utf-8").splitlines() == texts["train.en"]
    )


def test_the_table_has_the_last_look_before_each_quarter(curve: ModuleType) -> None:
    record = {"minutes": 40, "curve": [[9.0, 1.0], [11.0, 2.0], [20.1, 3.0], [39.0, 5.0], [40.3, 4.0]]}
    assert curve.at(record) == [1.0, 3.0, 3.0, 4.0]
