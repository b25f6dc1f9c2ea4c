"""The loss equals torch's, summed over real tokens; chunks and micro-batches do not change its gradient."""

import itertools
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from tests.padded import batch as padded_batch
from tests.padded import inputs
from torch import Tensor

from regard.data.batching.batches import Batch
from regard.models.kinds.transformer import Transformer
from regard.settings.kinds.transformer import TransformerSettings
from regard.settings.train import TrainSettings
from regard.tokenizers.special_ids import BOS, EOS, PAD
from regard.training import loss
from regard.training.loss import backward_in_chunks, loss_only, summed_loss
from regard.training.step import accumulate_gradients, validation_loss

torch.set_num_threads(1)

VOCABULARY = 24
PLAIN = TrainSettings(dropout=0.0)


def make_model(dropout: float = 0.0) -> Transformer:
    torch.manual_seed(7)
    shape = TransformerSettings(
        source_vocab_size=VOCABULARY,
        target_vocab_size=VOCABULARY,
        width=16,
        heads=2,
        feedforward=24,
        encoder_layers=1,
        decoder_layers=2,
        norm="pre",
    )
    return Transformer(shape, dropout)


def pairs(count: int, seed: int = 1) -> list[tuple[list[int], list[int]]]:
    """Return random pairs of very different lengths, so that a wrong mean would be noticed."""
    generator = random.Random(seed)

    def text() -> list[int]:
        return [generator.randrange(4, VOCABULARY) for _ in range(generator.randint(1, 9))] + [EOS]

    return [(text(), text()) for _ in range(count)]


def padded(rows: list[list[int]], extra: int = 0) -> np.ndarray:
    width = max(map(len, rows)) + extra
    return np.array([row + [PAD] * (width - len(row)) for row in rows], dtype=np.int64)


def make_batch(chosen: list[tuple[list[int], list[int]]], extra: int = 0) -> Batch:
    targets = [target for _, target in chosen]
    return padded_batch(padded([source for source, _ in chosen], extra), padded(targets, extra))


def gradients(model: Transformer) -> dict[str, Tensor]:
    return {name: parameter.grad.clone() for name, parameter in model.named_parameters() if parameter.grad is not None}


def assert_close(actual: dict[str, Tensor], expected: dict[str, Tensor], within: float = 1e-6) -> None:
    assert actual.keys() == expected.keys()
    for name, tensor in expected.items():
        assert (actual[name] - tensor).abs().max() <= within, name


def reference(model: Transformer, chosen: list[tuple[list[int], list[int]]], smoothing: float) -> tuple[float, dict]:
    """Return the summed loss and the gradient of its mean, computed by torch's loss on all logits at once."""
    model.zero_grad()
    batch = make_batch(chosen)
    target_BT = torch.from_numpy(batch.target.values)
    shifted_BT = torch.cat([torch.full_like(target_BT[:, :1], BOS), target_BT[:, :-1]], dim=1)
    logits_BTV = model.forward(inputs(torch.from_numpy(batch.source.values)), shifted_BT)
    total = F.cross_entropy(
        logits_BTV.flatten(0, 1), target_BT.flatten(), ignore_index=PAD, label_smoothing=smoothing, reduction="sum"
    )
    (total / batch.target_tokens).backward()
    return total.item(), gradients(model)


# One chunk of logits


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
def test_loss_and_gradient_equal_those_of_torch(smoothing: float) -> None:
    logits = 5 * torch.randn(40, VOCABULARY, dtype=torch.double)
    target = torch.randint(VOCABULARY, (40,))
    torch_logits = logits.clone().requires_grad_()
    total, gradient = summed_loss(logits, target, smoothing, gradient_divisor=3)
    expected = F.cross_entropy(torch_logits, target, label_smoothing=smoothing, reduction="sum")
    (expected / 3).backward()
    assert total.item() == pytest.approx(expected.item(), abs=1e-10)
    assert torch_logits.grad is not None
    assert torch.allclose(gradient, torch_logits.grad, rtol=0, atol=1e-12)


def test_a_token_of_weight_two_counts_like_two_tokens() -> None:
    logits, target = 5 * torch.randn(3, VOCABULARY, dtype=torch.double), torch.tensor([1, 2, 3])
    twice = [0, 1, 1, 2]
    expected, repeated = summed_loss(logits[twice], target[twice], 0.1)
    total, weighted = summed_loss(logits, target, 0.1, torch.tensor([1.0, 2.0, 1.0]))
    assert total.item() == pytest.approx(expected.item(), abs=1e-10)
    added = torch.stack([repeated[0], repeated[1] + repeated[2], repeated[3]])
    assert torch.allclose(weighted, added, rtol=0, atol=1e-12)


def test_huge_logits_neither_overflow_nor_underflow() -> None:
    total, gradient = summed_loss(torch.tensor([[1e4, -1e4, 0.0]]), torch.tensor([1]), 0.0)
    assert total.item() == 2e4
    assert gradient.tolist() == [[1.0, -1.0, 0.0]]


