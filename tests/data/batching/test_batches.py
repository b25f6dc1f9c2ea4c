"""Batches have every pair once per epoch, fit the budget, and continue the same stream from any position."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from regard.data.batching import batches as module
from regard.data.batching.batches import Batch, StreamPosition, batches, sequential_batches
from regard.data.prepare.token_store import EncodedPairs
from regard.tokenizers.special_ids import EOS, PAD


def make_pairs(folder: Path, count: int, max_length: int = 40, seed: int = 1) -> EncodedPairs:
    """Write pairs of random length on both sides; the first id of each side tells the index of the pair."""
    folder.mkdir()
    random = np.random.default_rng(seed)
    source = random.integers(2, max_length, count)
    target = np.maximum(2, source + random.integers(-5, 6, count))
    for side, lengths in (("source", source), ("target", target)):
        starts = np.concatenate([[0], np.cumsum(lengths)])
        ids = random.integers(4, 1000, starts[-1]).astype(np.uint16)
        ids[starts[:-1]] = 1000 + np.arange(count)
        ids[starts[1:] - 1] = EOS
        ids.tofile(folder / f"{side}.values")
        starts.astype(np.int64).tofile(folder / f"{side}.starts")
    np.stack([np.zeros(count, np.int64), np.arange(count)], axis=1).tofile(folder / "lines")
    return EncodedPairs(folder, "uint16")


@pytest.fixture
def pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EncodedPairs:
    monkeypatch.setattr(module, "POOL", 300)
    return make_pairs(tmp_path / "pairs", 1000)


def epoch(pairs: EncodedPairs, number: int = 0, tokens: int = 256, seed: int = 1) -> list[Batch]:
    yielded = []
    for batch, position in batches(pairs, tokens=tokens, seed=seed, position=StreamPosition(number)):
        yielded.append(batch)
        if position.epoch > number:
            return yielded
    raise AssertionError


def members(some_batches: list[Batch]) -> list[int]:
    """Return the indices of the pairs in these batches."""
    return [int(number) - 1000 for batch in some_batches for number in batch.source.values[:, 0]]


def equal(one: Batch, other: Batch) -> bool:
    return np.array_equal(one.source.values, other.source.values) and np.array_equal(
        one.target.values, other.target.values
    )


def test_every_pair_comes_once_per_epoch(pairs: EncodedPairs) -> None:
    for number in range(3):
        assert sorted(members(epoch(pairs, number))) == list(range(1000))


def test_orders_differ_between_epochs_and_seeds(pairs: EncodedPairs) -> None:
    first = members(epoch(pairs))
    assert first == members(epoch(pairs))
    assert first != members(epoch(pairs, 1))
    assert first != members(epoch(pairs, seed=2))


def test_batches_have_the_ids_of_their_pairs(pairs: EncodedPairs) -> None:
    for batch in epoch(pairs):
        assert batch.source.values.dtype == batch.target.values.dtype == np.int64
        token_count = 0
        for source, target in zip(batch.source.values, batch.target.values, strict=True):
            index = int(source[0]) - 1000
            for row, expected in ((source, pairs.source[index]), (target, pairs.target[index])):
                assert row[: len(expected)].tolist() == expected.tolist()
                assert (row[len(expected) :] == PAD).all()
                assert expected[-1] == EOS
            token_count += len(pairs.target[index])
        assert batch.target_tokens == token_count
        assert (batch.source.values != PAD).any(axis=0).all()
        assert (batch.target.values != PAD).any(axis=0).all()


@pytest.mark.parametrize("tokens", [1, 60, 256, 100_000])
def test_padded_batches_fit_the_budget(pairs: EncodedPairs, tokens: int) -> None:
    for batch in epoch(pairs, tokens=tokens):
        rows = len(batch.source.values)
        assert rows == 1 or rows * max(batch.source.values.shape[1], batch.target.values.shape[1]) <= tokens


def test_batches_nearly_fill_the_budget(pairs: EncodedPairs) -> None:
    sizes = [
        len(batch.source.values) * max(batch.source.values.shape[1], batch.target.values.shape[1])
        for batch in epoch(pairs)
    ]
    assert np.mean(sizes) > 0.8 * 256


def test_batches_have_little_padding(tmp_path: Path) -> None:
    yielded = epoch(make_pairs(tmp_path / "pairs", 20_000), tokens=4096)
    cells = sum(batch.source.values.size + batch.target.values.size for batch in yielded)
    tokens = sum(int((side != PAD).sum()) for batch in yielded for side in (batch.source.values, batch.target.values))
    assert cells / tokens < 1.06


def test_any_position_continues_the_stream(pairs: EncodedPairs) -> None:
    stream = list(islice(batches(pairs, tokens=256, seed=1), 2 * len(epoch(pairs)) + 5))
    positions = [StreamPosition(), *(position for _, position in stream)]
    assert len(set(positions)) == len(positions)
    assert {position.pool for position in positions} == {0, 1, 2, 3}
    for number, position in enumerate(positions[:-3]):
        resumed = list(islice(batches(pairs, tokens=256, seed=1, position=position), 3))
        for (batch, after), (expected, expected_after) in zip(resumed, stream[number:], strict=False):
            assert after == expected_after
            assert equal(batch, expected)


@pytest.mark.parametrize(
    ("position", "message"),
    [(StreamPosition(0, 4), "an epoch has 4 pools"), (StreamPosition(0, 0, 999), r"the pool has \d+ batches")],
)
def test_a_position_of_other_data_is_refused(pairs: EncodedPairs, position: StreamPosition, message: str) -> None:
    with pytest.raises(ValueError, match=f"is not in this data: {message}"):
        next(batches(pairs, tokens=256, seed=1, position=position))


def test_pools_have_equal_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POOL", 300)
    pairs = make_pairs(tmp_path / "pairs", 301)
    counts = {0: 0, 1: 0}
    before = StreamPosition()
    for batch, after in batches(pairs, tokens=256, seed=1):
        counts[before.pool] += len(batch.source.values)
        before = after
        if after.epoch:
            break
    assert sorted(counts.values()) == [150, 151]


def test_a_single_pair_is_enough(tmp_path: Path) -> None:
    pairs = make_pairs(tmp_path / "pairs", 1)
    stream = list(islice(batches(pairs, tokens=256, seed=1), 3))
    assert [position for _, position in stream] == [StreamPosition(1), StreamPosition(2), StreamPosition(3)]
    assert len(list(sequential_batches(pairs, tokens=1))) == 1


def test_sequential_batches_have_every_pair_once_and_are_always_the_same(pairs: EncodedPairs) -> None:
    first, repeated = list(sequential_batches(pairs, tokens=256)), list(sequential_batches(pairs, tokens=256))
    assert sorted(members(first)) == list(range(1000))
    assert all(equal(one, other) for one, other in zip(first, repeated, strict=True))
