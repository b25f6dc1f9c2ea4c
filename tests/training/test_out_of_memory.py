"""A step that does not fit in memory is cut into slices: the gradient stays the same, and the run records it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.padded import batch as padded_batch
from torch import Tensor

from regard.data.batching.batches import Batch
from regard.errors import RunError
from regard.models.kinds.transformer import Transformer
from regard.settings.kinds.transformer import TransformerSettings
from regard.settings.train import TrainSettings
from regard.training import loss
from regard.training import step as step_module
from regard.training.out_of_memory import MicroBatchSlices, explain_out_of_memory, is_out_of_memory, slice_batches
from regard.training.step import accumulate_gradients, gradient_with_retry

torch.set_num_threads(1)

SETTINGS = TrainSettings(dropout=0.0)


def make_model() -> Transformer:
    torch.manual_seed(1)
    return Transformer(
        TransformerSettings(
            source_vocab_size=24,
            target_vocab_size=24,
            width=16,
            heads=2,
            feedforward=24,
            encoder_layers=1,
            decoder_layers=1,
            norm="pre",
        )
    )


def make_batch(rows: int, seed: int = 1, *, weighted: bool = False) -> Batch:
    """Return random pairs of very different lengths as padded ids."""
    generator = np.random.default_rng(seed)
    sides: list[np.ndarray] = []
    for _ in range(2):
        lengths = generator.integers(1, 9, rows)
        ids = generator.integers(4, 24, (rows, lengths.max()))
        sides.append(np.where(np.arange(lengths.max()) < lengths[:, None], ids, 0))
    weights = generator.integers(1, 4, sides[1].shape).astype(np.float32) if weighted else None
    return padded_batch(sides[0], sides[1], weights)


def gradients(model: Transformer) -> dict[str, Tensor]:
    return {name: parameter.grad.clone() for name, parameter in model.named_parameters() if parameter.grad is not None}


# Slicing


@pytest.mark.parametrize("slices", [1, 2, 3, 8, 100])
def test_every_pair_is_in_exactly_one_slice_without_needless_padding(slices: int) -> None:
    batches = [make_batch(7), make_batch(2, seed=2)]
    sliced = slice_batches(batches, slices)
    assert len(sliced) == min(slices, 7) + min(slices, 2)
    assert unpadded_pairs(sliced) == unpadded_pairs(batches)
    assert sum(batch.target_tokens for batch in sliced) == sum(batch.target_tokens for batch in batches)
    if slices > 1:
        assert all(
            (batch.source.values != 0).any(axis=0).all() and (batch.target.values != 0).any(axis=0).all()
            for batch in sliced
        )


def unpadded_pairs(batches: list[Batch]) -> list[tuple[list[int], list[int]]]:
    return [
        (source[source != 0].tolist(), target[target != 0].tolist())
        for batch in batches
        for source, target in zip(batch.source.values, batch.target.values, strict=True)
    ]


@pytest.mark.parametrize("slices", [2, 3, 7])
def test_slicing_does_not_change_the_gradient(slices: int) -> None:
    model, batches = make_model(), [make_batch(7), make_batch(5, seed=2, weighted=True)]
    total, tokens = accumulate_gradients([model], batches, SETTINGS, 1)
    expected = gradients(model)
    loss_sum, counted = accumulate_gradients([model], slice_batches(batches, slices), SETTINGS, 1)
    assert loss_sum == pytest.approx(total, rel=1e-6)
    assert counted == tokens
    for name, tensor in gradients(model).items():
        assert (tensor - expected[name]).abs().max() <= 1e-6, name


# Running out of memory


OUT_OF_MEMORY = [
    RuntimeError("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried"),
    RuntimeError("MPS backend out of memory"),
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB"),
    MemoryError(),
]


@pytest.mark.parametrize("error", OUT_OF_MEMORY, ids=str)
def test_every_kind_of_out_of_memory_error_is_recognised(error: Exception) -> None:
    assert is_out_of_memory(error)


def test_an_out_of_memory_error_of_torch_is_recognised() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 50)
    assert is_out_of_memory(caught.value)


@pytest.mark.parametrize("error", [RuntimeError("shapes do not match"), ValueError("out of memory")], ids=str)
def test_other_errors_are_raised_unchanged(error: Exception) -> None:
    assert not is_out_of_memory(error)
    with pytest.raises(type(error)), explain_out_of_memory():
        raise error


@pytest.mark.parametrize("error", OUT_OF_MEMORY, ids=str)
@pytest.mark.parametrize("max_rows", [1, 2, 3, 4])
def test_slicing_until_it_fits_does_not_change_the_gradient(
    monkeypatch: pytest.MonkeyPatch, error: Exception, max_rows: int
) -> None:
    """Gradients that a failed attempt had accumulated are dropped."""
    model, batches = make_model(), [make_batch(7), make_batch(5, seed=2)]
    total, _ = accumulate_gradients([model], batches, SETTINGS, 1)
    expected = gradients(model)
    original = loss.backward_in_chunks

    def backward(model: Transformer, batch: Batch, **options: Any) -> float:
        loss_sum = original(model, batch, **options)
        if len(batch) > max_rows:
            raise error
        return loss_sum

    monkeypatch.setattr(step_module, "backward_in_chunks", backward)
    loss_sum, _, slices = gradient_with_retry([model], batches, SETTINGS, 1, 1)
    assert slices == {1: 8, 2: 4, 3: 4, 4: 2}[max_rows]
    assert loss_sum == pytest.approx(total, rel=1e-6)
    for name, tensor in gradients(model).items():
        assert (tensor - expected[name]).abs().max() <= 1e-6, name


def test_a_step_is_not_repeated_after_another_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def backward(*_: Any, **__: Any) -> float:
        raise RuntimeError("shapes do not match")

    monkeypatch.setattr(step_module, "backward_in_chunks", backward)
    with pytest.raises(RuntimeError, match="shapes do not match"):
        gradient_with_retry([make_model()], [make_batch(3)], SETTINGS, 1, 1)


# The record


def test_the_record_is_read_back(tmp_path: Path) -> None:
    slices = MicroBatchSlices(tmp_path / "slices.json")
    assert [slices.at(step) for step in (1, 100)] == [1, 1]
    slices.record(7, 2)
    slices.record(9, 8)
    for each in (slices, MicroBatchSlices(tmp_path / "slices.json")):
        assert [each.at(step) for step in (6, 7, 8, 9, 100)] == [1, 2, 2, 8, 8]
        assert each.until(8) == [(7, 2)]


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"since": [[7, 2]], "sha256": "0"}'])
def test_a_changed_record_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "slices.json"
    path.write_text(content)
    with pytest.raises(RunError) as caught:
        MicroBatchSlices(path)
    assert str(caught.value).startswith(str(path))
    assert str(caught.value).endswith("; restore it from a copy, or start a new run in another --out")
