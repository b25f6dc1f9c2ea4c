"""Muon matches torch's Muon on matrices and Adam on everything else, and gives singular values close to one."""

import copy

import pytest
import torch
from torch import nn

from regard.models.kinds.transformer import Transformer
from regard.settings.kinds.transformer import TransformerSettings
from regard.settings.sections import assemble
from regard.settings.sizes import size_overrides
from regard.settings.train import TrainSettings
from regard.training.optimizers.adam import make_optimizer
from regard.training.optimizers.muon import MOMENTUM, Muon, orthogonalize

SHAPE = TransformerSettings(
    source_vocab_size=20, target_vocab_size=20, width=8, heads=2, feedforward=24, encoder_layers=2, decoder_layers=1
)
SETTINGS = TrainSettings(optimizer="muon")


def set_random_gradients(model: nn.Module, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator)


def take_steps(model: nn.Module, optimizer: torch.optim.Optimizer, count: int) -> None:
    for seed in range(count):
        set_random_gradients(model, seed)
        for group in optimizer.param_groups:
            group["lr"] = 0.01 / (1 + seed)
        optimizer.step()


@pytest.mark.parametrize(("rows", "columns"), [(16, 16), (8, 40), (40, 8)])
def test_singular_values_become_close_to_one_and_singular_vectors_stay(rows: int, columns: int) -> None:
    torch.manual_seed(1)
    matrices = torch.randn(3, rows, columns) * torch.tensor([1e-6, 1.0, 1e6])[:, None, None]
    left, _, right = torch.linalg.svd(matrices, full_matrices=False)
    values = left.mT @ orthogonalize(matrices) @ right.mT
    diagonal = values.diagonal(dim1=1, dim2=2)
    assert ((diagonal > 0.3) & (diagonal < 1.3)).all()
    torch.testing.assert_close(values, torch.diag_embed(diagonal), atol=1e-4, rtol=0)


def test_matrices_are_orthogonalised_independently() -> None:
    torch.manual_seed(1)
    matrices = torch.randn(5, 6, 9)
    alone = torch.cat([orthogonalize(matrix[None]) for matrix in matrices])
    torch.testing.assert_close(orthogonalize(matrices), alone)


def test_denormal_gradients_count_as_zero() -> None:
    """A unit that has stopped learning leaves behind a row of denormal numbers."""
    torch.manual_seed(1)
    faded = torch.randn(2, 8, 12)
    faded[:, 3] = 1e-39
    zero = faded.clone()
    zero[:, 3] = 0
    assert torch.equal(orthogonalize(faded), orthogonalize(zero))
    assert not orthogonalize(faded)[:, 3].any()


def test_matrices_are_updated_as_by_torchs_muon() -> None:
    torch.manual_seed(1)
    ours = Transformer(SHAPE)
    theirs = copy.deepcopy(ours)
    linear = [module.weight for module in theirs.modules() if isinstance(module, nn.Linear)]
    take_steps(ours, make_optimizer(ours, SETTINGS), 3)
    peer = torch.optim.Muon(linear, momentum=MOMENTUM, weight_decay=0, adjust_lr_fn="match_rms_adamw")
    take_steps(theirs, peer, 3)
    names = {id(weight): name for name, weight in theirs.named_parameters()}
    for weight in linear:
        # Torch's Muon computes in bfloat16, which has three digits.
        mine = ours.get_parameter(names[id(weight)])
        torch.testing.assert_close(mine, weight, atol=1e-3, rtol=0)


def test_other_parameters_are_updated_as_by_adam() -> None:
    torch.manual_seed(1)
    ours = Transformer(SHAPE)
    theirs = copy.deepcopy(ours)
    take_steps(ours, make_optimizer(ours, SETTINGS), 3)
    take_steps(theirs, make_optimizer(theirs, TrainSettings(optimizer="adam")), 3)
    inner = {f"{name}.weight" for name, module in ours.named_modules() if isinstance(module, nn.Linear)}
    for name, parameter in ours.named_parameters():
        assert torch.equal(parameter, theirs.get_parameter(name)) == (name not in inner), name


@pytest.mark.parametrize(("size", "kind"), [("tiny", Muon), ("small", Muon), ("base", torch.optim.Adam)])
def test_small_sizes_use_muon_and_the_papers_sizes_use_adam(size: str, kind: type) -> None:
    assert type(make_optimizer(Transformer(SHAPE), assemble(size_overrides(size)).train)) is kind
