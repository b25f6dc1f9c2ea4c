"""Twos: found by line and likeness, kept in one batch, once per epoch, and weighed where their targets part."""

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


def write_shard(folder: Path, pairs: list[tuple[Text, Text]], lines: list[tuple[int, int]]) -> EncodedPairs:
    folder.mkdir()
    for side, texts in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
        ended = [[*text, EOS] for text in texts]
        np.array(list(chain.from_iterable(ended)), dtype=np.uint16).tofile(folder / f"{side}.ids")
        np.cumsum([0, *map(len, ended)], dtype=np.int64).tofile(folder / f"{side}.starts")
    np.array(lines, dtype=np.int64).tofile(folder / "lines")
    return EncodedPairs(folder, "uint16")


def two_by_two(folder: Path, sources: list[Text], lines: list[tuple[int, int]]) -> list[int]:
    shard = write_shard(folder, [(source, [9]) for source in sources], lines)
    return [int(other) for other in second_members(shard, np.arange(len(shard)))]


TIRED, WIDE = [10, 11, 12, 13, 14], [10, 11, 12, 13, 15, 16]


def test_a_two_is_an_odd_line_and_the_next_that_differ_in_little(tmp_path: Path) -> None:
    assert two_by_two(tmp_path / "a", [TIRED, WIDE, TIRED, WIDE], [(0, 1), (0, 2), (0, 3), (0, 4)]) == [
        1,
        NONE,
        3,
        NONE,
    ]


@pytest.mark.parametrize(
    ("sources", "lines"),
    [
        ([TIRED, WIDE], [(0, 2), (0, 3)]),  # lines 2 and 3
        ([TIRED, WIDE], [(0, 1), (0, 4)]),  # the line between was left out
        ([TIRED, WIDE], [(0, 1), (1, 2)]),  # of two corpora
        ([TIRED, TIRED], [(0, 1), (0, 2)]),  # the same
        ([TIRED, [10, 21, 22, 23, 24]], [(0, 1), (0, 2)]),  # the beginning and the end alone are shared
        ([TIRED], [(0, 1)]),  # the last line
        ([[10, 9], [11, 9]], [(0, 1), (0, 2)]),  # half, and the end mark, which all share
    ],
)
def test_others_are_none(tmp_path: Path, sources: list[Text], lines: list[tuple[int, int]]) -> None:
    assert two_by_two(tmp_path / "shard", sources, lines) == [NONE] * len(sources)


def test_there_may_be_a_two_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minimal_pairs, "_BLOCK", 3)
    pairs = [([100 * line, line], [9]) for line in range(1, 11)]
    lines = [(0, line) for line in range(1, 11)]
    assert not has_minimal_pairs(write_shard(tmp_path / "none", pairs, lines))
    pairs[-2:] = [(TIRED, [9]), (WIDE, [9])]
    assert has_minimal_pairs(write_shard(tmp_path / "last", pairs, lines))


def test_one_text_may_go_on_where_the_other_ends(tmp_path: Path) -> None:
    assert two_by_two(tmp_path / "shard", [TIRED, [*TIRED, 20]], [(0, 1), (0, 2)]) == [1, NONE]


def test_the_first_piece_that_differs_counts_for_both() -> None:
    target = np.array([[5, 6, 7, EOS], [5, 8, 9, EOS], [5, 6, EOS, PAD]])
    weights = minimal_pair_weights(target, np.array([True, False, False]), 10.0)
    assert weights.tolist() == [[1, 10, 1, 1], [1, 10, 1, 1], [1, 1, 1, 1]]


@pytest.fixture
def shard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EncodedPairs:
    """Lines 1 to 1,000: every second two is one, the others have nothing to do with each other."""
    monkeypatch.setattr(module, "WINDOW", 300)
    random = np.random.default_rng(1)
    pairs = []
    for number in range(500):
        middle = random.integers(2000, 3000, random.integers(4, 20)).tolist()
        for other in (0, 1):
            middle = random.integers(2000, 3000, len(middle)).tolist() if number % 2 else middle
            pairs.append(([1000 + 2 * number, *middle, 4 + other], [7, 100 + other, *middle]))
    # The first piece of a source is the number of its two; the last says which of the two it is.
    return write_shard(tmp_path / "shard", pairs, [(0, line) for line in range(1, 1001)])


def members(batch: Batch) -> list[int]:
    ends = (batch.source_BS != PAD).sum(axis=1)
    return [int(row[0]) - 1000 + int(row[end - 2]) - 4 for row, end in zip(batch.source_BS, ends, strict=True)]


def epoch(shard: EncodedPairs, tokens: int) -> list[Batch]:
    kept = []
    for batch, position in batches(shard, tokens=tokens, seed=1, minimal_pair_weight=5.0):
        kept.append(batch)
        if position.epoch:
            return kept
    raise AssertionError


@pytest.mark.parametrize("tokens", [64, 256, 5000])
def test_every_pair_comes_once_and_every_two_in_one_batch(shard: EncodedPairs, tokens: int) -> None:
    found = epoch(shard, tokens)
    assert sorted(chain.from_iterable(map(members, found))) == list(range(1000))
    for batch in found:
        together = members(batch)
        for place, index in enumerate(together):
            if index % 4 == 0:
                assert together[place + 1] == index + 1
        rows, width = batch.target_BT.shape
        assert rows <= 2 or rows * max(width, batch.source_BS.shape[1]) <= tokens


def test_only_twos_are_weighed_and_only_where_they_part(shard: EncodedPairs) -> None:
    for batch in epoch(shard, 256):
        twos = np.array([index % 4 < 2 for index in members(batch)])
        weights = np.ones(batch.target_BT.shape) if batch.weight_BT is None else batch.weight_BT
        assert (weights[twos, 1] == 5).all()
        assert weights.sum() == batch.target_BT.size + 4 * twos.sum()


def test_without_contrast_nothing_is_weighed(shard: EncodedPairs) -> None:
    assert all(batch.weight_BT is None for batch, _ in islice(batches(shard, tokens=256, seed=1), 50))


def test_any_position_continues_the_stream(shard: EncodedPairs) -> None:
    stream = list(islice(batches(shard, tokens=256, seed=1, minimal_pair_weight=5.0), 150))
    for number in (0, 7, 60, 149):
        _, position = stream[number - 1] if number else (None, module.StreamPosition())
        batch, after = next(batches(shard, tokens=256, seed=1, position=position, minimal_pair_weight=5.0))
        expected, expected_after = stream[number]
        for one in ("source_BS", "target_BT", "weight_BT"):
            assert np.array_equal(getattr(batch, one), getattr(expected, one))
        assert after == expected_after


def test_drawn_by_weight_a_two_comes_whole_and_something_always_comes(tmp_path: Path) -> None:
    shard = write_shard(tmp_path / "shard", [(TIRED, [7, 8]), (WIDE, [7, 9])], [(0, 1), (0, 2)])
    for batch, _ in islice(batches(shard, tokens=64, seed=1, weights=[0.5], minimal_pair_weight=2.0), 20):
        assert batch.target_BT.tolist() == [[7, 8, EOS], [7, 9, EOS]]
        assert batch.weight_BT is not None and batch.weight_BT.tolist() == [[1, 2, 1], [1, 2, 1]]
