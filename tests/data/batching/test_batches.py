"""Batches: every pair once per epoch, within the budget, and the same stream from any position."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from regard.data.batching import batches as module
from regard.data.batching.batches import Batch, StreamPosition, batches, sequential_batches
from regard.data.prepare.token_store import EncodedPairs
from regard.tokenizers.special_ids import EOS, PAD


def make_shard(folder: Path, pairs: int, longest: int = 40, seed: int = 1) -> EncodedPairs:
    """Pairs of random length on both sides; the first id of a side is its own number."""
    folder.mkdir()
    random = np.random.default_rng(seed)
    source = random.integers(2, longest, pairs)
    target = np.maximum(2, source + random.integers(-5, 6, pairs))
    for side, lengths in (("source", source), ("target", target)):
        starts = np.concatenate([[0], np.cumsum(lengths)])
        ids = random.integers(4, 1000, starts[-1]).astype(np.uint16)
        ids[starts[:-1]] = 1000 + np.arange(pairs)
        ids[starts[1:] - 1] = EOS
        ids.tofile(folder / f"{side}.ids")
        starts.astype(np.int64).tofile(folder / f"{side}.starts")
    np.stack([np.zeros(pairs, np.int64), np.arange(pairs)], axis=1).tofile(folder / "lines")
    return EncodedPairs(folder, "uint16")


@pytest.fixture
def shard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EncodedPairs:
    monkeypatch.setattr(module, "WINDOW", 300)
    return make_shard(tmp_path / "shard", 1000)


def epoch(shard: EncodedPairs, number: int = 0, tokens: int = 256, seed: int = 1) -> list[Batch]:
    found = []
    for batch, position in batches(shard, tokens=tokens, seed=seed, position=StreamPosition(number)):
        found.append(batch)
        if position.epoch > number:
            return found
    raise AssertionError


def members(found: list[Batch]) -> list[int]:
    return [int(number) - 1000 for batch in found for number in batch.source_BS[:, 0]]


def same(one: Batch, other: Batch) -> bool:
    return np.array_equal(one.source_BS, other.source_BS) and np.array_equal(one.target_BT, other.target_BT)


def test_every_pair_comes_once_per_epoch(shard: EncodedPairs) -> None:
    for number in range(3):
        assert sorted(members(epoch(shard, number))) == list(range(1000))


def test_orders_differ_between_epochs_and_seeds(shard: EncodedPairs) -> None:
    first = members(epoch(shard))
    assert first == members(epoch(shard))
    assert first != members(epoch(shard, 1))
    assert first != members(epoch(shard, seed=2))


def test_batches_hold_what_the_shard_holds(shard: EncodedPairs) -> None:
    for batch in epoch(shard):
        assert batch.source_BS.dtype == batch.target_BT.dtype == np.int64
        real = 0
        for source, target in zip(batch.source_BS, batch.target_BT, strict=True):
            index = int(source[0]) - 1000
            for row, expected in ((source, shard.source(index)), (target, shard.target(index))):
                assert row[: len(expected)].tolist() == expected.tolist()
                assert (row[len(expected) :] == PAD).all()
                assert expected[-1] == EOS
            real += len(shard.target(index))
        assert batch.target_tokens == real
        assert (batch.source_BS != PAD).any(axis=0).all()
        assert (batch.target_BT != PAD).any(axis=0).all()


@pytest.mark.parametrize("tokens", [1, 60, 256, 100_000])
def test_padded_batches_fit_the_budget(shard: EncodedPairs, tokens: int) -> None:
    for batch in epoch(shard, tokens=tokens):
        rows = len(batch.source_BS)
        assert rows == 1 or rows * max(batch.source_BS.shape[1], batch.target_BT.shape[1]) <= tokens


def test_budgets_are_used(shard: EncodedPairs) -> None:
    sizes = [len(batch.source_BS) * max(batch.source_BS.shape[1], batch.target_BT.shape[1]) for batch in epoch(shard)]
    assert np.mean(sizes) > 0.8 * 256


def test_little_is_padding(tmp_path: Path) -> None:
    found = epoch(make_shard(tmp_path / "shard", 20_000), tokens=4096)
    cells = sum(batch.source_BS.size + batch.target_BT.size for batch in found)
    real = sum(int((side != PAD).sum()) for batch in found for side in (batch.source_BS, batch.target_BT))
    assert cells / real < 1.06


def test_any_position_continues_the_stream(shard: EncodedPairs) -> None:
    stream = list(islice(batches(shard, tokens=256, seed=1), 2 * len(epoch(shard)) + 5))
    positions = [StreamPosition(), *(position for _, position in stream)]
    assert len(set(positions)) == len(positions)
    assert {position.window for position in positions} == {0, 1, 2, 3}
    for number, position in enumerate(positions[:-3]):
        again = list(islice(batches(shard, tokens=256, seed=1, position=position), 3))
        for (batch, after), (expected, expected_after) in zip(again, stream[number:], strict=False):
            assert after == expected_after
            assert same(batch, expected)


@pytest.mark.parametrize(
    ("position", "message"),
    [(StreamPosition(0, 4), "an epoch has 4 windows"), (StreamPosition(0, 0, 999), r"the window has \d+ batches")],
)
def test_a_position_of_other_data_is_refused(shard: EncodedPairs, position: StreamPosition, message: str) -> None:
    with pytest.raises(ValueError, match=f"is not in this data: {message}"):
        next(batches(shard, tokens=256, seed=1, position=position))


def test_windows_are_of_equal_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WINDOW", 300)
    shard = make_shard(tmp_path / "shard", 301)
    counts = {0: 0, 1: 0}
    before = StreamPosition()
    for batch, after in batches(shard, tokens=256, seed=1):
        counts[before.window] += len(batch.source_BS)
        before = after
        if after.epoch:
            break
    assert sorted(counts.values()) == [150, 151]


def test_one_pair_is_enough(tmp_path: Path) -> None:
    shard = make_shard(tmp_path / "shard", 1)
    stream = list(islice(batches(shard, tokens=256, seed=1), 3))
    assert [position for _, position in stream] == [StreamPosition(1), StreamPosition(2), StreamPosition(3)]
    assert len(list(sequential_batches(shard, tokens=1))) == 1


def test_validation_sees_every_pair_once_in_the_same_batches(shard: EncodedPairs) -> None:
    one, other = list(sequential_batches(shard, tokens=256)), list(sequential_batches(shard, tokens=256))
    assert sorted(members(one)) == list(range(1000))
    assert all(same(first, second) for first, second in zip(one, other, strict=True))
