"""Token ids on disk: they decode to the texts, and no pair is left out silently."""

from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from regard.data.formats.corpus import Corpus
from regard.data.prepare.text_store import TextStore, build_text_store
from regard.data.prepare.token_store import EncodedCorpus, build_token_store
from regard.errors import DataError
from regard.progress import Progress
from regard.storage import json_files, manifest
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import EOS
from regard.tokenizers.vocabulary import train_tokenizer

Write = Callable[[str, Sequence[tuple[str, str]]], Corpus]
Result = TypeVar("Result")
PAIRS = [(f"the source {number}", f"die  Zahl {number} ½") for number in range(50)]
TOKENIZER = SentencePieceTokenizer(
    train_tokenizer(iter(text for pair in PAIRS for text in pair), kind="bpe", vocab_size=300)
)


def finish(work: Generator[Progress, None, Result]) -> tuple[Result, list[Progress]]:
    """Run a stage to its end and return its result and its progress."""
    reports = []
    while True:
        try:
            reports.append(next(work))
        except StopIteration as end:
            return end.value, reports


@pytest.fixture
def texts(tmp_path: Path, corpus: Write) -> TextStore:
    return finish(build_text_store(tmp_path / "texts", [corpus("a", PAIRS)], [corpus("v", PAIRS[:3])], seed=1))[0]


def prepare(folder: Path, texts: TextStore, max_positions: int = 100) -> EncodedCorpus:
    return finish(build_token_store(folder, texts, TOKENIZER, max_positions=max_positions))[0]


def test_ids_decode_to_the_texts_and_end_in_eos(tmp_path: Path, texts: TextStore) -> None:
    corpus_ids = prepare(tmp_path / "ids", texts)
    assert len(corpus_ids.train) == 50
    assert len(corpus_ids.valid) == 3
    for index, (source, target) in enumerate(PAIRS):
        for ids, text in ((corpus_ids.train.source[index], source), (corpus_ids.train.target[index], target)):
            assert ids.dtype == np.uint16
            assert ids[-1] == EOS
            assert TOKENIZER.decode([ids[:-1].tolist()]) == [text]
    assert corpus_ids.dropped == {}


def test_lengths_of_several_pairs_at_once(tmp_path: Path, texts: TextStore) -> None:
    train = prepare(tmp_path / "ids", texts).train
    indices = np.array([3, 49, 0, 3])
    assert train.source.lengths(indices).tolist() == [len(train.source[index]) for index in indices]
    assert train.target.lengths(indices).tolist() == [len(train.target[index]) for index in indices]


def test_a_large_vocabulary_uses_32_bit_ids(tmp_path: Path, texts: TextStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SentencePieceTokenizer, "embedding_rows", 65_544)
    assert prepare(tmp_path / "ids", texts).train.source[0].dtype == np.uint32


def test_dropped_pairs_are_counted_and_listed(tmp_path: Path, corpus: Write) -> None:
    pairs = [
        ("good", "gut"),
        ("", "x"),
        ("y", " \u00a0"),
        ("x " * 40, "kurz"),
        ("good", "x " * 40),
        ("", ""),
        ("b", "c"),
    ]
    train = [corpus("a", [("fine", "fein")]), corpus("b", pairs)]
    texts, _ = finish(build_text_store(tmp_path / "texts", train, [corpus("v", [("v", ""), ("v", "v")])], seed=1))
    corpus_ids = prepare(tmp_path / "ids", texts, max_positions=30)
    assert corpus_ids.dropped == {"source empty": 2, "target empty": 2, "source too long": 1, "target too long": 1}
    assert (tmp_path / "ids" / "dropped.tsv").read_text("utf-8").splitlines() == [
        "file\tline\treason",
        "b.en\t2\tsource empty",
        "b.fr\t3\ttarget empty",
        "b.en\t4\tsource too long",
        "b.fr\t5\ttarget too long",
        "b.en\t6\tsource empty",
        "v.fr\t1\ttarget empty",
    ]
    assert corpus_ids.train.lines.tolist() == [[0, 1], [1, 1], [1, 7]]
    assert len(corpus_ids.valid) == 1


def test_eos_counts_towards_max_positions(tmp_path: Path, texts: TextStore) -> None:
    lengths = [max(len(source), len(target)) + 1 for source, target in (TOKENIZER.encode(pair) for pair in PAIRS)]
    for max_positions in (min(lengths), max(lengths) - 1, max(lengths)):
        corpus_ids = prepare(tmp_path / "ids", texts, max_positions=max_positions)
        assert len(corpus_ids.train) == sum(length <= max_positions for length in lengths)
        all_indices = np.arange(len(corpus_ids.train))
        sides = corpus_ids.train.source.lengths(all_indices), corpus_ids.train.target.lengths(all_indices)
        assert max(side.max() for side in sides) <= max_positions


def test_a_split_without_pairs_is_an_error(tmp_path: Path, corpus: Write) -> None:
    good, bad = corpus("a", PAIRS), corpus("b", [("", "x"), ("word " * 100, "y")])
    for train, valid, name in (([bad], [good], "training"), ([good], [bad], "validation")):
        texts, _ = finish(build_text_store(tmp_path / "texts", train, valid, seed=1))
        message = rf"no {name} pairs are left \(source empty: 1, source too long: 1\); .*more than 40 tokens with --set"
        with pytest.raises(DataError, match=message):
            prepare(tmp_path / "ids", texts, max_positions=40)
        assert not (tmp_path / "ids").exists()


def test_an_unchanged_store_is_reused(tmp_path: Path, texts: TextStore) -> None:
    folder = tmp_path / "ids"
    _, first = finish(build_token_store(folder, texts, TOKENIZER, max_positions=100))
    assert first[-1] == Progress("encoding", 53, 53)
    assert finish(build_token_store(folder, texts, TOKENIZER, max_positions=100))[1] == []
    assert finish(build_token_store(folder, texts, TOKENIZER, max_positions=99))[1] != []
    (folder / "train" / "source.values").write_bytes(b"")
    assert finish(build_token_store(folder, texts, TOKENIZER, max_positions=99))[1] != []
    assert manifest.find_damage(folder) is None


def test_the_store_does_not_depend_on_the_block_size(
    tmp_path: Path, texts: TextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(tmp_path / "one", texts)
    monkeypatch.setattr("regard.data.prepare.text_store._PAIRS_AT_ONCE", 7)
    prepare(tmp_path / "many", texts)
    one, many = (json_files.read_json(tmp_path / name / "manifest.json") for name in ("one", "many"))
    assert one == many


def test_some_training_pairs_get_placeholders_and_the_seed_decides_which(tmp_path: Path, texts: TextStore) -> None:
    sample = iter(text for pair in PAIRS for text in pair)
    tokenizer = SentencePieceTokenizer(train_tokenizer(sample, kind="bpe", vocab_size=300, placeholders=4))
    first = tokenizer.size - 4

    def changed(name: str, mask_seed: int | None) -> list[int]:
        store = finish(build_token_store(tmp_path / name, texts, tokenizer, max_positions=100, mask_seed=mask_seed))[0]
        assert all(max(store.valid.source[index]) < first for index in range(len(store.valid)))
        found = []
        for index in range(len(store.train)):
            pair = store.train.source[index], store.train.target[index]
            sides = [sorted(ids[ids >= first].tolist()) for ids in pair]
            assert sides[0] == sides[1]
            found += [index] if sides[0] else []
        return found

    assert changed("none", None) == []
    one = changed("one", 1)
    assert 10 < len(one) < 40
    assert changed("again", 1) == one != changed("two", 2)
