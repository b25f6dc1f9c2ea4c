"""Weight decay equals torch's on matrices, spares norms and biases, and is chosen from the amount of text."""

import pytest
import torch
from tests.training.test_out_of_memory import make_batch, make_model

from regard.data.batching.batches import StreamPosition
from regard.errors import SettingsError
from regard.models.kinds.transformer import Transformer
from regard.settings.fields import AUTO
from regard.settings.kinds.transformer import SIZES
from regard.settings.recipes import FINE_TUNE
from regard.settings.train import TrainSettings
from regard.training.optimizers.adam import make_optimizer
from regard.training.optimizers.schedule import learning_rate, peak_rate
from regard.training.planning.choices import MIN_DECAY_PASSES, MIN_DECAY_STEPS, choose_decay
from regard.training.step import training_steps


def train(model: Transformer, optimizer: torch.optim.Optimizer, settings: TrainSettings) -> None:
    stream = [(make_batch(6, seed=step), StreamPosition(batch=step)) for step in range(3)]
    for _ in training_steps(model, optimizer, iter(stream), settings):
        pass


def test_matrices_decay_as_by_torchs_adamw_and_other_parameters_do_not() -> None:
    plain = TrainSettings(steps=3, warmup_steps=1, batch_tokens=4096, schedule="linear", learning_rate=0.01)
    decayed = TrainSettings(
        steps=3, warmup_steps=1, batch_tokens=4096, schedule="linear", learning_rate=0.01, weight_decay=9
    )
    ours, theirs, without = make_model(), make_model(), make_model()
    train(ours, make_optimizer(ours, decayed), decayed)
    groups = [
        {"params": [parameter for parameter in theirs.parameters() if parameter.dim() == 2], "weight_decay": 9.0},
        {"params": [parameter for parameter in theirs.parameters() if parameter.dim() != 2], "weight_decay": 0.0},
    ]
    betas = (plain.beta1, plain.beta2)
    train(theirs, torch.optim.AdamW(groups, betas=betas, eps=plain.epsilon, fused=True), plain)
    train(without, make_optimizer(without, plain), plain)
    for name, mine in ours.named_parameters():
        torch.testing.assert_close(mine, theirs.get_parameter(name), atol=1e-6, rtol=1e-5)
    assert not torch.equal(ours.embedding.weight, without.embedding.weight)


def test_an_excessive_decay_sets_matrices_to_zero_and_does_not_flip_their_sign() -> None:
    settings = TrainSettings(
        steps=3, warmup_steps=1, batch_tokens=4096, schedule="linear", learning_rate=0.01, weight_decay=1e9
    )
    model = make_model()
    train(model, make_optimizer(model, settings), settings)
    assert all(parameter.abs().max() <= 0.03 for parameter in model.parameters() if parameter.dim() == 2)


@pytest.mark.parametrize(
    "settings", [TrainSettings(), TrainSettings(schedule="linear", learning_rate=0.004, warmup_steps=9)]
)
def test_the_peak_rate_is_the_rate_at_the_end_of_the_warmup(settings: TrainSettings) -> None:
    rates = [learning_rate(step, settings, 128) for step in range(1, settings.warmup_steps * 3)]
    assert peak_rate(settings, 128) == pytest.approx(max(rates)) == pytest.approx(rates[settings.warmup_steps - 1])


def test_the_chosen_decay_has_the_minimum_time_constant() -> None:
    settings = TrainSettings(batch_tokens=2_000, schedule="linear", learning_rate=0.004)
    decay, _ = choose_decay(1_000_000, settings, 128)
    assert 1 / (decay * 0.004) == pytest.approx(MIN_DECAY_PASSES * 1_000_000 / 2_000)
    decay, _ = choose_decay(50, settings, 128)
    assert 1 / (decay * 0.004) == pytest.approx(MIN_DECAY_STEPS)


def test_other_negative_decays_are_refused() -> None:
    with pytest.raises(SettingsError, match="weight_decay must be at least 0, or -1, got -2"):
        TrainSettings(weight_decay=-2)


def test_only_the_small_sizes_use_weight_decay() -> None:
    by_size = {size: layer["train"].get("weight_decay", 0.0) for size, layer in SIZES.items()}
    assert by_size == {"tiny": AUTO, "small": AUTO, "base": 0, "big": 0}
    assert FINE_TUNE["train"]["weight_decay"] == 0
