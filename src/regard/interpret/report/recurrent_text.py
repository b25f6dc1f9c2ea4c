"""The steps of recurrent layers as text for a terminal: gates and states of one position, and norms of all positions.

A vector is shown as a strip with one sign for each unit, from low (▁) to high (█).
"""

from collections.abc import Iterator, Sequence

import numpy as np
import wcwidth

from regard.interpret.look.recurrent_steps import RecurrentStep, rows_of, state_norms
from regard.interpret.report.sentence_text import LABEL_WIDTH
from regard.interpret.trace import Array, Trace
from regard.render.terminal import TerminalStyle
from regard.render.text import pad
from regard.settings.anatomy import Recurrence

_SIGNS = "▁▂▃▄▅▆▇█"

_WORKED_UNITS = 3  # the number of units whose numbers are shown in full


def strip(values: Array, low: float, high: float) -> str:
    """Return one sign for each number, from ▁ for `low` to █ for `high`."""
    positions = (np.asarray(values, dtype=float) - low) / ((high - low) or 1.0)
    return "".join(_SIGNS[int(min(max(position, 0.0), 0.999) * len(_SIGNS))] for position in positions)


def show_step(step: RecurrentStep, style: TerminalStyle) -> Iterator[str]:
    """Yield the vectors of one step of a recurrent layer, then all numbers of the units that change most."""
    recurrence = step.recurrence
    yield style.strong(f"{recurrence.address}, token {step.position}: {step.row.description}")
    before = "after" if recurrence.backwards else "before"
    yield (
        f"One step of {recurrence.title} with {recurrence.width} units. The state before the step is that of the "
        f"position {before} this one in the text."
    )
    for vector in recurrence.steps:
        values = step.vectors[vector.name]
        low, high = (0.0, 1.0) if vector.name in recurrence.gates else _symmetric(values)
        yield ""
        yield f"{_named(vector.name)}: {vector.meaning}"
        if vector.formula:
            yield f"  = {vector.formula.format(**{one.name: _named(one.name) for one in recurrence.steps})}"
        extremes = f"from {values.min():.4f} to {values.max():.4f}"
        yield f"  mean {values.mean():.4f}, {extremes}; ▁ is {low:.4g}, █ is {high:.4g}"
        yield from _wrapped(strip(values, low, high), style.width - 4)
    units = step.largest_changes(_WORKED_UNITS)
    yield ""
    yield style.strong(f"The {len(units)} units whose hidden state changes most, with all numbers")
    for unit in units:
        yield f"unit {unit + 1}"
        for vector in recurrence.steps:
            worked = f"{step.worked(vector.name, unit)} = " if vector.formula else ""
            yield f"  {_named(vector.name):<14} {worked}{step.vectors[vector.name][unit]:.4f}"


def show_recurrence(trace: Trace, recurrence: Recurrence, style: TerminalStyle) -> Iterator[str]:
    """Yield, for each position of a recurrent layer, the mean of each gate and the norm of each state."""
    rows = [row.label for row in rows_of(trace, recurrence.side)]
    columns = [
        *(f"mean {_named(name)}" for name in recurrence.gates),
        *(f"norm of {name}" for name in recurrence.states),
    ]
    values = [trace[f"{recurrence.address}.{name}"].mean(axis=-1) for name in recurrence.gates]
    values += [np.linalg.norm(trace[f"{recurrence.address}.{name}"], axis=-1) for name in recurrence.states]
    direction = "backwards" if recurrence.backwards else "forwards"
    yield style.strong(f"{recurrence.address}: {recurrence.title} with {recurrence.width} units, reads {direction}")
    label_width = min(LABEL_WIDTH + 8, max(map(wcwidth.width, rows))) + 2
    yield pad("token", label_width) + "".join(f"  {name}" for name in columns)
    for position, label in enumerate(rows):
        numbers = zip(columns, values, strict=True)
        yield pad(label, label_width) + "".join(f"  {each[position]:>{len(name)}.4f}" for name, each in numbers)
    word = rows_of(trace, recurrence.side)[0].text
    yield f"The gates of one position: --trace {recurrence.address} --tokens --word {word}"


def show_norms(trace: Trace, style: TerminalStyle) -> Iterator[str]:
    """Yield the norms of all states of all recurrent layers over the positions, one strip for each state."""
    states = state_norms(trace)
    width = max((len(state.address) for state in states), default=0)
    if states:
        yield style.strong("Norms of the states over the positions; █ is the largest of its line")
    for state in states:
        rows = rows_of(trace, state.recurrence.side)
        ends = (int(np.argmin(state.norms)), int(np.argmax(state.norms)))
        smallest, largest = (f"{state.norms[at]:.2f} ({rows[at].label})" for at in ends)
        shown = strip(state.norms, 0.0, float(state.norms.max()))
        yield f"{state.address:<{width}}  {shown}  {smallest} to {largest}"


def show_states_at(trace: Trace, recurrences: Sequence[Recurrence], position: int) -> Iterator[str]:
    """Yield, for one position, the means of the gates and the norms of the states of some recurrent layers."""
    for recurrence in recurrences:
        gates = (
            f"{_named(name)} {trace[f'{recurrence.address}.{name}'][position].mean():.2f}" for name in recurrence.gates
        )
        norms = (
            f"norm of {name} {np.linalg.norm(trace[f'{recurrence.address}.{name}'][position]):.2f}"
            for name in recurrence.states
        )
        yield f"{recurrence.address}: {', '.join([*gates, *norms])}"


def _named(name: str) -> str:
    return name.replace("_", " ")


def _symmetric(values: Array) -> tuple[float, float]:
    largest = float(np.abs(values).max())
    return -largest, largest


def _wrapped(text: str, width: int) -> Iterator[str]:
    for start in range(0, len(text), max(8, width)):
        yield f"  {text[start : start + max(8, width)]}"
