"""A step that does not fit in memory is cut: the gradient stays that of the whole, and the run remembers the cut."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from regard.data.batching.batches import Batch
from regard.errors import RunError
from regard.models.kinds.transformer import Transformer
from regard.settings.kinds.transformer import TransformerSettings
from regard.settings.train import TrainSettings
from regard.training import loss
from regard.training import step as step_module
from regard.training.out_of_memory import MicroBatchSplits, explain_out_of_memory, is_out_of_memory, split_batches
from regard.training.step import accumulate_gradients, gradient_with_retry

torch.set_num_threads(1)

SETTINGS = TrainSettings(dropout=0.0)


def make_model() -> Transformer:
    torch.manual_seed(1)
    return Transformer(
        TransformerSettings(
            vocab_size=24, width=16, heads=2, feedforward=24, encoder_layers=1, decoder_layers=1, norm="pre"
        )
    )


def make_batch(rows: int, seed: int = 1, *, weighed: bool = False) -> Batch:
    """Pairs of very different length, as padded ids."""
    numbers = np.random.default_rng(seed)
    sides = []
    for _ in range(2):
        lengths = numbers.integers(1, 9, rows)
        ids = numbers.integers(4, 24, (rows, lengths.max()))
        sides.append(np.where(np.arange(lengths.max()) < lengths[:, None], ids, 0))
    weights = numbers.integers(1, 4, sides[1].shape).astype(np.float32) if weighed else None
    return Batch(sides[0], sides[1], int((sides[1] != 0).sum()), weights)


def gradients(model: Transformer) -> dict[str, Tensor]:
    return {name: parameter.grad.clone() for name, parameter in model.named_parameters() if parameter.grad is not None}


# Cutting


@pytest.mark.parametrize("parts", [1, 2, 3, 8, 100])
def test_every_pair_is_in_exactly_one_part_without_needless_padding(parts: int) -> None:
    whole = [make_batch(7), make_batch(2, seed=2)]
    found = split_batches(whole, parts)
    assert len(found) == min(parts, 7) + min(parts, 2)
    pairs = [(row[row != 0].tolist(), other[other != 0].tolist()) for batch in whole for row, other in rows(batch)]
    assert [
        (row[row != 0].tolist(), other[other != 0].tolist()) for batch in found for row, other in rows(batch)
    ] == pairs
    assert sum(batch.target_tokens for batch in found) == sum(batch.target_tokens for batch in whole)
    if parts > 1:
        assert all(
            (batch.source_BS != 0).any(axis=0).all() and (batch.target_BT != 0).any(axis=0).all() for batch in found
        )


def rows(batch: Batch) -> list[tuple[np.ndarray, np.ndarray]]:
    return list(zip(batch.source_BS, batch.target_BT, strict=True))


@pytest.mark.parametrize("parts", [2, 3, 7])
def test_the_gradient_of_the_parts_is_that_of_the_whole(parts: int) -> None:
    model, batches = make_model(), [make_batch(7), make_batch(5, seed=2, weighed=True)]
    total, tokens = accumulate_gradients([model], batches, SETTINGS, 1)
    wanted = gradients(model)
    found, counted = accumulate_gradients([model], split_batches(batches, parts), SETTINGS, 1)
    assert found == pytest.approx(total, rel=1e-6)
    assert counted == tokens
    for name, tensor in gradients(model).items():
        assert (tensor - wanted[name]).abs().max() <= 1e-6, name


# Running out


OUT = [
    RuntimeError("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried"),
    RuntimeError("MPS backend out of memory"),
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB"),
    MemoryError(),
]


@pytest.mark.parametrize("error", OUT, ids=str)
def test_out_of_memory_is_recognised_whoever_says_it(error: Exception) -> None:
    assert is_out_of_memory(error)


def test_torch_says_it_so() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 50)
    assert is_out_of_memory(caught.value)


@pytest.mark.parametrize("error", [RuntimeError("shapes do not match"), ValueError("out of memory")], ids=str)
def test_other_errors_are_left_alone(error: Exception) -> None:
    assert not is_out_of_memory(error)
    with pytest.raises(type(error)), explain_out_of_memory():
        raise error


@pytest.mark.parametrize("error", OUT, ids=str)
@pytest.mark.parametrize("most", [1, 2, 3, 4])
def test_cut_until_it_fits_it_gives_the_gradient_of_the_whole(
    monkeypatch: pytest.MonkeyPatch, error: Exception, most: int
) -> None:
    """What a failed attempt had added before it failed is gone."""
    model, batches = make_model(), [make_batch(7), make_batch(5, seed=2)]
    total, _ = accumulate_gradients([model], batches, SETTINGS, 1)
    wanted = gradients(model)
    original = loss.backward_in_chunks

    def add_gradient(model: Transformer, source_BS: Tensor, *rest: Any, **options: Any) -> float:
        found = original(model, source_BS, *rest, **options)
        if len(source_BS) > most:
            raise error
        return found

    monkeypatch.setattr(step_module, "backward_in_chunks", add_gradient)
    found, _, parts = gradient_with_retry([model], batches, SETTINGS, 1, 1)
    assert parts == {1: 8, 2: 4, 3: 4, 4: 2}[most]
    assert found == pytest.approx(total, rel=1e-6)
    for name, tensor in gradients(model).items():
        assert (tensor - wanted[name]).abs().max() <= 1e-6, name


def test_another_error_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def add_gradient(*_: Any, **__: Any) -> float:
        raise RuntimeError("shapes do not match")

    monkeypatch.setattr(step_module, "backward_in_chunks", add_gradient)
    with pytest.raises(RuntimeError, match="shapes do not match"):
        gradient_with_retry([make_model()], [make_batch(3)], SETTINGS, 1, 1)


# The record


def test_the_record_comes_back(tmp_path: Path) -> None:
    splits = MicroBatchSplits(tmp_path / "splits.json")
    assert [splits.parts(step) for step in (1, 100)] == [1, 1]
    splits.record(7, 2)
    splits.record(9, 8)
    for each in (splits, MicroBatchSplits(tmp_path / "splits.json")):
        assert [each.parts(step) for step in (6, 7, 8, 9, 100)] == [1, 2, 2, 8, 8]
        assert each.until(8) == [(7, 2)]


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"since": [[7, 2]], "sha256": "0"}'])
def test_a_record_that_was_changed_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "splits.json"
    path.write_text(content)
    with pytest.raises(RunError) as caught:
        MicroBatchSplits(path)
    assert str(caught.value).startswith(str(path))
    assert str(caught.value).endswith("; restore it from a copy, or start a new run in another --out")
