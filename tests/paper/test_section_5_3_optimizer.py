"""Section 5.3: the optimizer and its learning rate."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from tests.padded import batch
from tests.paper.paper_sizes import BASE, BIG
from tests.paper.small_model import tiny

from regard.data.batching.batches import Batch, StreamPosition
from regard.settings.train import TrainSettings
from regard.tokenizers.special_ids import EOS
from regard.training.optimizers.adam import make_optimizer
from regard.training.optimizers.schedule import learning_rate
from regard.training.step import training_steps


@pytest.mark.parametrize("size", [BASE, BIG], ids=["base", "big"])
def test_the_optimizer_is_adam_with_the_papers_settings(size):
    """Section 5.3: Adam, beta1 = 0.9, beta2 = 0.98, epsilon = 1e-9. It mentions no weight decay or clipping."""
    optimizer = make_optimizer(tiny(), size.train)
    (group,) = optimizer.param_groups
    assert type(optimizer) is torch.optim.Adam
    assert (group["betas"], group["eps"]) == ((0.9, 0.98), 1e-9)
    assert (group["weight_decay"], group["amsgrad"], size.train.max_grad_norm) == (0, False, 0)


def toy_stream() -> Iterator[tuple[Batch, StreamPosition]]:
    random = np.random.default_rng(1)
    while True:
        source, target = random.integers(EOS + 1, 24, (2, 5)), random.integers(EOS + 1, 24, (2, 6))
        yield batch(source, target), StreamPosition()


def test_a_training_step_is_adams_with_the_scheduled_learning_rate():
    """Section 5.3: the learning rate varies by the formula; the update is Adam's."""
    model = tiny()
    settings = TrainSettings(steps=3, batch_tokens=12, micro_batch_tokens=12, dropout=0.0, learning_rate=50.0)
    optimizer = make_optimizer(model, settings)
    weight = model.embedding.weight
    expected = weight.detach().double()
    first, second = torch.zeros_like(expected), torch.zeros_like(expected)
    for done in training_steps(model, optimizer, toy_stream(), settings):
        rate = 50 * 16**-0.5 * done.step * 4000**-1.5
        assert done.learning_rate == pytest.approx(rate)
        assert weight.grad is not None
        gradient = weight.grad.double()
        first = 0.9 * first + 0.1 * gradient
        second = 0.98 * second + 0.02 * gradient**2
        mean, square = first / (1 - 0.9**done.step), second / (1 - 0.98**done.step)
        expected = expected - rate * mean / (square.sqrt() + 1e-9)
        torch.testing.assert_close(weight.detach().double(), expected, atol=1e-6, rtol=0)
    assert done.step == 3


@pytest.mark.parametrize("size", [BASE, BIG], ids=["base", "big"])
def test_the_learning_rate_follows_the_formula(size):
    """Section 5.3: d_model^-0.5 * min(step^-0.5, step * warmup^-1.5), with 4,000 steps of warm-up."""
    train, width = size.train, size.model.width
    assert (train.schedule, train.warmup_steps, train.learning_rate) == ("paper", 4000, 1.0)
    for step in (1, 100, 3999, 4000, 4001, 50_000, 300_000):
        formula = width**-0.5 * min(step**-0.5, step * 4000**-1.5)
        assert learning_rate(step, train, width) == pytest.approx(formula, rel=1e-12)


def test_the_learning_rate_rises_linearly_and_falls_with_the_square_root_of_the_step():
    """Section 5.3: linear in the warm-up steps, then proportional to the inverse square root of the step."""

    def rate(step: int) -> float:
        return learning_rate(step, BASE.train, 512)

    assert [rate(step) / rate(1) for step in (2, 1000, 4000)] == pytest.approx([2, 1000, 4000])
    assert [rate(4 * step) / rate(step) for step in (4000, 10_000, 25_000)] == pytest.approx([0.5] * 3)
    assert max(range(1, 20_001), key=rate) == 4000
    assert rate(4000) == pytest.approx(512**-0.5 * 4000**-0.5) == pytest.approx(6.988e-4, rel=1e-3)
