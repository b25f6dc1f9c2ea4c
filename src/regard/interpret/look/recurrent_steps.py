"""The steps of recurrent layers: the gates and states of one position, and the norms of the states at all positions.

Every number was recorded in a forward pass of the model.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from regard.errors import LookError
from regard.interpret.address import split_last
from regard.interpret.look.attention_map import Row
from regard.interpret.trace import Array, Trace
from regard.settings.anatomy import Recurrence, Side


@dataclass(frozen=True)
class RecurrentStep:
    """One step of a recurrent layer: its vectors by name, in the order of computation."""

    recurrence: Recurrence
    row: Row
    position: int  # the position of the token, counted from 1
    vectors: Mapping[str, Array]

    def largest_changes(self, count: int) -> tuple[int, ...]:
        """Return the indices of the units whose hidden state changes most in this step, largest change first."""
        change = np.abs(self.vectors["hidden"] - self.vectors["hidden_before"])
        return tuple(np.argsort(-change, kind="stable")[:count].tolist())

    def worked(self, name: str, unit: int) -> str:
        """Return the formula of a vector with the numbers of one unit, such as "0.5000 × tanh(0.2000)"."""
        formula = next(step.formula for step in self.recurrence.steps if step.name == name)
        return formula.format(**{other: f"{vector[unit]:.4f}" for other, vector in self.vectors.items()})


@dataclass(frozen=True)
class StateNorms:
    """The norm of a state of a recurrent layer at each position of a source or target."""

    recurrence: Recurrence
    state: str  # "hidden" or "cell"
    norms: Array

    @property
    def address(self) -> str:
        """The address of the state, such as `encoder.1.forwards.hidden`."""
        return f"{self.recurrence.address}.{self.state}"


def recurrent_step(trace: Trace, recurrence: Recurrence, position: int) -> RecurrentStep:
    """Return the step of a recurrent layer at a position, counted from 0."""
    vectors = {step.name: trace[f"{recurrence.address}.{step.name}"][position] for step in recurrence.steps}
    return RecurrentStep(recurrence, rows_of(trace, recurrence.side)[position], position + 1, vectors)


def state_norms(trace: Trace) -> tuple[StateNorms, ...]:
    """Return the norms of all states of all recurrent layers, in the order of computation."""
    return tuple(
        StateNorms(recurrence, state, np.linalg.norm(trace[f"{recurrence.address}.{state}"], axis=-1))
        for recurrence in trace.anatomy.recurrences
        for state in recurrence.states
    )


def find_recurrences(trace: Trace, address: str) -> tuple[Recurrence, ...]:
    """Return the recurrent layers at an address: one direction (`encoder.1.forwards`) or all of a layer (`encoder.1`).

    Return an empty tuple if the address is that of an attention, and raise an error if it asks for another layer.
    """
    anatomy = trace.anatomy
    found = tuple(one for one in anatomy.recurrences if address in (one.address, one.layer))
    parent, _ = split_last(address)
    if found or any(name in (one.address, one.kind) for name in (address, parent) for one in anatomy.attentions):
        return found
    heads = "it has no attention"
    if anatomy.heads:
        heads = f"its attention heads are {anatomy.heads[0]} to {anatomy.heads[-1]}"
    if len(anatomy.heads) == 1:
        heads = f"its only attention head is {anatomy.heads[0]}"
    if anatomy.recurrences:
        layers = ", ".join(one.address for one in anatomy.recurrences)
        raise LookError(f"there is nothing at {address!r}; the recurrent layers of this model are {layers}; {heads}")
    outputs = [output for stack in anatomy.stacks for output in stack.outputs[1:]]
    if address in outputs or parent in outputs:
        raise LookError(f"{address} has no gates, because this model has no recurrent layers; {heads}")
    return ()


def find_recurrence(trace: Trace, address: str) -> Recurrence:
    """Return the recurrent layer at an address; a layer with two directions needs the address of one of them."""
    found = find_recurrences(trace, address)
    if len(found) != 1:
        choices = found or trace.anatomy.recurrences
        listed = ", ".join(one.address for one in choices) or "none in this model"
        raise LookError(f"{address} is not one recurrent layer; the recurrent layers are {listed}")
    return found[0]


def rows_of(trace: Trace, side: Side) -> tuple[Row, ...]:
    """Return the name of each position of a side."""
    if side == "source":
        return tuple(map(Row, trace.source.texts))
    return tuple(map(Row, trace.written.texts, trace.read.texts))
