"""A recurrent layer computes what torch's own modules compute: at once, step by step, by formula, and padded.

Shapes: N rows, T positions, I inputs, D width.
"""

import pytest
import torch
from tests.models.forward_passes import RecordingLens
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.models.recurrence import GATES, MODULES, LayerState, Recurrence, reversed_rows

N, T, INPUT, D = 3, 7, 5, 4

every_kind = pytest.mark.parametrize("kind", MODULES)
every_type = pytest.mark.parametrize(("dtype", "within"), [(torch.float32, 1e-6), (torch.float64, 1e-14)])


def random_layer(kind: str, dtype: torch.dtype = torch.float32) -> Recurrence:
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(7)
        layer = Recurrence(kind, INPUT, D).to(dtype)
        for parameter in layer.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return layer


def random_input(dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(N, T, INPUT, generator=torch.Generator().manual_seed(3), dtype=dtype)


def torch_module(layer: Recurrence, dtype: torch.dtype) -> nn.RNNBase:
    """Return a new module of torch with the parameters of a layer."""
    module = MODULES[layer.kind](INPUT, D, batch_first=True).to(dtype)
    module.load_state_dict(layer.cell.state_dict())
    return module


def start(layer: Recurrence, x_NTI: Tensor) -> LayerState:
    return layer.zeros(len(x_NTI), x_NTI)


@every_kind
@every_type
def test_a_layer_equals_the_module_of_torch(kind: str, dtype: torch.dtype, within: float) -> None:
    layer, x_NTI = random_layer(kind, dtype), random_input(dtype)
    expected_NTD, last = torch_module(layer, dtype)(x_NTI)
    hidden_NTD, state = layer(x_NTI, start(layer, x_NTI), "layer", None)
    torch.testing.assert_close(hidden_NTD, expected_NTD, atol=within, rtol=0)
    states = last if kind == "lstm" else (last,)
    found = (state.hidden_ND, state.cell_ND)[: len(states)]
    for tensor, expected in zip(found, states, strict=True):
        torch.testing.assert_close(tensor, expected[0], atol=within, rtol=0)


@every_kind
@every_type
def test_steps_equal_the_whole_sequence(kind: str, dtype: torch.dtype, within: float) -> None:
    layer, x_NTI = random_layer(kind, dtype), random_input(dtype)
    expected_NTD, last = layer(x_NTI, start(layer, x_NTI), "layer", None)
    state, steps = start(layer, x_NTI), []
    for x_N1I in x_NTI.split(1, dim=1):
        hidden_N1D, state = layer(x_N1I, state, "layer", None)
        steps.append(hidden_N1D)
    torch.testing.assert_close(torch.cat(steps, dim=1), expected_NTD, atol=within, rtol=0)
    torch.testing.assert_close(state.hidden_ND, last.hidden_ND, atol=within, rtol=0)
    torch.testing.assert_close(state.cell_ND, last.cell_ND, atol=within, rtol=0)


@every_kind
def test_the_recorded_gates_give_the_hidden_states(kind: str) -> None:
    layer, x_NTI, lens = random_layer(kind), random_input(), RecordingLens()
    expected_NTD, _ = layer(x_NTI, start(layer, x_NTI), "layer", None)
    layer(x_NTI, start(layer, x_NTI), "layer", lens)
    seen = {name.removeprefix("layer."): tensor for name, tensor in lens.seen}
    torch.testing.assert_close(seen["hidden"], expected_NTD, atol=1e-6, rtol=0)
    previous_ND = torch.zeros(N, D)
    for t in range(T):
        at = {name: tensor[:, t] for name, tensor in seen.items()}
        if kind == "lstm":
            cell_ND = at["forget_gate"] * previous_ND + at["input_gate"] * at["candidate"]
            torch.testing.assert_close(at["cell"], cell_ND)
            torch.testing.assert_close(at["hidden"], at["output_gate"] * torch.tanh(cell_ND))
            previous_ND = cell_ND
        elif kind == "gru":
            update_ND = at["update_gate"]
            torch.testing.assert_close(at["hidden"], (1 - update_ND) * at["candidate"] + update_ND * previous_ND)
            previous_ND = at["hidden"]


@every_kind
def test_two_directions_over_padded_rows_equal_a_packed_bidirectional_module(kind: str) -> None:
    forwards, backwards, x_NTI = random_layer(kind), random_layer(kind), random_input()
    with torch.no_grad():
        backwards.matrices[0].mul_(-0.5)
    module = MODULES[kind](INPUT, D, batch_first=True, bidirectional=True)
    module.load_state_dict(
        {
            **forwards.cell.state_dict(),
            **{f"{name}_reverse": tensor for name, tensor in backwards.cell.state_dict().items()},
        }
    )
    lengths_N = torch.tensor([T, 4, 1])
    packed = pack_padded_sequence(x_NTI, lengths_N, batch_first=True)
    expected_NTF, _ = pad_packed_sequence(module(packed)[0], batch_first=True)
    one_NTD, _ = forwards(x_NTI, start(forwards, x_NTI), "layer", None)
    other_NTD, _ = backwards(reversed_rows(x_NTI, lengths_N), start(backwards, x_NTI), "layer", None)
    found_NTF = torch.cat([one_NTD, reversed_rows(other_NTD, lengths_N)], dim=-1)
    for row, length in enumerate(lengths_N.tolist()):
        torch.testing.assert_close(found_NTF[row, :length], expected_NTF[row, :length], atol=1e-6, rtol=0)


def test_reversing_twice_changes_nothing() -> None:
    x_NTI, lengths_N = random_input(), torch.tensor([T, 4, 1])
    once_NTI = reversed_rows(x_NTI, lengths_N)
    assert torch.equal(once_NTI[1, :4], x_NTI[1, :4].flip(0))
    assert torch.equal(once_NTI[1, 4:], x_NTI[1, 4:])
    assert torch.equal(reversed_rows(once_NTI, lengths_N), x_NTI)


@every_kind
def test_the_recurrent_matrix_of_each_gate_is_orthogonal_at_the_start(kind: str) -> None:
    layer = Recurrence(kind, INPUT, D)
    for matrix in layer.matrices[1].detach().chunk(GATES[kind]):
        torch.testing.assert_close(matrix @ matrix.T, torch.eye(D), atol=1e-5, rtol=0)


def test_the_forget_gate_of_an_lstm_starts_with_a_bias_of_one() -> None:
    state = Recurrence("lstm", INPUT, D).cell.state_dict()
    total = state["bias_ih_l0"] + state["bias_hh_l0"]
    assert torch.equal(total, torch.cat([torch.zeros(D), torch.ones(D), torch.zeros(2 * D)]))
