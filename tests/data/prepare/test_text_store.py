"""The text store has all texts unchanged, and validation pairs that are not in the training data."""

import math
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from regard.data.formats import pairs, records
from regard.data.formats.corpus import Corpus
from regard.data.prepare import holdout, text_store
from regard.data.prepare.text_store import TextPairs, TextStore, build_text_store, hash_inputs
from regard.errors import DataError
from regard.progress import Progress
from regard.storage import manifest

Write = Callable[[str, Sequence[tuple[str, str]]], Corpus]
PAIRS = [(f"source {number}", f"target  {number} ½") for number in range(100)]


Result = TypeVar("Result")


def finish(work: Generator[Progress, None, Result]) -> tuple[Result, list[Progress]]:
    """Run a stage to its end and return its result and its progress."""
    reports = []
    while True:
        try:
            reports.append(next(work))
        except StopIteration as end:
            return end.value, reports


def prepare(folder: Path, train: Sequence[Corpus], valid: Sequence[Corpus] = (), seed: int = 1) -> TextStore:
    return finish(build_text_store(folder, train, valid, seed=seed))[0]


def read(pairs: TextPairs) -> list[tuple[str, str]]:
    return [(pairs.source(index), pairs.target(index)) for index in range(len(pairs))]


def test_all_texts_are_stored_unchanged(tmp_path: Path, corpus: Write) -> None:
    awkward = [(" a\u2028\rb", "\0"), ("", "é\u0085"), ("\x0b", "  "), ("last", "")]
    texts = prepare(tmp_path / "texts", [corpus("a", PAIRS), corpus("b", awkward)], [corpus("v", PAIRS[:2])])
    assert read(texts.train) == PAIRS + awkward
    assert read(texts.valid) == PAIRS[:2]
    assert texts.train.texts("target", 98, 102) == [target for _, target in [*PAIRS[98:], *awkward[:2]]]


def test_every_text_has_its_file_and_line(tmp_path: Path, corpus: Write) -> None:
    texts = prepare(tmp_path / "texts", [corpus("a", PAIRS), corpus("b", PAIRS)], [corpus("v", PAIRS[:2])])
    assert texts.train.origin(99) == ("a.en", 100)
    assert texts.train.origin(100, "target") == ("b.fr", 1)
    assert texts.valid.origin(1) == ("v.en", 2)
    assert texts.train.lines(99, 101).tolist() == [[0, 100], [1, 1]]


def test_an_index_out_of_range_is_refused(tmp_path: Path, corpus: Write) -> None:
    texts = prepare(tmp_path / "texts", [corpus("a", PAIRS)], [corpus("v", PAIRS[:2])])
    with pytest.raises(IndexError, match="pairs 2 to 3 of 2"):
        texts.valid.source(2)
    with pytest.raises(IndexError, match="pairs -1 to 0 of 2"):
        texts.valid.source(-1)


def test_words_are_counted(tmp_path: Path, corpus: Write) -> None:
    texts = prepare(tmp_path / "texts", [corpus("a", PAIRS)], [corpus("v", PAIRS[:2])])
    assert texts.info["train"] == {"pairs": 100, "source_words": 200, "target_words": 300}
    assert texts.info["valid"] == {"pairs": 2, "source_words": 4, "target_words": 6}
    assert texts.words == 500


def test_without_validation_files_some_sources_are_held_out(tmp_path: Path, corpus: Write) -> None:
    pairs = [(f"source {number % 150}", f"target {number}") for number in range(400)]
    texts = prepare(tmp_path / "texts", [corpus("a", pairs)])
    train, valid = read(texts.train), read(texts.valid)
    assert texts.held_out
    assert sorted(train + valid) == sorted(pairs)
    assert not {source for source, _ in train} & {source for source, _ in valid}
    assert 18 <= len(valid) <= 20
    assert all(pairs[texts.valid.origin(index)[1] - 1] == pair for index, pair in enumerate(valid))


def test_held_out_pairs_depend_only_on_the_seed(tmp_path: Path, corpus: Write) -> None:
    first, repeated, other_seed = (
        read(prepare(tmp_path / f"{number}", [corpus("a", PAIRS)], seed=seed).valid)
        for number, seed in enumerate((1, 1, 2))
    )
    assert first == repeated != other_seed


def test_at_most_a_thousand_pairs_are_held_out(tmp_path: Path, corpus: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holdout, "_MAX_HELD_OUT", 10)
    assert len(prepare(tmp_path / "texts", [corpus("a", PAIRS * 20)]).valid) == 20  # every source has 20 pairs
    assert len(prepare(tmp_path / "other", [corpus("b", [(f"{n}", "x") for n in range(2000)])]).valid) == 10


@pytest.mark.parametrize("frequent", [1, 2, 30])
def test_two_sources_are_enough(tmp_path: Path, corpus: Write, frequent: int) -> None:
    texts = prepare(tmp_path / "texts", [corpus("a", [("a", "x")] * frequent + [("b", "y"), ("", ""), (" ", "z")])])
    assert {source for source, _ in read(texts.valid)} < {"a", "b"}
    assert {source for source, _ in read(texts.train)} & {"a", "b"}


@pytest.mark.parametrize(
    ("pairs", "problem"), [([("a", "x"), ("a", "y"), ("b", " ")], "is only 1"), ([("", "x"), ("a", "")], "is none")]
)
def test_a_single_source_is_an_error(tmp_path: Path, corpus: Write, pairs: list[tuple[str, str]], problem: str) -> None:
    message = rf"at least 2 different source sentences, but there {problem}; add pairs, or give validation files"
    with pytest.raises(DataError, match=message):
        prepare(tmp_path / "texts", [corpus("a", pairs)])


