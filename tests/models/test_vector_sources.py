"""A source of vectors instead of token ids: stored, padded, shortened by a front end, encoded and trained on."""

from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.models.forward_passes import small_transformer
from tests.padded import padded

from regard.data.batching.batches import Batch
from regard.data.prepare.ragged import Padded, Ragged, RaggedWriter
from regard.models.frontends import StridedProjection
from regard.models.inputs import Inputs
from regard.models.kinds.transformer import Transformer
from regard.settings.train import TrainSettings
from regard.training.loss import backward_in_chunks
from regard.training.objectives import inputs_on
from regard.training.optimizers.adam import make_optimizer

FEATURES, LENGTHS = 5, [7, 2, 4, 7]
RANDOM = np.random.default_rng(1)
SEQUENCES = [RANDOM.normal(size=(length, FEATURES)).astype(np.float32) for length in LENGTHS]


@pytest.fixture
def store(tmp_path: Path) -> Ragged:
    """The sequences in a store on disk."""
    with ExitStack() as stack:
        writer = RaggedWriter(tmp_path, "source", "float32", stack)
        writer.write(SEQUENCES[:1])
        writer.write([])
        writer.write(SEQUENCES[1:])
    return Ragged.open(tmp_path, "source", "float32", features=FEATURES)


def make_model(stride: int) -> Transformer:
    torch.manual_seed(3)
    settings = small_transformer()
    return Transformer(settings, front_end=StridedProjection(FEATURES, settings.width, stride)).eval()


def encode(model: Transformer, sources: Padded) -> torch.Tensor:
    with torch.inference_mode():
        return model.encode(Inputs.from_lengths(torch.from_numpy(sources.values), sources.lengths)).hidden_BSD


def test_a_store_of_vectors_returns_what_was_written(store: Ragged) -> None:
    assert len(store) == len(SEQUENCES)
    for index, sequence in enumerate(SEQUENCES):
        assert np.array_equal(store[index], sequence)
    indices = np.array([2, 0])
    assert store.lengths(indices).tolist() == [4, 7]
    batch = store.gather(indices)
    assert batch.values.shape == (2, 7, FEATURES) and batch.values.dtype == np.float32
    assert np.array_equal(batch.values[0, :4], SEQUENCES[2]) and not batch.values[0, 4:].any()
    assert np.array_equal(batch.rows(np.array([0])).values, SEQUENCES[2][None])


@pytest.mark.parametrize(("stride", "length"), [(1, 7), (2, 4), (3, 3)])
def test_a_padded_source_of_vectors_is_encoded_as_alone(store: Ragged, stride: int, length: int) -> None:
    model = make_model(stride)
    together = encode(model, store.gather(np.arange(4)))
    assert together.shape == (4, length, 16)
    for index, size in enumerate(LENGTHS):
        alone = encode(model, store.gather(np.array([index])))
        assert alone.shape[1] == -(-size // stride)
        torch.testing.assert_close(together[index, : alone.shape[1]], alone[0], atol=1e-5, rtol=1e-5)


def test_values_of_padding_have_no_effect(store: Ragged) -> None:
    model, sources = make_model(2), store.gather(np.arange(4))
    expected = encode(model, sources)
    values = sources.values.copy()
    for row, length in enumerate(LENGTHS):
        values[row, length:] = 9.0
    found = encode(model, Padded(values, sources.lengths))
    for row, length in enumerate(LENGTHS):
        real = -(-length // 2)
        torch.testing.assert_close(found[row, :real], expected[row, :real])


def test_a_model_learns_from_vectors(store: Ragged) -> None:
    """The front end gets a gradient, and the loss of a memorised batch falls."""
    model = make_model(2).train()
    batch = Batch(store.gather(np.arange(4)), padded([[5, 6, 3], [7, 3, 0], [8, 9, 3], [9, 5, 3]]))
    optimizer = make_optimizer(model, TrainSettings())
    for group in optimizer.param_groups:
        group["lr"] = 0.003
    losses = []
    for _ in range(30):
        model.zero_grad()
        losses.append(backward_in_chunks(model, batch, label_smoothing=0.0, tokens=batch.target_tokens))
        optimizer.step()
    assert all(parameter.grad is not None and parameter.grad.any() for parameter in model.parameters())
    assert losses[-1] < losses[0] / 4


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_stored_vectors_of_any_precision_become_float32(tmp_path: Path, dtype: str) -> None:
    with ExitStack() as stack:
        RaggedWriter(tmp_path, "source", dtype, stack).write(SEQUENCES)
    sources = Ragged.open(tmp_path, "source", dtype, features=FEATURES).gather(np.arange(4))
    assert sources.values.dtype == dtype
    inputs = inputs_on(sources, torch.device("cpu"))
    assert inputs.values.dtype == torch.float32
    assert inputs.lengths.tolist() == LENGTHS
    model = make_model(2)
    expected = encode(model, Padded(sources.values.astype(np.float32), sources.lengths))
    with torch.inference_mode():
        assert torch.equal(model.encode(inputs).hidden_BSD, expected)
    targets = padded([[5, 6, 3], [7, 3, 0], [8, 9, 3], [9, 5, 3]])
    assert backward_in_chunks(model, Batch(sources, targets), label_smoothing=0.0, tokens=10) > 0
