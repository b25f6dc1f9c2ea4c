"""The stored word counts equal counts of the training sources."""

from collections import Counter
from pathlib import Path

import pytest

from regard.data.code_points import words
from regard.data.formats.corpus import corpora
from regard.data.prepare import text_store, word_counts
from regard.data.prepare.text_store import TextStore, build_text_store
from regard.data.prepare.word_counts import WordCounts, build_word_counts
from regard.progress import run_to_end
from regard.storage.manifest import find_damage

SOURCES = [f"Word{number % 7} the, {'the ' * (number % 5)}(été {number}) 今天" for number in range(200)]


def store(folder: Path, sources: list[str]) -> TextStore:
    train, valid = folder / "train.tsv", folder / "valid.tsv"
    train.write_text("".join(f"{source}\tother words\n" for source in sources), "utf-8")
    valid.write_text("unseen words\tunseen\n", "utf-8")
    return run_to_end(build_text_store(folder / "texts", corpora([train]), corpora([valid]), seed=1))


@pytest.mark.parametrize("pending", [1, 40, 1 << 20])
def test_stored_counts_equal_counts_of_the_training_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pending: int
) -> None:
    monkeypatch.setattr(text_store, "_PAIRS_AT_ONCE", 11)
    monkeypatch.setattr(word_counts, "_MIN_PENDING", pending)
    run_to_end(build_word_counts(tmp_path / "words", store(tmp_path, SOURCES)))
    counts = WordCounts(tmp_path / "words")
    expected = Counter(word for source in SOURCES for word in words(source))
    assert max(expected.values()) > 2 * len(SOURCES)
    assert {word: counts.count(word) for word in expected} == expected
    assert [counts.count(word) for word in ("other", "unseen", "The", "")] == [0, 0, 0, 0]
    assert counts.sources == len(SOURCES)


def test_a_training_text_without_words_has_no_counts(tmp_path: Path) -> None:
    run_to_end(build_word_counts(tmp_path / "words", store(tmp_path, ["?", "!", "…"])))
    assert WordCounts(tmp_path / "words").count("a") == 0


def test_counts_are_made_again_only_if_they_are_damaged_or_the_texts_have_changed(tmp_path: Path) -> None:
    folder = tmp_path / "words"

    def build(sources: list[str]) -> int:
        """Return the number of blocks that were counted."""
        return sum(1 for _ in build_word_counts(folder, store(tmp_path, sources)))

    assert (build(SOURCES), build(SOURCES)) == (1, 0)
    (folder / "table").write_bytes(b"")
    assert build(SOURCES) == 1
    assert find_damage(folder) is None
    assert build(["the end", *SOURCES]) == 1
    assert WordCounts(folder).count("end") == 1
