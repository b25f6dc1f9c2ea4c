"""Chooses what a reader sees first: a head, and the word whose attention it shows.

The rule looks for one strong attention weight that is worth pointing out. For each head of the first kind of attention
in which a text attends to itself, it takes the weight from a word to another word at least three words away, and
subtracts the mean weight that the other heads put there. The largest difference is shown. Special tokens and
punctuation do not count. A text that is too short for three words takes the nearest words too.
"""

from dataclasses import dataclass

import numpy as np

from regard.interpret.look.attention_map import attention_map
from regard.interpret.tokens import Tokens
from regard.interpret.trace import Array, Trace, TracedAttention

_FAR = 3


@dataclass(frozen=True)
class Opening:
    """The map to show first, and the index of its row, counted in words."""

    address: str
    row: int
    is_found: bool  # whether the rule found a weight


def find_opening(trace: Trace) -> Opening | None:
    """Return what to show first, or None if the model has no attention."""
    main = trace.anatomy.main_attention
    if main is None:
        return None
    kind = next((one.kind for one in trace.attentions if one.anatomy.queries == one.anatomy.keys), main.kind)
    layers = [attention for attention in trace.attentions if attention.kind == kind]
    heads = [head for attention in layers for head in attention.anatomy.head_addresses]
    weights = np.stack([attention_map(trace, head).values for head in heads])
    others = (weights.sum(axis=0) - weights) / max(1, len(heads) - 1)
    for far in (_FAR, 1):
        differences = np.where(_candidates(layers[0], far), weights - others, -np.inf)
        if np.isfinite(differences).any():
            head, row, _ = np.unravel_index(np.argmax(differences), differences.shape)
            return Opening(heads[head], int(row), far == _FAR)
    return Opening(f"{main.address}.{'mean' if main.heads > 1 else 1}", 0, False)


def _candidates(attention: TracedAttention, far: int) -> Array:
    """Return a matrix that is True where both words count, are at least `far` words apart, and are not masked."""
    rows, columns = _is_word(attention.rows), _is_word(attention.columns)
    first, second = np.arange(len(rows))[:, None], np.arange(len(columns))[None, :]
    apart = np.abs(first - second) >= far
    if attention.anatomy.queries != attention.anatomy.keys:
        apart = np.ones_like(apart)
    visible = second <= first if attention.anatomy.causal else True
    return np.asarray(rows[:, None] & columns[None, :] & apart & visible)


def _is_word(tokens: Tokens) -> Array:
    return np.array([any(map(str.isalnum, word.text)) and word.begin not in tokens.special for word in tokens.words])
