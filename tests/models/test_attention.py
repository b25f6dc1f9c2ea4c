"""Attention: the fused kernel and the explicit computation agree, and a lens records and may replace the weights.

Shapes: B batch, H heads, L queries, M keys, E width of a head.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from regard.models.attention import MultiHeadAttention, attend, causal_mask

CPU = torch.device("cpu")
B, H, L, M, E = 2, 3, 5, 8, 8  # the fused kernel needs values as wide as queries, so identity values need M = E


class RecordingLens:
    """A lens that records attention weights and replaces them by the result of `intervene`."""

    def __init__(self, intervene: Callable[[Tensor], Tensor] = lambda weights: weights) -> None:
        self.intervene = intervene
        self.calls: list[tuple[str, Tensor]] = []
        self.tensors: dict[str, Tensor] = {}

    def see(self, name: str, tensor: Tensor) -> None:
        self.tensors[name] = tensor

    def weights(self, name: str, weights_BHLM: Tensor, first_row: int = 0) -> Tensor:
        self.calls.append((name, weights_BHLM))
        return self.intervene(weights_BHLM)

    @property
    def recorded_weights(self) -> Tensor:
        ((_, weights_BHLM),) = self.calls
        return weights_BHLM


def inputs(queries: int = L, keys: int = M, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
    """Return queries, keys and values with clearly different attention weights."""
    q_BHLE = 2 * torch.randn(B, H, queries, E, dtype=dtype)
    return q_BHLE, torch.randn(B, H, keys, E, dtype=dtype), torch.randn(B, H, keys, E, dtype=dtype)


def padding() -> Tensor:
    """Return a mask in which the first sentence has three keys fewer than the second."""
    return torch.tensor([[True] * (M - 3) + [False] * 3, [True] * M])[:, None, None, :]


def any_mask(queries: int = L) -> Tensor:
    """Return a random mask for every query of every head, with at least one key each."""
    return (torch.rand(B, H, queries, M) < 0.5) | torch.eye(queries, M, dtype=torch.bool)


MASKS: dict[str, Callable[[int], dict[str, Any]]] = {
    "no mask": lambda queries: {},
    "padding": lambda queries: {"mask": padding()},
    "a mask for each head": lambda queries: {"mask": any_mask(queries)},
    "the last positions": lambda queries: {"mask": causal_mask(queries, M, CPU)},
    "causal": lambda queries: {"causal": True},
}
every_mask = pytest.mark.parametrize("options", MASKS.values(), ids=MASKS.keys())


@every_mask
@pytest.mark.parametrize("queries", [1, L, M])
def test_the_explicit_computation_equals_the_fused_kernel(options, queries):
    q, k, v = inputs(queries)
    chosen = options(queries)
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):  # raises instead of falling back to another kernel
        fused = attend(q, k, v, **chosen)
    torch.testing.assert_close(attend(q, k, v, **chosen, lens=RecordingLens()), fused, atol=1e-6, rtol=0)


@every_mask
def test_recorded_attention_weights_equal_those_of_the_fused_kernel(options):
    q, k, v = inputs()
    chosen = options(L)
    lens = RecordingLens()
    attend(q, k, v, **chosen, lens=lens)
    # With the identity as values, the output is the attention weights.
    identity = torch.eye(M).expand(B, H, M, M)
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        fused_BHLM = attend(q, k, identity, **chosen)
    torch.testing.assert_close(lens.recorded_weights, fused_BHLM, atol=1e-6, rtol=0)


@every_mask
def test_the_attention_weights_of_a_query_sum_to_one(options):
    lens = RecordingLens()
    attend(*inputs(), **options(L), lens=lens)
    assert lens.recorded_weights.shape == (B, H, L, M)
    assert bool((lens.recorded_weights >= 0).all())
    torch.testing.assert_close(lens.recorded_weights.sum(dim=-1), torch.ones(B, H, L), atol=1e-6, rtol=0)


@pytest.mark.parametrize("mask", [padding, any_mask, lambda: causal_mask(L, M, CPU)])
def test_exactly_the_masked_keys_have_a_weight_of_zero(mask):
    lens, allowed = RecordingLens(), mask()
    attend(*inputs(), allowed, lens=lens)
    assert torch.equal(lens.recorded_weights != 0, allowed.expand(B, H, L, M))


@pytest.mark.parametrize("lens", [None, RecordingLens()], ids=["fused", "explicit"])
def test_masked_keys_and_values_have_no_effect(lens):
    q, k, v = inputs()
    mixed = attend(q, k, v, padding(), lens=lens)
    k[0, :, -3:], v[0, :, -3:] = 1e4, -1e4
    assert torch.equal(attend(q, k, v, padding(), lens=lens), mixed)


@pytest.mark.parametrize("lens", [None, RecordingLens()], ids=["fused", "explicit"])
def test_causal_means_that_query_i_attends_to_keys_0_to_i(lens):
    q, k, v = inputs()
    mixed = attend(q, k, v, causal=True, lens=lens)
    for i in range(L):
        alone = attend(q[:, :, i : i + 1], k[:, :, : i + 1], v[:, :, : i + 1], lens=lens)
        torch.testing.assert_close(mixed[:, :, i : i + 1], alone, atol=1e-6, rtol=0)


def test_uniform_weights_give_the_mean_of_the_values():
    q, k, v = inputs()
    uniform = attend(q, k, v, lens=RecordingLens(lambda weights: torch.full_like(weights, 1 / M)))
    torch.testing.assert_close(uniform, v.mean(dim=2, keepdim=True).expand(B, H, L, E), atol=1e-6, rtol=0)
    assert not torch.allclose(uniform, attend(q, k, v), atol=0.1)


def test_all_weight_on_one_key_gives_its_value():
    q, k, v = inputs()
    forced = attend(q, k, v, lens=RecordingLens(lambda weights: torch.eye(M)[3].expand_as(weights)))
    assert torch.equal(forced, v[:, :, 3:4].expand(B, H, L, E))


def test_removing_one_head_does_not_change_the_others():
    def remove(weights_BHLM: Tensor, first_row: int = 0) -> Tensor:
        return weights_BHLM * torch.tensor([1.0, 0.0, 1.0])[:, None, None]

    q, k, v = inputs()
    removed, plain = attend(q, k, v, lens=RecordingLens(remove)), attend(q, k, v, lens=RecordingLens())
    assert not removed[:, 1].any()
    assert torch.equal(removed[:, ::2], plain[:, ::2])


@every_mask
def test_the_lens_is_called_once_per_attention_with_its_address(options):
    lens = RecordingLens()
    attend(*inputs(), **options(L), name="decoder.3.cross", lens=lens)
    assert [name for name, _ in lens.calls] == ["decoder.3.cross"]


@every_mask
def test_the_lens_records_every_step_from_the_query_to_the_output(options):
    (q, k, v), lens = inputs(), RecordingLens()
    mixed = attend(q, k, v, **options(L), name="here", lens=lens)
    recorded = {name.removeprefix("here."): tensor for name, tensor in lens.tensors.items()}
    assert set(recorded) - {"mask"} == {"query", "key", "value", "score", "scaled", "mixed"}
    for name, tensor in {"query": q, "key": k, "value": v, "mixed": mixed}.items():
        assert recorded[name] is tensor
    torch.testing.assert_close(recorded["score"], torch.einsum("bhle,bhme->bhlm", q, k), atol=1e-5, rtol=0)
    assert torch.equal(recorded["scaled"], recorded["score"] / E**0.5)
    allowed = recorded.get("mask", torch.tensor(True))
    weights = recorded["scaled"].masked_fill(~allowed, -torch.inf).softmax(dim=-1)
    assert torch.equal(weights, lens.recorded_weights)


@pytest.mark.parametrize("options", [{}, {"mask": padding()[..., 4:]}, {"causal": True}], ids=["all", "mask", "causal"])
@pytest.mark.parametrize("lens", [None, RecordingLens()], ids=["fused", "explicit"])
def test_the_gradient_is_correct(options, lens):
    tensors = [torch.randn(2, 1, size, 3, dtype=torch.float64, requires_grad=True) for size in (4, 4, 4)]
    assert torch.autograd.gradcheck(lambda q, k, v: attend(q, k, v, **options, lens=lens), tensors)


def test_the_fused_kernel_and_the_explicit_computation_have_the_same_gradient():
    gradients = []
    for lens in (None, RecordingLens()):
        torch.manual_seed(2)
        q, k, v = (tensor.requires_grad_() for tensor in inputs())
        attend(q, k, v, padding(), lens=lens).square().sum().backward()
        gradients.append((q.grad, k.grad, v.grad))
    torch.testing.assert_close(gradients[0], gradients[1], atol=1e-5, rtol=0)


FIRST_FIFTY = (torch.arange(64) < 50)[None, None, None]


@pytest.mark.parametrize("options", [{}, {"mask": FIRST_FIFTY}, {"causal": True}], ids=["all", "mask", "causal"])
def test_no_attention_matrix_is_stored_for_the_backward_pass(options):
    kept: list[int] = []

    def keep(tensor: Tensor) -> Tensor:
        kept.append(tensor.untyped_storage().nbytes())
        return tensor

    q, k, v = (tensor.requires_grad_() for tensor in inputs(64, 64))
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        attend(q, k, v, **options)
    assert 0 < max(kept) <= q.untyped_storage().nbytes()


def test_the_causal_mask_is_lower_triangular():
    assert causal_mask(3, 3, CPU).int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_the_last_positions_attend_to_all_before_them():
    assert causal_mask(2, 5, CPU).int().tolist() == [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]
    assert causal_mask(1, 4, CPU).int().tolist() == [[1, 1, 1, 1]]


def test_heads_are_slices_of_the_width_and_are_joined_in_order():
    attention = MultiHeadAttention(width=12, heads=3)
    x_BLD = torch.randn(2, 5, 12)
    q_BHLE = attention.queries(x_BLD)
    assert q_BHLE.shape == (2, 3, 5, 4)
    for head in range(3):
        torch.testing.assert_close(q_BHLE[:, head], attention.query(x_BLD)[..., 4 * head : 4 * head + 4])
    torch.testing.assert_close(attention.join(q_BHLE), attention.output(attention.query(x_BLD)))


def test_keys_and_values_are_projected_by_separate_matrices():
    attention = MultiHeadAttention(width=12, heads=3)
    x_BMD = torch.randn(2, 6, 12)
    keys, values = attention.keys_and_values(x_BMD)
    torch.testing.assert_close(keys.transpose(1, 2).flatten(2), attention.key(x_BMD))
    torch.testing.assert_close(values.transpose(1, 2).flatten(2), attention.value(x_BMD))
