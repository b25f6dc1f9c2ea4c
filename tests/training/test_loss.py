"""The loss is torch's, added up over real pieces; no split into chunks or micro-batches changes its gradient."""

import itertools
import random
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
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
        vocab_size=VOCABULARY, width=16, heads=2, feedforward=24, encoder_layers=1, decoder_layers=2, norm="pre"
    )
    return Transformer(shape, dropout)


def pairs(count: int, seed: int = 1) -> list[tuple[list[int], list[int]]]:
    """Made-up pairs of very different length, so that a wrong mean would show."""
    numbers = random.Random(seed)

    def text() -> list[int]:
        return [numbers.randrange(4, VOCABULARY) for _ in range(numbers.randint(1, 9))] + [EOS]

    return [(text(), text()) for _ in range(count)]


def padded(rows: list[list[int]], extra: int = 0) -> np.ndarray:
    width = max(map(len, rows)) + extra
    return np.array([row + [PAD] * (width - len(row)) for row in rows], dtype=np.int64)


def batch(chosen: list[tuple[list[int], list[int]]], extra: int = 0) -> Batch:
    targets = [target for _, target in chosen]
    return Batch(padded([source for source, _ in chosen], extra), padded(targets, extra), sum(map(len, targets)))


def gradients(model: Transformer) -> dict[str, Tensor]:
    return {name: parameter.grad.clone() for name, parameter in model.named_parameters() if parameter.grad is not None}


def assert_close(found: dict[str, Tensor], wanted: dict[str, Tensor], within: float = 1e-6) -> None:
    assert found.keys() == wanted.keys()
    for name, tensor in wanted.items():
        assert (found[name] - tensor).abs().max() <= within, name


def reference(model: Transformer, chosen: list[tuple[list[int], list[int]]], smoothing: float) -> tuple[float, dict]:
    """The summed loss and the gradient of its mean, by torch's own loss on all logits at once."""
    model.zero_grad()
    both = batch(chosen)
    target_BT = torch.from_numpy(both.target_BT)
    shifted_BT = torch.cat([torch.full_like(target_BT[:, :1], BOS), target_BT[:, :-1]], dim=1)
    logits_BTV = model.forward(torch.from_numpy(both.source_BS), shifted_BT)
    total = F.cross_entropy(
        logits_BTV.flatten(0, 1), target_BT.flatten(), ignore_index=PAD, label_smoothing=smoothing, reduction="sum"
    )
    (total / both.target_tokens).backward()
    return total.item(), gradients(model)


# One chunk of scores


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
def test_the_loss_is_torchs_in_value_and_gradient(smoothing: float) -> None:
    scores = 5 * torch.randn(40, VOCABULARY, dtype=torch.double)
    target = torch.randint(VOCABULARY, (40,))
    theirs = scores.clone().requires_grad_()
    mine, gradient = summed_loss(scores, target, smoothing, over=3)
    wanted = F.cross_entropy(theirs, target, label_smoothing=smoothing, reduction="sum")
    (wanted / 3).backward()
    assert mine.item() == pytest.approx(wanted.item(), abs=1e-10)
    assert theirs.grad is not None
    assert torch.allclose(gradient, theirs.grad, rtol=0, atol=1e-12)


def test_a_piece_that_counts_twice_is_a_piece_said_twice() -> None:
    scores, target = 5 * torch.randn(3, VOCABULARY, dtype=torch.double), torch.tensor([1, 2, 3])
    twice = [0, 1, 1, 2]
    wanted, apart = summed_loss(scores[twice], target[twice], 0.1)
    mine, together = summed_loss(scores, target, 0.1, torch.tensor([1.0, 2.0, 1.0]))
    assert mine.item() == pytest.approx(wanted.item(), abs=1e-10)
    added = torch.stack([apart[0], apart[1] + apart[2], apart[3]])
    assert torch.allclose(together, added, rtol=0, atol=1e-12)


def test_huge_scores_neither_overflow_nor_vanish() -> None:
    total, gradient = summed_loss(torch.tensor([[1e4, -1e4, 0.0]]), torch.tensor([1]), 0.0)
    assert total.item() == 2e4
    assert gradient.tolist() == [[1.0, -1.0, 0.0]]


def test_the_scores_are_used_up() -> None:
    """Their place is taken by the gradient: a chunk of scores is held once, not twice."""
    scores = torch.randn(4, VOCABULARY)
    _, gradient = summed_loss(scores, torch.tensor([1, 2, 3, 4]), 0.1)
    assert gradient.data_ptr() == scores.data_ptr()


# A micro-batch


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_a_batch_gives_the_gradient_of_torchs_mean_per_real_piece(smoothing: float) -> None:
    model, chosen = make_model(), pairs(6)
    total, wanted = reference(model, chosen, smoothing)
    found, tokens = accumulate_gradients(
        [model], [batch(chosen)], TrainSettings(dropout=0.0, label_smoothing=smoothing), step=1
    )
    assert found == pytest.approx(total, rel=1e-6)
    assert tokens == sum(len(target) for _, target in chosen)
    assert_close(gradients(model), wanted)


