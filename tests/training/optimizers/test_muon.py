"""Muon: torch's own where both can compute, Adam for everything but matrices, and singular values of about one."""

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
from regard.training.optimizers.muon import MOMENTUM, Muon, orthogonal

SHAPE = TransformerSettings(vocab_size=20, width=8, heads=2, feedforward=24, encoder_layers=2, decoder_layers=1)
SETTINGS = TrainSettings(optimizer="muon")


def with_gradients(model: nn.Module, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator)


def steps(model: nn.Module, optimizer: torch.optim.Optimizer, count: int) -> None:
    for seed in range(count):
        with_gradients(model, seed)
        for group in optimizer.param_groups:
            group["lr"] = 0.01 / (1 + seed)
        optimizer.step()


@pytest.mark.parametrize(("rows", "columns"), [(16, 16), (8, 40), (40, 8)])
def test_singular_values_become_about_one_and_their_vectors_stay(rows: int, columns: int) -> None:
    torch.manual_seed(1)
    several = torch.randn(3, rows, columns) * torch.tensor([1e-6, 1.0, 1e6])[:, None, None]
    turned = orthogonal(several)
    left, _, right = torch.linalg.svd(several, full_matrices=False)
    values = left.mT @ turned @ right.mT
    diagonal = values.diagonal(dim1=1, dim2=2)
    assert ((diagonal > 0.3) & (diagonal < 1.3)).all()
    torch.testing.assert_close(values, torch.diag_embed(diagonal), atol=1e-4, rtol=0)


def test_together_is_as_each_alone() -> None:
    torch.manual_seed(1)
    several = torch.randn(5, 6, 9)
    torch.testing.assert_close(orthogonal(several), torch.cat([orthogonal(one[None]) for one in several]))


def test_what_has_faded_is_nothing() -> None:
    """A row of denormal numbers, as a unit that no longer learns leaves behind, is as good as none."""
    torch.manual_seed(1)
    faded = torch.randn(2, 8, 12)
    faded[:, 3] = 1e-39
    none = faded.clone()
    none[:, 3] = 0
    assert torch.equal(orthogonal(faded), orthogonal(none))
    assert not orthogonal(faded)[:, 3].any()


def test_matrices_change_as_by_torchs_muon() -> None:
    torch.manual_seed(1)
    ours = Transformer(SHAPE)
    theirs = copy.deepcopy(ours)
    linear = [module.weight for module in theirs.modules() if isinstance(module, nn.Linear)]
    steps(ours, make_optimizer(ours, SETTINGS), 3)
    peer = torch.optim.Muon(linear, momentum=MOMENTUM, weight_decay=0, adjust_lr_fn="match_rms_adamw")
    steps(theirs, peer, 3)
    names = {id(weight): name for name, weight in theirs.named_parameters()}
    for weight in linear:
        # Torch's computes in bfloat16, of three digits.
        mine = ours.get_parameter(names[id(weight)])
        torch.testing.assert_close(mine, weight, atol=1e-3, rtol=0)


def test_all_else_changes_as_by_adam() -> None:
    torch.manual_seed(1)
    ours = Transformer(SHAPE)
    theirs = copy.deepcopy(ours)
    steps(ours, make_optimizer(ours, SETTINGS), 3)
    steps(theirs, make_optimizer(theirs, TrainSettings(optimizer="adam")), 3)
    inner = {f"{name}.weight" for name, module in ours.named_modules() if isinstance(module, nn.Linear)}
    for name, parameter in ours.named_parameters():
        assert torch.equal(parameter, theirs.get_parameter(name)) == (name not in inner), name


@pytest.mark.parametrize(("size", "kind"), [("tiny", Muon), ("small", Muon), ("base", torch.optim.Adam)])
def test_small_sizes_take_it_and_the_papers_do_not(size: str, kind: type) -> None:
    assert type(make_optimizer(Transformer(SHAPE), assemble(size_overrides(size)).train)) is kind