def test_the_gradient_overwrites_the_logits() -> None:
    """A chunk takes memory once, not twice."""
    logits = torch.randn(4, VOCABULARY)
    _, gradient = summed_loss(logits, torch.tensor([1, 2, 3, 4]), 0.1)
    assert gradient.data_ptr() == logits.data_ptr()


# A micro-batch


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_a_batch_gives_the_gradient_of_the_mean_loss_per_real_token(smoothing: float) -> None:
    model, chosen = make_model(), pairs(6)
    total, expected = reference(model, chosen, smoothing)
    loss_sum, tokens = accumulate_gradients(
        [model], [make_batch(chosen)], TrainSettings(dropout=0.0, label_smoothing=smoothing), step=1
    )
    assert loss_sum == pytest.approx(total, rel=1e-6)
    assert tokens == sum(len(target) for _, target in chosen)
    assert_close(gradients(model), expected)


def test_padding_does_not_change_loss_or_gradient() -> None:
    model, chosen = make_model(), pairs(5)
    unpadded = accumulate_gradients([model], [make_batch(chosen)], PLAIN, 1)
    expected = gradients(model)
    padded_more = accumulate_gradients([model], [make_batch(chosen, extra=7)], PLAIN, 1)
    assert padded_more == pytest.approx(unpadded, rel=1e-6)
    assert_close(gradients(model), expected)


def test_loss_only_has_no_label_smoothing() -> None:
    model, chosen = make_model().eval(), pairs(6)
    total, _ = reference(model, chosen, 0.0)
    batch = make_batch(chosen, extra=2)
    with torch.inference_mode():
        assert loss_only(model, batch) == pytest.approx(total, rel=1e-6)
    assert validation_loss(model, iter([batch])) == pytest.approx(total / batch.target_tokens, rel=1e-6)


def test_the_validation_loss_is_a_mean_over_tokens_not_batches() -> None:
    model, chosen = make_model(), pairs(9)
    whole = validation_loss(model, iter([make_batch(chosen)]))
    divided = validation_loss(model, iter([make_batch(chosen[:1]), make_batch(chosen[1:3]), make_batch(chosen[3:])]))
    assert divided == pytest.approx(whole, rel=1e-6)


# Micro-batches


def divisions(count: int) -> list[list[int]]:
    """Return every way to divide `count` pairs into consecutive batches, as lists of sizes."""
    divided = []
    for flags in itertools.product([False, True], repeat=count - 1):
        sizes = [1]
        for flag in flags:
            if flag:
                sizes.append(1)
            else:
                sizes[-1] += 1
        divided.append(sizes)
    return divided


@pytest.mark.parametrize("sizes", divisions(5), ids=lambda sizes: "+".join(map(str, sizes)))
def test_any_division_into_micro_batches_gives_the_same_gradient(sizes: list[int]) -> None:
    model, chosen = make_model(), pairs(5)
    whole = accumulate_gradients([model], [make_batch(chosen)], PLAIN, 1)
    expected = gradients(model)
    ends = list(itertools.accumulate(sizes))
    micro_batches = [make_batch(chosen[end - size : end]) for end, size in zip(ends, sizes, strict=True)]
    loss_sum = accumulate_gradients([model], micro_batches, PLAIN, 1)
    assert loss_sum == pytest.approx(whole, rel=1e-6)
    assert_close(gradients(model), expected)


def test_the_mean_of_micro_batch_means_is_another_gradient() -> None:
    """This common mistake is far outside the tolerance above, so these tests would notice it."""
    model, chosen = make_model(), pairs(5)
    accumulate_gradients([model], [make_batch(chosen)], PLAIN, 1)
    expected = gradients(model)
    means = []
    for pair in chosen:
        accumulate_gradients([model], [make_batch([pair])], PLAIN, 1)
        means.append(gradients(model))
    wrong = {name: sum(each[name] for each in means) / len(means) for name in expected}
    assert max((wrong[name] - expected[name]).abs().max().item() for name in expected) > 1e-3


def test_accumulation_starts_from_zero_gradients() -> None:
    model, chosen = make_model(), pairs(3)
    accumulate_gradients([model], [make_batch(chosen)], PLAIN, 1)
    expected = gradients(model)
    accumulate_gradients([model], [make_batch(chosen)], PLAIN, 1)
    assert_close(gradients(model), expected, within=0.0)


def test_backward_in_chunks_adds_to_existing_gradients() -> None:
    model, batch = make_model(), make_batch(pairs(3))
    backward_in_chunks(model, batch, label_smoothing=0.1, tokens=10)
    once = gradients(model)
    backward_in_chunks(model, batch, label_smoothing=0.1, tokens=5)
    assert_close(gradients(model), {name: 3 * tensor for name, tensor in once.items()}, within=1e-5)


