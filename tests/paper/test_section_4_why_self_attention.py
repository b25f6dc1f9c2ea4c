"""Section 4: why self-attention."""

from typing import Any

import torch
from tests.paper.small_model import AttentionLens, influence, random_source, random_tokens, record_inputs, tiny
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from regard.models.attention import attend


def test_one_layer_connects_any_two_positions():
    """Section 4, Table 1: the maximum path length between two positions is O(1)."""
    model = tiny(encoder_layers=1, max_positions=64)
    out: list[Tensor] = []
    (embedded,) = record_inputs(model.encoder["1"], lambda: out.append(model.encode(random_source(1, 50)).hidden_BSD))
    assert bool(influence(out[0], embedded).all())


class Operations(TorchDispatchMode):
    """A counter of the operations that torch runs one after another."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        return function(*args, **(kwargs or {}))


def test_the_number_of_sequential_operations_does_not_depend_on_the_length():
    """Section 4, Table 1: O(1) sequential operations, while recurrence has O(n)."""
    model = tiny(max_positions=64)
    counts = set()
    for length in (4, 16, 64):
        with Operations() as operations:
            model(random_source(1, length), random_tokens(1, length))
        counts.add(operations.count)
    assert len(counts) == 1


def test_all_positions_at_once_equal_one_at_a_time():
    """Section 4: no position has to wait for the one before it; decoded one by one, the logits are the same."""
    model, source, target_BT = tiny(), random_source(2, 5), random_tokens(2, 7)
    state = model.start(model.encode(source))
    steps = []
    for token_B1 in target_BT.split(1, dim=1):
        hidden_B1D, state = model.decode(token_B1, state)
        steps.append(model.project(hidden_B1D))
    torch.testing.assert_close(torch.cat(steps, dim=1), model(source, target_BT), atol=1e-5, rtol=0)


def test_self_attention_costs_the_square_of_the_length_times_the_width():
    """Section 4, Table 1: O(n^2 d) per layer."""

    def flops(length: int, width: int) -> int:
        q = torch.randn(1, 2, length, width // 2)
        with FlopCounterMode(display=False) as counter:
            attend(q, q, q, lens=AttentionLens())
        return int(counter.get_total_flops())

    assert flops(8, 16) == 2 * 2 * 8**2 * 16  # two matrix products of multiplications and additions
    assert flops(16, 16) == 4 * flops(8, 16)
    assert flops(8, 32) == 2 * flops(8, 16)
