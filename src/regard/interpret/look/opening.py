"""Chooses what a reader sees first: a head, and the word whose attention it shows.

The first kind of attention in which a text attends to itself is shown first. The head is the one that is removed, if
one is; otherwise, if the effects of removing heads are known, the head whose removal changes the probability of one
target token most; otherwise any. These effects may be known of a few heads only, whose weights stand out. The word is
the one with the weight that stands out most: the weight from the word to another word at least three words away, less
the mean weight that the other heads put there. Special tokens and punctuation do not count. A text that is too short
for three words takes the nearest words too.
"""

from dataclasses import dataclass

import numpy as np

from regard.interpret.address import split_last
from regard.interpret.look.attention_map import attention_map
from regard.interpret.look.head_effects import HeadEffects
from regard.interpret.tokens import Tokens
from regard.interpret.trace import Array, Trace, TracedAttention

_FAR = 3
_TRIED = 6  # heads whose weights stand out most


@dataclass(frozen=True)
class Opening:
    """The map to show first, the index of its row, counted in words, and the rule that chose it.

    The rule is `effect` or `weight`, or empty if the choice has no meaning.
    """

    address: str
    row: int
    rule: str


def find_opening(trace: Trace, effects: HeadEffects | None = None, removed: str | None = None) -> Opening | None:
    """Return what to show first, or None if the model has no attention.

    The trace, and the effects if they are known, are those of the full model. `removed` is the head that is removed.
    """
    if removed:
        kind = trace.attention(split_last(removed)[0]).kind
        return opening_of_kind(trace, kind, removed=removed)
    itself = (one.kind for one in trace.attentions if one.anatomy.queries == one.anatomy.keys)
    first = next(itself, trace.attentions[0].kind if trace.attentions else None)
    return opening_of_kind(trace, first, effects) if first else None


def opening_of_kind(trace: Trace, kind: str, effects: HeadEffects | None = None, removed: str | None = None) -> Opening:
    """Return what to show first of one kind of attention."""
    layers = [attention for attention in trace.attentions if attention.kind == kind]
    heads = [head for attention in layers for head in attention.anatomy.head_addresses]
    chosen, rule = ([removed], "") if removed else _chosen_heads(trace, heads, effects)
    left_out = np.array([head not in chosen for head in heads])
    for far in (_FAR, 1):
        differences = _prominence(trace, layers[0], heads, far)
        differences[left_out] = -np.inf
        if np.isfinite(differences).any():
            head, row, _ = np.unravel_index(np.argmax(differences), differences.shape)
            return Opening(heads[head], int(row), rule if far == _FAR or rule == "effect" else "")
    return Opening(chosen[-1], 0, "")


def prominent_heads(trace: Trace) -> list[str]:
    """Return the heads of the kind that is shown first whose weights stand out most."""
    opening = find_opening(trace)
    if opening is None:
        return []
    layers = [one for one in trace.attentions if one.kind == trace.attention(split_last(opening.address)[0]).kind]
    heads = [head for attention in layers for head in attention.anatomy.head_addresses]
    most = _prominence(trace, layers[0], heads, _FAR).max(axis=(1, 2))
    return [heads[i] for i in np.argsort(-most, kind="stable")[:_TRIED]]


def _prominence(trace: Trace, layer: TracedAttention, heads: list[str], far: int) -> Array:
    """Return how much each weight of each head stands out from the other heads; -inf for weights that do not count."""
    weights = np.stack([attention_map(trace, head).values for head in heads])
    others = (weights.sum(axis=0) - weights) / max(1, len(heads) - 1)
    return np.where(_candidates(layer, far), weights - others, -np.inf)


def _chosen_heads(trace: Trace, heads: list[str], effects: HeadEffects | None) -> tuple[list[str], str]:
    """Return the heads among which the weight is looked for, and the rule that chose them."""
    if effects is None:
        return heads, "weight"
    before_T = trace["probability"][np.arange(len(trace.written.ids)), np.array(trace.written.ids)]
    largest = dict(zip(effects.heads, np.abs(effects.probabilities_HT - before_T).max(axis=1), strict=True))
    return [
        max((head for head in heads if head in largest), key=lambda head: largest[head], default=heads[0])
    ], "effect"


def _candidates(attention: TracedAttention, far: int) -> Array:
    """Return a matrix that is True where both words count, are at least `far` words apart, and are not masked."""
    rows, columns = _has_content(attention.rows), _has_content(attention.columns)
    first, second = np.arange(len(rows))[:, None], np.arange(len(columns))[None, :]
    apart = np.abs(first - second) >= far
    if attention.anatomy.queries != attention.anatomy.keys:
        apart = np.ones_like(apart)
    visible = second <= first if attention.anatomy.causal else True
    return np.asarray(rows[:, None] & columns[None, :] & apart & visible)


def _has_content(tokens: Tokens) -> Array:
    words = tokens.content_words()
    return np.array([i in words for i in range(len(tokens.words))])
