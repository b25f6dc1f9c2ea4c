"""Minimal pairs are found by line and similarity, stay in one batch, and get a loss weight where they differ."""

from itertools import chain, islice
from pathlib import Path

import numpy as np
import pytest

from regard.data.batching import batches as module
from regard.data.batching import minimal_pairs
from regard.data.batching.batches import Batch, batches
from regard.data.batching.minimal_pairs import NONE, has_minimal_pairs, minimal_pair_weights, second_members
from regard.data.prepare.token_store import EncodedPairs
from regard.tokenizers.special_ids import EOS, PAD

Text = list[int]


def write_pairs(folder: Path, pairs: list[tuple[Text, Text]], lines: list[tuple[int, int]]) -> EncodedPairs:
    folder.mkdir()
    for side, texts in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
        with_eos = [[*text, EOS] for text in texts]
        np.array(list(chain.from_iterable(with_eos)), dtype=np.uint16).tofile(folder / f"{side}.values")
        np.cumsum([0, *map(len, with_eos)], dtype=np.int64).tofile(folder / f"{side}.starts")
    np.array(lines, dtype=np.int64).tofile(folder / "lines")
    return EncodedPairs(folder, "uint16")


def find_second_members(folder: Path, sources: list[Text], lines: list[tuple[int, int]]) -> list[int]:
    pairs = write_pairs(folder, [(source, [9]) for source in sources], lines)
    return [int(second) for second in second_members(pairs, np.arange(len(pairs)))]


TIRED, WIDE = [10, 11, 12, 13, 14], [10, 11, 12, 13, 15, 16]


def test_a_minimal_pair_is_an_odd_line_and_the_next_line_with_a_similar_source(tmp_path: Path) -> None:
    assert find_second_members(tmp_path / "a", [TIRED, WIDE, TIRED, WIDE], [(0, 1), (0, 2), (0, 3), (0, 4)]) == [
        1,
        NONE,
        3,
        NONE,
    ]


@pytest.mark.parametrize(
    ("sources", "lines"),
    [
        ([TIRED, WIDE], [(0, 2), (0, 3)]),  # lines 2 and 3
        ([TIRED, WIDE], [(0, 1), (0, 4)]),  # the line between them was left out
        ([TIRED, WIDE], [(0, 1), (1, 2)]),  # from two corpora
        ([TIRED, TIRED], [(0, 1), (0, 2)]),  # equal
        ([TIRED, [10, 21, 22, 23, 24]], [(0, 1), (0, 2)]),  # only the first token is shared
        ([TIRED], [(0, 1)]),  # the last line
        ([[10, 9], [11, 9]], [(0, 1), (0, 2)]),  # only half is shared; EOS does not count
    ],
)
def test_other_lines_are_not_minimal_pairs(tmp_path: Path, sources: list[Text], lines: list[tuple[int, int]]) -> None:
    assert find_second_members(tmp_path / "pairs", sources, lines) == [NONE] * len(sources)


def test_a_minimal_pair_is_found_in_any_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minimal_pairs, "_BLOCK", 3)
    pairs = [([100 * line, line], [9]) for line in range(1, 11)]
    lines = [(0, line) for line in range(1, 11)]
    assert not has_minimal_pairs(write_pairs(tmp_path / "none", pairs, lines))
    pairs[-2:] = [(TIRED, [9]), (WIDE, [9])]
    assert has_minimal_pairs(write_pairs(tmp_path / "last", pairs, lines))


def test_a_source_may_be_a_prefix_of_the_other(tmp_path: Path) -> None:
    assert find_second_members(tmp_path / "pairs", [TIRED, [*TIRED, 20]], [(0, 1), (0, 2)]) == [1, NONE]


def test_the_first_different_token_of_both_members_gets_the_weight() -> None:
    target = np.array([[5, 6, 7, EOS], [5, 8, 9, EOS], [5, 6, EOS, PAD]])
    weights = minimal_pair_weights(target, np.array([True, False, False]), 10.0)
    assert weights.tolist() == [[1, 10, 1, 1], [1, 10, 1, 1], [1, 1, 1, 1]]