# Chunks


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 1000])
def test_any_chunk_size_gives_the_same_loss_and_gradient(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    model, batch = make_model(), make_batch(pairs(6))
    whole = accumulate_gradients([model], [batch], PLAIN, 1)
    expected = gradients(model)
    alone = loss_only(model, batch)
    monkeypatch.setattr(loss, "CHUNK_LOGITS", rows * VOCABULARY)
    assert accumulate_gradients([model], [batch], PLAIN, 1) == pytest.approx(whole, rel=1e-6)
    assert_close(gradients(model), expected)
    assert loss_only(model, batch) == pytest.approx(alone, rel=1e-6)


def test_no_more_logits_than_a_chunk_are_held_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model, chosen = make_model(), pairs(8)
    held = []
    project = model.project

    def record(hidden: Tensor) -> Tensor:
        logits = project(hidden)
        held.append(logits.numel())
        return logits

    monkeypatch.setattr(model, "project", record)
    monkeypatch.setattr(loss, "CHUNK_LOGITS", 5 * VOCABULARY + 1)
    accumulate_gradients([model], [make_batch(chosen)], PLAIN, 1)
    assert max(held) == 5 * VOCABULARY
    assert sum(held) == VOCABULARY * sum(len(target) for _, target in chosen)


def test_a_vocabulary_larger_than_a_chunk_is_processed_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loss, "CHUNK_LOGITS", 1)
    model, chosen = make_model(), pairs(2)
    total, expected = reference(model, chosen, 0.1)
    assert accumulate_gradients([model], [make_batch(chosen)], PLAIN, 1)[0] == pytest.approx(total, rel=1e-6)
    assert_close(gradients(model), expected)


# Randomness and precision


def test_dropout_depends_on_seed_step_and_micro_batch_only() -> None:
    model, micro_batches = make_model(dropout=0.3).train(), [make_batch(pairs(3)), make_batch(pairs(3))]
    settings = TrainSettings(dropout=0.3, seed=5)
    losses: dict[tuple[int, int], float] = {}
    for seed, step in [(5, 1), (5, 1), (5, 2), (6, 1)]:
        torch.rand(step)  # the global generator does not matter
        loss_sum, _ = accumulate_gradients([model], micro_batches, TrainSettings(dropout=0.3, seed=seed), step)
        assert losses.setdefault((seed, step), loss_sum) == loss_sum
    assert len(set(losses.values())) == 3
    first, _ = accumulate_gradients([model], micro_batches[:1], settings, 1)
    assert losses[5, 1] != pytest.approx(2 * first, rel=1e-6)  # the second micro-batch has other dropout masks


def test_bfloat16_stays_close_to_float32() -> None:
    model, chosen = make_model(), pairs(6)
    total, _ = accumulate_gradients([model], [make_batch(chosen)], PLAIN, 1)
    expected = gradients(model)
    mixed, _ = accumulate_gradients([model], [make_batch(chosen)], TrainSettings(dropout=0.0, precision="bfloat16"), 1)
    assert mixed != total
    assert mixed == pytest.approx(total, rel=0.01)
    actual = gradients(model)
    assert {tensor.dtype for tensor in actual.values()} == {torch.float32}
    norm = sum(tensor.square().sum() for tensor in expected.values()) ** 0.5
    difference = sum((actual[name] - tensor).square().sum() for name, tensor in expected.items()) ** 0.5
    assert difference < 0.05 * norm


def test_token_weights_apply_to_the_right_tokens_across_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights on padding change nothing; with all weight on one pair, the loss is the loss of that pair."""
    model, batch = make_model(), make_batch(pairs(6), extra=2)
    source_BS, target_BT = batch.source.values, batch.target.values

    def total(weight_BT: Any) -> float:
        model.zero_grad()
        return backward_in_chunks(model, replace(batch, weight_BT=weight_BT), label_smoothing=0.0, tokens=1)

    plain, real_BT = total(None), target_BT != PAD
    assert total(np.where(real_BT, np.float32(3), np.float32(100))) == pytest.approx(3 * plain, rel=1e-5)
    monkeypatch.setattr(loss, "CHUNK_LOGITS", 5 * VOCABULARY)
    for row in range(6):
        only = slice(row, row + 1)
        one = padded_batch(source_BS[only], target_BT[only])
        alone = backward_in_chunks(model, one, label_smoothing=0.0, tokens=1)
        weight_BT = np.zeros(target_BT.shape, dtype=np.float32)
        weight_BT[row] = 1
        assert total(weight_BT) == pytest.approx(alone, rel=1e-5)


def test_gradients_are_accumulated_with_token_weights() -> None:
    model, batch = make_model(), make_batch(pairs(6))
    plain, _ = accumulate_gradients([model], [batch], PLAIN, 1)
    expected = gradients(model)
    weighted = replace(batch, weight_BT=np.full(batch.target.values.shape, 3, dtype=np.float32))
    total, _ = accumulate_gradients([model], [weighted], PLAIN, 1)
    assert total == pytest.approx(3 * plain, rel=1e-5)
    assert_close(gradients(model), {name: 3 * tensor for name, tensor in expected.items()}, within=1e-5)
