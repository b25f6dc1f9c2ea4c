"""Every sentence is in one group of each breakdown; frequencies are those of the training text if it was counted."""

import shutil
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.formats.corpus import corpora
from regard.data.prepare.text_store import build_text_store
from regard.data.prepare.word_counts import build_word_counts
from regard.evaluation.breakdown import NO_WORDS, by_length, by_rarity, word_frequencies
from regard.progress import run_to_end


@given(st.lists(st.text(alphabet="ab 今.'", max_size=120), max_size=30))
def test_every_sentence_is_in_one_group(sources: list[str]) -> None:
    own, _ = word_frequencies(sources, None)
    for groups in (by_length(sources), by_rarity(sources, own)):
        assert sorted(index for indices in groups.values() for index in indices) == list(range(len(sources)))
        assert all(groups.values())


def test_lengths_are_counted_in_words() -> None:
    sources = ["", "one two three four five.", "one two three four five six", "a " * 20, "a " * 40, "a " * 41]
    assert by_length(sources) == {"0 to 5": [0, 1], "6 to 10": [2], "11 to 20": [3], "21 to 40": [4], "over 40": [5]}


def test_in_scripts_without_spaces_letters_are_counted() -> None:
    assert by_length(["今天天气很好。"]) == {"6 to 10": [0]}


def test_sentences_are_grouped_by_their_rarest_word() -> None:
    frequencies = Counter({"the": 5000, "cat": 100, "sat": 10, "on": 9, "mat": 1})
    sources = ["The cat!", "the", "the cat sat", "ON the cat", "the mat sat", "the dog", "?!"]
    assert by_rarity(sources, frequencies) == {
        "0": [5],
        "1": [4],
        "2 to 9": [3],
        "10 to 99": [2],
        "100 to 999": [0],
        "over 999": [1],
        NO_WORDS: [6],
    }


def test_without_word_counts_words_are_counted_in_the_sources(tmp_path: Path) -> None:
    sources = ["A cat.", "a dog", "A"]
    own = Counter({"a": 3, "cat": 1, "dog": 1})
    assert word_frequencies(sources, None) == (own, "these sources")
    assert word_frequencies(sources, tmp_path) == (
        own,
        f"these sources ({tmp_path} has no word counts of its training text)",
    )


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model folder that has only its word counts; the training text was deleted, so it cannot be read."""
    sides = [tmp_path / "train.en", tmp_path / "train.fr"]
    for side in sides:
        side.write_text("a cat\nA dog, a cat\nthe end\n", "utf-8")
    valid = tmp_path / "valid.tsv"
    valid.write_text("cat\tcat\n", "utf-8")
    texts = run_to_end(build_text_store(tmp_path / "run" / "texts", corpora(sides), corpora([valid]), seed=1))
    run_to_end(build_word_counts(tmp_path / "run" / "word_counts", texts))
    shutil.rmtree(tmp_path / "run" / "texts")
    return tmp_path


def test_frequencies_are_those_of_the_training_text(model: Path) -> None:
    frequencies, counted_in = word_frequencies(["Cat a a", "mouse"], model)
    assert frequencies == {"a": 3, "cat": 2, "mouse": 0}
    assert counted_in == "the 3 training sources"


def test_damaged_word_counts_are_ignored(model: Path) -> None:
    (model / "run" / "word_counts" / "table").write_bytes(bytes(16))
    assert word_frequencies(["cat"], model)[0] == Counter({"cat": 1})
    shutil.rmtree(model / "run")
    (model / "run").write_text("not a folder", "utf-8")
    assert word_frequencies(["cat"], model)[0] == Counter({"cat": 1})
