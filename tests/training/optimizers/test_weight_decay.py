"""Weight decay: torch's own on the matrices, none on norms and biases, and as much as suits the amount of text."""

import pytest
import torch
from tests.training.test_out_of_memory import make_batch, make_model

from regard.data.batching.batches import StreamPosition
from regard.errors import SettingsError
from regard.models.kinds.transformer import Transformer
from regard.settings.fields import AUTO
from regard.settings.sizes import FINE_TUNE, SIZES
from regard.settings.train import TrainSettings
from regard.training.optimizers.adam import make_optimizer
from regard.training.optimizers.schedule import learning_rate, peak_rate
from regard.training.planning.choices import FORGET_PASSES, FORGET_STEPS, choose_decay
from regard.training.step import training_steps


def learnt(model: Transformer, optimizer: torch.optim.Optimizer, settings: TrainSettings) -> None:
    stream = [(make_batch(6, seed=step), StreamPosition(batch=step)) for step in range(3)]
    for _ in training_steps(model, optimizer, iter(stream), settings, width=16):
        pass


def test_matrices_shrink_as_by_torchs_and_nothing_else_does() -> None:
    plain = TrainSettings(steps=3, warmup_steps=1, batch_tokens=4096, schedule="linear", learning_rate=0.01)
    decayed = TrainSettings(
        steps=3, warmup_steps=1, batch_tokens=4096, schedule="linear", learning_rate=0.01, weight_decay=9
    )
    ours, theirs, without = make_model(), make_model(), make_model()
    learnt(ours, make_optimizer(ours, decayed), decayed)
    groups = [
        {"params": [one for one in theirs.parameters() if one.dim() == 2], "weight_decay": 9.0},
        {"params": [one for one in theirs.parameters() if one.dim() != 2], "weight_decay": 0.0},
    ]
    betas = (plain.beta1, plain.beta2)
    learnt(theirs, torch.optim.AdamW(groups, betas=betas, eps=plain.epsilon, fused=True), plain)
    learnt(without, make_optimizer(without, plain), plain)
    for name, mine in ours.named_parameters():
        torch.testing.assert_close(mine, theirs.get_parameter(name), atol=1e-6, rtol=1e-5)
    assert not torch.equal(ours.embedding.weight, without.embedding.weight)


def test_a_decay_beyond_all_there_is_leaves_nothing_and_turns_nothing_round() -> None:
    settings = TrainSettings(
        steps=3, warmup_steps=1, batch_tokens=4096, schedule="linear", learning_rate=0.01, weight_decay=1e9
    )
    model = make_model()
    learnt(model, make_optimizer(model, settings), settings)
    assert all(parameter.abs().max() <= 0.03 for parameter in model.parameters() if parameter.dim() == 2)


@pytest.mark.parametrize(
    "settings", [TrainSettings(), TrainSettings(schedule="linear", learning_rate=0.004, warmup_steps=9)]
)
def test_the_highest_rate_is_that_of_the_last_step_of_the_rise(settings: TrainSettings) -> None:
    rates = [learning_rate(step, settings, 128) for step in range(1, settings.warmup_steps * 3)]
    assert peak_rate(settings, 128) == pytest.approx(max(rates)) == pytest.approx(rates[settings.warmup_steps - 1])


def test_what_is_chosen_lets_a_matrix_forget_in_so_many_passes() -> None:
    settings = TrainSettings(batch_tokens=2_000, schedule="linear", learning_rate=0.004)
    passes, _ = choose_decay(1_000_000, settings, 128)
    assert 1 / (passes * 0.004) == pytest.approx(FORGET_PASSES * 1_000_000 / 2_000)
    few, _ = choose_decay(50, settings, 128)
    assert 1 / (few * 0.004) == pytest.approx(FORGET_STEPS)


def test_no_other_number_below_zero_is_taken() -> None:
    with pytest.raises(SettingsError, match="weight_decay must be at least 0, or -1, got -2"):
        TrainSettings(weight_decay=-2)


def test_the_small_sizes_decay_and_neither_the_papers_nor_a_fine_tune_do() -> None:
    asked = {size: layer["train"].get("weight_decay", 0.0) for size, layer in SIZES.items()}
    assert asked == {"tiny": AUTO, "small": AUTO, "base": 0, "big": 0}
    assert FINE_TUNE["train"]["weight_decay"] == 0