def test_padding_adds_nothing() -> None:
    model, chosen = make_model(), pairs(5)
    plain = accumulate_gradients([model], [batch(chosen)], PLAIN, 1)
    wanted = gradients(model)
    wide = accumulate_gradients([model], [batch(chosen, extra=7)], PLAIN, 1)
    assert wide == pytest.approx(plain, rel=1e-6)
    assert_close(gradients(model), wanted)


def test_the_loss_alone_is_the_loss_without_smoothing() -> None:
    model, chosen = make_model().eval(), pairs(6)
    total, _ = reference(model, chosen, 0.0)
    both = batch(chosen, extra=2)
    source_BS, target_BT = torch.from_numpy(both.source_BS), torch.from_numpy(both.target_BT)
    with torch.inference_mode():
        assert loss_only(model, source_BS, target_BT, start=BOS, pad=PAD) == pytest.approx(total, rel=1e-6)
    assert validation_loss(model, iter([both])) == pytest.approx(total / both.target_tokens, rel=1e-6)


def test_validation_counts_pieces_not_batches() -> None:
    model, chosen = make_model(), pairs(9)
    whole = validation_loss(model, iter([batch(chosen)]))
    parts = validation_loss(model, iter([batch(chosen[:1]), batch(chosen[1:3]), batch(chosen[3:])]))
    assert parts == pytest.approx(whole, rel=1e-6)


# Micro-batches


def cuts(count: int) -> list[list[int]]:
    """Every way to cut so many pairs into runs, as lists of sizes."""
    found = []
    for flags in itertools.product([False, True], repeat=count - 1):
        sizes = [1]
        for flag in flags:
            if flag:
                sizes.append(1)
            else:
                sizes[-1] += 1
        found.append(sizes)
    return found


@pytest.mark.parametrize("sizes", cuts(5), ids=lambda sizes: "+".join(map(str, sizes)))
def test_any_split_into_micro_batches_gives_the_same_gradient(sizes: list[int]) -> None:
    model, chosen = make_model(), pairs(5)
    whole = accumulate_gradients([model], [batch(chosen)], PLAIN, 1)
    wanted = gradients(model)
    ends = list(itertools.accumulate(sizes))
    parts = [batch(chosen[end - size : end]) for end, size in zip(ends, sizes, strict=True)]
    found = accumulate_gradients([model], parts, PLAIN, 1)
    assert found == pytest.approx(whole, rel=1e-6)
    assert_close(gradients(model), wanted)


def test_a_mean_of_means_would_be_another_gradient() -> None:
    """The common mistake is far outside the tolerance above, so these tests would see it."""
    model, chosen = make_model(), pairs(5)
    accumulate_gradients([model], [batch(chosen)], PLAIN, 1)
    wanted = gradients(model)
    means = []
    for one in chosen:
        accumulate_gradients([model], [batch([one])], PLAIN, 1)
        means.append(gradients(model))
    wrong = {name: sum(each[name] for each in means) / len(means) for name in wanted}
    assert max((wrong[name] - wanted[name]).abs().max().item() for name in wanted) > 1e-3


def test_a_gradient_starts_from_nothing() -> None:
    model, chosen = make_model(), pairs(3)
    accumulate_gradients([model], [batch(chosen)], PLAIN, 1)
    wanted = gradients(model)
    accumulate_gradients([model], [batch(chosen)], PLAIN, 1)
    assert_close(gradients(model), wanted, within=0.0)


def test_add_gradient_adds() -> None:
    model, chosen = make_model(), pairs(3)
    both = batch(chosen)
    source_BS, target_BT = torch.from_numpy(both.source_BS), torch.from_numpy(both.target_BT)
    options = {"start": BOS, "pad": PAD, "smoothing": 0.1}
    backward_in_chunks(model, source_BS, target_BT, tokens=10, **options)  # type: ignore[arg-type]
    once = gradients(model)
    backward_in_chunks(model, source_BS, target_BT, tokens=5, **options)  # type: ignore[arg-type]
    assert_close(gradients(model), {name: 3 * tensor for name, tensor in once.items()}, within=1e-5)