def test_nothing_to_train_on_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is nothing to train on; give a source and a target file"):
        prepare(tmp_path / "texts", [])


def test_unchanged_inputs_are_not_read_again(tmp_path: Path, corpus: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    train = [corpus("a", PAIRS)]
    first = prepare(tmp_path / "texts", train)
    inode = (tmp_path / "texts").stat().st_ino
    assert read(prepare(tmp_path / "texts", train).valid) == read(first.valid)
    assert (tmp_path / "texts").stat().st_ino == inode


def test_changed_inputs_and_damage_are_detected(tmp_path: Path, corpus: Write) -> None:
    folder = tmp_path / "texts"
    prepare(folder, [corpus("a", PAIRS)])
    assert len(prepare(folder, [corpus("a", PAIRS[:50])]).train) == 48
    (folder / "train" / "source.txt").write_bytes(b"x")
    assert len(prepare(folder, [corpus("a", PAIRS[:50])]).train) == 48
    assert manifest.find_damage(folder) is None


def test_an_error_leaves_no_folder_behind(tmp_path: Path, corpus: Write) -> None:
    good, bad = corpus("a", PAIRS), corpus("b", PAIRS)
    bad.paths[1].write_bytes(b"x\n" + b"\xff\n" * 99)
    with pytest.raises(DataError, match=r"b\.fr:2: byte 1"):
        prepare(tmp_path / "texts", [good, bad], [good])
    assert not (tmp_path / "texts").exists()
    assert len(prepare(tmp_path / "texts", [good], [good]).train) == 100


def test_progress_rises_up_to_the_size_of_the_files(
    tmp_path: Path, corpus: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairs, "_REPORT_EVERY", 10)
    train = [corpus("a", PAIRS), corpus("b", PAIRS)]
    _, reports = finish(build_text_store(tmp_path / "texts", train, [], seed=1))
    stages = list(dict.fromkeys(report.stage for report in reports))
    assert stages == ["hashing", "choosing validation pairs", "reading train texts"]
    total = sum(path.stat().st_size for each in train for path in each.paths)
    for stage in stages:
        done = [report.done for report in reports if report.stage == stage]
        assert done == sorted(done)
        assert done[-1] <= total == reports[0].total


def test_input_files_are_hashed_in_order(tmp_path: Path, corpus: Write) -> None:
    one = corpus("a", PAIRS)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.en").write_bytes(b"different\n")
    other = Corpus((tmp_path / "other" / "a.en", one.paths[1]))
    [first, second], _ = finish(hash_inputs([one, other]))
    assert [file["name"] for file in first + second] == ["a.en", "a.fr", "a.en", "a.fr"]
    assert first[0]["sha256"] == manifest.sha256(one.paths[0]) != second[0]["sha256"]
    assert first[1] == second[1]
    assert finish(hash_inputs([other, one]))[0] == [second, first]


def test_sample_texts_are_limited_in_size_and_evenly_spaced(tmp_path: Path, corpus: Write) -> None:
    texts = prepare(tmp_path / "texts", [corpus("a", PAIRS)], [corpus("v", PAIRS[:2])])
    total = sum(len(f"{text}\n".encode()) for pair in PAIRS for text in pair)
    sample = list(texts.train.sample_texts(max_bytes=math.ceil(total / 20)))
    assert sample[::2] == [f"source {number}" for number in (0, 20, 40, 60, 80)]
    assert sorted(texts.train.sample_texts()) == sorted(text for pair in PAIRS for text in pair)


def test_blocks_are_limited_in_pairs_and_bytes(tmp_path: Path, corpus: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_store, "_PAIRS_AT_ONCE", 7)
    monkeypatch.setattr(text_store, "_BYTES_AT_ONCE", 100)
    pairs = [("a", "b")] * 20 + [("c" * 500, "d")] * 2 + [("e" * 30, "f" * 30)] * 5
    texts = prepare(tmp_path / "texts", [corpus("a", pairs)], [corpus("v", PAIRS[:2])])
    blocks = list(texts.train.blocks())
    assert [index for start, stop in blocks for index in range(start, stop)] == list(range(len(pairs)))
    assert all(stop - start <= 7 for start, stop in blocks)
    for start, stop in blocks:
        size = sum(len(text) + 1 for side in records.SIDES for text in texts.train.texts(side, start, stop))
        assert size <= 100 or stop - start == 1


def test_choosing_other_languages_of_a_tmx_file_rebuilds_the_store(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    texts = "".join(f'<tuv xml:lang="{code}"><seg>{code}</seg></tuv>' for code in ("en", "fr"))
    path.write_text(f'<tmx version="1.4"><header srclang="en"/><body><tu>{texts}</tu></body></tmx>', "utf-8")
    for wanted in (("en", "fr"), ("fr", "en"), None):
        corpus = Corpus((path,), languages=wanted)
        assert read(prepare(tmp_path / "texts", [corpus], [corpus]).train) == [wanted or ("en", "fr")]


def test_info_has_inputs_and_counts(tmp_path: Path, corpus: Write) -> None:
    info: dict[str, Any] = prepare(tmp_path / "texts", [corpus("a", PAIRS)]).info
    assert set(info) == {"format", "inputs", "languages", "seed", "train", "valid"}
    assert [file["name"] for file in info["inputs"]["train"][0]] == ["a.en", "a.fr"]
