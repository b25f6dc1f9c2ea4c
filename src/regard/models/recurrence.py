"""One recurrent layer in one direction: a tanh RNN, a GRU or an LSTM, with the parameters of torch's own modules.

A sequence of several positions runs in torch's kernel, and a single position in torch's cell, which has less overhead.
With a lens, each step is computed by formula, so that the gates can be recorded.

Shapes: N rows, T positions, I input width, D width.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.models.lens import Lens, record

MODULES: Mapping[str, Callable[..., nn.RNNBase]] = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
GATES = {"rnn": 1, "gru": 3, "lstm": 4}


@dataclass(frozen=True)
class LayerState:
    """The state of a recurrent layer: the hidden state of each row and, in an LSTM, the cell state."""

    hidden_ND: Tensor
    cell_ND: Tensor | None = None

    def rows(self, rows_N: Tensor) -> Self:
        """Return the state of these rows."""
        return type(self)(self.hidden_ND[rows_N], None if self.cell_ND is None else self.cell_ND[rows_N])

    def named(self) -> dict[str, Tensor]:
        """Return the tensors under the names that a lens records."""
        return {"hidden": self.hidden_ND} | ({} if self.cell_ND is None else {"cell": self.cell_ND})


class Recurrence(nn.Module):
    """A recurrent layer that reads a sequence from its beginning to its end."""

    def __init__(self, kind: str, inputs: int, width: int) -> None:
        super().__init__()
        self.kind, self.width = kind, width
        self.gates = GATES[kind]
        self.cell = MODULES[kind](inputs, width, batch_first=True)
        self._initialise()

    def forward(self, x_NTI: Tensor, state: LayerState, name: str, lens: Lens | None) -> tuple[Tensor, LayerState]:
        """Return the hidden states (N, T, D) and the state after the last position."""
        if lens is not None:
            return self._by_formula(x_NTI, state, name, lens)
        if x_NTI.size(1) == 1:
            state = self._step(x_NTI[:, 0], state)
            return state.hidden_ND[:, None], state
        if state.cell_ND is None:
            hidden_NTD, last = self.cell(x_NTI, state.hidden_ND[None])
            return hidden_NTD, LayerState(last[0])
        hidden_NTD, (last, cell) = self.cell(x_NTI, (state.hidden_ND[None], state.cell_ND[None]))
        return hidden_NTD, LayerState(last[0], cell[0])

    @property
    def matrices(self) -> tuple[Tensor, ...]:
        """The matrices for the input and for the hidden state; each has the rows of all gates."""
        return self._parameter("weight_ih_l0"), self._parameter("weight_hh_l0")

    def zeros(self, rows: int, like: Tensor) -> LayerState:
        """Return the state before the first position of a sequence."""
        zeros_ND = like.new_zeros(rows, self.width)
        return LayerState(zeros_ND, zeros_ND if self.kind == "lstm" else None)

    def _step(self, x_NI: Tensor, state: LayerState) -> LayerState:
        weights = (*self.matrices, *self._biases)
        if state.cell_ND is not None:
            return LayerState(*torch.lstm_cell(x_NI, (state.hidden_ND, state.cell_ND), *weights))
        step: Callable[..., Tensor] = torch.gru_cell if self.kind == "gru" else torch.rnn_tanh_cell
        return LayerState(step(x_NI, state.hidden_ND, *weights))

    def _by_formula(self, x_NTI: Tensor, state: LayerState, name: str, lens: Lens) -> tuple[Tensor, LayerState]:
        steps: list[dict[str, Tensor]] = []
        for x_NI in x_NTI.unbind(dim=1):
            before = {f"{field}_before": tensor for field, tensor in state.named().items()}
            gates, state = self._gates(x_NI, state)
            steps.append({**before, **gates, **state.named()})
        seen = {quantity: torch.stack([step[quantity] for step in steps], dim=1) for quantity in steps[0]}
        record(lens, name, **seen)
        return seen["hidden"], state

    def _gates(self, x_NI: Tensor, state: LayerState) -> tuple[dict[str, Tensor], LayerState]:
        """Compute one step by its formula; return the gates and the new state."""
        (input_matrix, state_matrix), (input_bias, state_bias) = self.matrices, self._biases
        from_input = F.linear(x_NI, input_matrix, input_bias)
        from_state = F.linear(state.hidden_ND, state_matrix, state_bias)
        if state.cell_ND is not None:
            i, f, g, o = (from_input + from_state).chunk(4, dim=1)
            gates = {"input_gate": i.sigmoid(), "forget_gate": f.sigmoid(), "candidate": g.tanh()}
            gates["output_gate"] = o.sigmoid()
            cell_ND = gates["forget_gate"] * state.cell_ND + gates["input_gate"] * gates["candidate"]
            return gates, LayerState(gates["output_gate"] * cell_ND.tanh(), cell_ND)
        if self.kind == "rnn":
            return {"from_input": from_input, "from_state": from_state}, LayerState((from_input + from_state).tanh())
        (r_x, z_x, n_x), (r_h, z_h, n_h) = from_input.chunk(3, dim=1), from_state.chunk(3, dim=1)
        reset, update = (r_x + r_h).sigmoid(), (z_x + z_h).sigmoid()
        candidate = (n_x + reset * n_h).tanh()
        hidden_ND = (1 - update) * candidate + update * state.hidden_ND
        gates = {"reset_gate": reset, "update_gate": update, "candidate": candidate}
        return {**gates, "from_input": n_x, "from_state": n_h}, LayerState(hidden_ND)

    def _initialise(self) -> None:
        """Make the recurrent matrix of each gate orthogonal, and let the forget gates start almost open.

        With torch's default parameters, the gradient of a tanh RNN or of an LSTM vanishes within some ten positions.
        """
        with torch.no_grad():
            for inputs, states in zip(*(matrix.chunk(self.gates) for matrix in self.matrices), strict=True):
                nn.init.xavier_uniform_(inputs)
                nn.init.orthogonal_(states)
            for bias in self._biases:
                nn.init.zeros_(bias)
            if self.kind == "lstm":
                # Torch adds two biases, and one of them is enough. The forget gate is the second of the four.
                nn.init.ones_(self._biases[0].chunk(self.gates)[1])

    @property
    def _biases(self) -> tuple[Tensor, ...]:
        return self._parameter("bias_ih_l0"), self._parameter("bias_hh_l0")

    def _parameter(self, name: str) -> Tensor:
        parameter: Tensor = getattr(self.cell, name)
        return parameter


def reversed_rows(x_BSD: Tensor, lengths_B: Tensor) -> Tensor:
    """Return sequences with the order of their real positions reversed; padding stays at the end."""
    positions_S = torch.arange(x_BSD.size(1), device=x_BSD.device)
    last_B1 = lengths_B[:, None] - 1
    order_BS = torch.where(positions_S <= last_B1, last_B1 - positions_S, positions_S)
    return x_BSD.gather(1, order_BS[:, :, None].expand(-1, -1, x_BSD.size(2)))


class ReversingLens:
    """A lens for a layer that reads reversed sequences. It passes everything on in the order of the source."""

    def __init__(self, lens: Lens, lengths_B: Tensor) -> None:
        self._lens, self._lengths_B = lens, lengths_B

    def see(self, name: str, tensor: Tensor) -> None:
        self._lens.see(name, reversed_rows(tensor, self._lengths_B))

    def weights(self, name: str, weights_BHLM: Tensor, first_row: int = 0) -> Tensor:
        return self._lens.weights(name, weights_BHLM, first_row)
