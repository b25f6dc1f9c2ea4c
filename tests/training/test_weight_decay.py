"""Weight decay: torch's own on the matrices, none on norms and biases, and none at all unless asked for."""

import torch
from tests.training.test_splits import make_batch, make_model
from torch import nn

from regard.data.batches import Position
from regard.settings import FINE_TUNE, SIZES, TrainSettings
from regard.training.loop import learn, make_optimizer


def learnt(model: nn.Module, optimizer: torch.optim.Optimizer, settings: TrainSettings) -> None:
    stream = [(make_batch(6, seed=step), Position(batch=step)) for step in range(3)]
    for _ in learn(model, optimizer, iter(stream), settings, width=16):
        pass


def test_matrices_shrink_as_by_torchs_and_nothing_else_does() -> None:
    plain = TrainSettings(steps=3, warmup=1, batch_tokens=4096, schedule="linear", learning_rate=0.01)
    decayed = TrainSettings(steps=3, warmup=1, batch_tokens=4096, schedule="linear", learning_rate=0.01, weight_decay=9)
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
        steps=3, warmup=1, batch_tokens=4096, schedule="linear", learning_rate=0.01, weight_decay=1e9
    )
    model = make_model()
    learnt(model, make_optimizer(model, settings), settings)
    assert all(parameter.abs().max() <= 0.03 for parameter in model.parameters() if parameter.dim() == 2)


def test_the_small_sizes_decay_and_neither_the_papers_nor_a_fine_tune_do() -> None:
    asked = {size: layer["train"].get("weight_decay", 0.0) > 0 for size, layer in SIZES.items()}
    assert asked == {"tiny": True, "small": True, "base": False, "big": False}
    assert FINE_TUNE["train"]["weight_decay"] == 0