# Chunks


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 1000])
def test_any_chunk_gives_the_same_loss_and_gradient(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    model, chosen = make_model(), pairs(6)
    both = batch(chosen)
    source_BS, target_BT = torch.from_numpy(both.source_BS), torch.from_numpy(both.target_BT)
    whole = accumulate_gradients([model], [both], PLAIN, 1)
    wanted = gradients(model)
    alone = loss_only(model, source_BS, target_BT, start=BOS, pad=PAD)
    monkeypatch.setattr(loss, "CHUNK_NUMBERS", rows * VOCABULARY)
    assert accumulate_gradients([model], [both], PLAIN, 1) == pytest.approx(whole, rel=1e-6)
    assert_close(gradients(model), wanted)
    assert loss_only(model, source_BS, target_BT, start=BOS, pad=PAD) == pytest.approx(alone, rel=1e-6)


def test_no_more_scores_are_held_at_once_than_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    model, chosen = make_model(), pairs(8)
    held = []
    project = model.project

    def record(hidden: Tensor) -> Tensor:
        scores = project(hidden)
        held.append(scores.numel())
        return scores

    monkeypatch.setattr(model, "project", record)
    monkeypatch.setattr(loss, "CHUNK_NUMBERS", 5 * VOCABULARY + 1)
    accumulate_gradients([model], [batch(chosen)], PLAIN, 1)
    assert max(held) == 5 * VOCABULARY
    assert sum(held) == VOCABULARY * sum(len(target) for _, target in chosen)


def test_a_vocabulary_beyond_a_chunk_still_goes_a_row_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loss, "CHUNK_NUMBERS", 1)
    model, chosen = make_model(), pairs(2)
    total, wanted = reference(model, chosen, 0.1)
    assert accumulate_gradients([model], [batch(chosen)], PLAIN, 1)[0] == pytest.approx(total, rel=1e-6)
    assert_close(gradients(model), wanted)


# Randomness and precision


def test_dropout_follows_from_seed_step_and_micro_batch() -> None:
    model, parts = make_model(dropout=0.3).train(), [batch(pairs(3)), batch(pairs(3))]
    settings = TrainSettings(dropout=0.3, seed=5)
    losses: dict[tuple[int, int], float] = {}
    for seed, step in [(5, 1), (5, 1), (5, 2), (6, 1)]:
        torch.rand(step)  # whatever happened before does not matter
        found, _ = accumulate_gradients([model], parts, TrainSettings(dropout=0.3, seed=seed), step)
        assert losses.setdefault((seed, step), found) == found
    assert len(set(losses.values())) == 3
    first, _ = accumulate_gradients([model], parts[:1], settings, 1)
    assert losses[5, 1] != pytest.approx(2 * first, rel=1e-6)  # the second micro-batch draws its own


def test_bfloat16_runs_and_stays_close() -> None:
    model, chosen = make_model(), pairs(6)
    total, _ = accumulate_gradients([model], [batch(chosen)], PLAIN, 1)
    wanted = gradients(model)
    mixed, _ = accumulate_gradients([model], [batch(chosen)], TrainSettings(dropout=0.0, precision="bfloat16"), 1)
    assert mixed != total
    assert mixed == pytest.approx(total, rel=0.01)
    found = gradients(model)
    assert {tensor.dtype for tensor in found.values()} == {torch.float32}
    norm = sum(tensor.square().sum() for tensor in wanted.values()) ** 0.5
    difference = sum((found[name] - tensor).square().sum() for name, tensor in wanted.items()) ** 0.5
    assert difference < 0.05 * norm


def test_the_weights_of_a_batch_find_their_pieces_across_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights on padding change nothing; with all weight on one pair, the loss is that of the pair alone."""
    model, both = make_model(), batch(pairs(6), extra=2)
    source_BS, target_BT = torch.from_numpy(both.source_BS), torch.from_numpy(both.target_BT)
    options = {"start": BOS, "pad": PAD, "smoothing": 0.0, "tokens": 1}

    def total(weight_BT: Tensor | None) -> float:
        model.zero_grad()
        return backward_in_chunks(model, source_BS, target_BT, weight_BT=weight_BT, **options)  # type: ignore[arg-type]

    plain, real_BT = total(None), target_BT != PAD
    assert total(torch.where(real_BT, 3.0, 100.0)) == pytest.approx(3 * plain, rel=1e-5)
    monkeypatch.setattr(loss, "CHUNK_NUMBERS", 5 * VOCABULARY)
    for row in range(6):
        one = slice(row, row + 1)
        alone = backward_in_chunks(model, source_BS[one], target_BT[one], **options)  # type: ignore[arg-type]
        weight_BT = torch.zeros(target_BT.shape)
        weight_BT[row] = 1
        assert total(weight_BT) == pytest.approx(alone, rel=1e-5)


def test_a_step_weighs_what_its_batch_weighs() -> None:
    model, both = make_model(), batch(pairs(6))
    plain, _ = accumulate_gradients([model], [both], PLAIN, 1)
    wanted = gradients(model)
    weighed = replace(both, weight_BT=np.full(both.target_BT.shape, 3, dtype=np.float32))
    total, _ = accumulate_gradients([model], [weighed], PLAIN, 1)
    assert total == pytest.approx(3 * plain, rel=1e-5)
    assert_close(gradients(model), {name: 3 * tensor for name, tensor in wanted.items()}, within=1e-5)