@pytest.fixture
def encoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EncodedPairs:
    """Lines 1 to 1,000: every second couple of lines is a minimal pair, the others are unrelated."""
    monkeypatch.setattr(module, "POOL", 300)
    random = np.random.default_rng(1)
    pairs = []
    for number in range(500):
        middle = random.integers(2000, 3000, random.integers(4, 20)).tolist()
        for member in (0, 1):
            middle = random.integers(2000, 3000, len(middle)).tolist() if number % 2 else middle
            pairs.append(([1000 + 2 * number, *middle, 4 + member], [7, 100 + member, *middle]))
    # The first token of a source tells the couple of lines, the last which of the two lines it is.
    return write_pairs(tmp_path / "pairs", pairs, [(0, line) for line in range(1, 1001)])


def members(batch: Batch) -> list[int]:
    """Return the indices of the pairs of a batch."""
    ends = (batch.source.values != PAD).sum(axis=1)
    return [int(row[0]) - 1000 + int(row[end - 2]) - 4 for row, end in zip(batch.source.values, ends, strict=True)]


def epoch(encoded: EncodedPairs, tokens: int) -> list[Batch]:
    yielded = []
    for batch, position in batches(encoded, tokens=tokens, seed=1, minimal_pair_weight=5.0):
        yielded.append(batch)
        if position.epoch:
            return yielded
    raise AssertionError


@pytest.mark.parametrize("tokens", [64, 256, 5000])
def test_every_pair_comes_once_and_minimal_pairs_stay_in_one_batch(encoded: EncodedPairs, tokens: int) -> None:
    yielded = epoch(encoded, tokens)
    assert sorted(chain.from_iterable(map(members, yielded))) == list(range(1000))
    for batch in yielded:
        indices = members(batch)
        for row, index in enumerate(indices):
            if index % 4 == 0:
                assert indices[row + 1] == index + 1
        rows, width = batch.target.values.shape
        assert rows <= 2 or rows * max(width, batch.source.values.shape[1]) <= tokens


def test_only_minimal_pairs_are_weighted_and_only_where_they_differ(encoded: EncodedPairs) -> None:
    for batch in epoch(encoded, 256):
        in_minimal_pair = np.array([index % 4 < 2 for index in members(batch)])
        weights = np.ones(batch.target.values.shape) if batch.weight_BT is None else batch.weight_BT
        assert (weights[in_minimal_pair, 1] == 5).all()
        assert weights.sum() == batch.target.values.size + 4 * in_minimal_pair.sum()


def test_without_a_minimal_pair_weight_there_are_no_loss_weights(encoded: EncodedPairs) -> None:
    assert all(batch.weight_BT is None for batch, _ in islice(batches(encoded, tokens=256, seed=1), 50))


def test_any_position_continues_the_stream(encoded: EncodedPairs) -> None:
    stream = list(islice(batches(encoded, tokens=256, seed=1, minimal_pair_weight=5.0), 150))
    for number in (0, 7, 60, 149):
        _, position = stream[number - 1] if number else (None, module.StreamPosition())
        batch, after = next(batches(encoded, tokens=256, seed=1, position=position, minimal_pair_weight=5.0))
        expected, expected_after = stream[number]
        assert np.array_equal(batch.source.values, expected.source.values)
        assert np.array_equal(batch.target.values, expected.target.values)
        assert np.array_equal(batch.weight_BT, expected.weight_BT)  # type: ignore[arg-type]
        assert after == expected_after


def test_with_corpus_weights_minimal_pairs_stay_complete_and_no_batch_is_empty(tmp_path: Path) -> None:
    encoded = write_pairs(tmp_path / "pairs", [(TIRED, [7, 8]), (WIDE, [7, 9])], [(0, 1), (0, 2)])
    for batch, _ in islice(batches(encoded, tokens=64, seed=1, weights=[0.5], minimal_pair_weight=2.0), 20):
        assert batch.target.values.tolist() == [[7, 8, EOS], [7, 9, EOS]]
        assert batch.weight_BT is not None and batch.weight_BT.tolist() == [[1, 2, 1], [1, 2, 1]]
