"""Attention maps: the weights of one head, or the weights of several heads combined.

A map has one of four kinds of address: one head (`encoder.2.self.5`), the mean or maximum over the heads of a sublayer
(`encoder.2.self.mean` or `.max`), the mean or maximum over the heads of all layers (`encoder.self.mean` or `.max`), or
attention rollout through all layers (`encoder.self.rollout`). In rollout, half the weight of each sublayer stays on the
token itself because of the residual connection (Abnar and Zuidema, 2020).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from regard.errors import LookError
from regard.interpret.address import REDUCTIONS, split_last
from regard.interpret.trace import Array, Trace, TracedAttention
from regard.render.svg import heatmap
from regard.settings.anatomy import Attention
from regard.tokenizers.word_spans import WordSpan

_REDUCE_HEADS: dict[str, Callable[[Array], Array]] = {
    "mean": lambda weights_HLM: np.asarray(weights_HLM.mean(axis=0)),
    "max": lambda weights_HLM: np.asarray(weights_HLM.max(axis=0)),
}


@dataclass(frozen=True)
class Row:
    """A word or token that attends, which is one row of a map.

    In the decoder, `text` is the word to be predicted, and `read` is the input word before it.
    In the encoder, `read` is None.
    """

    text: str
    read: str | None = None

    @property
    def label(self) -> str:
        return self.text if self.read is None else f"{self.read} → {self.text}"

    @property
    def description(self) -> str:
        return self.text if self.read is None else f"after {self.read}, predicting {self.text}"


@dataclass(frozen=True)
class AttentionMap:
    """The attention weights of queries (`rows`) on keys (`columns`). `numpy.asarray` returns them, read-only."""

    address: str
    title: str
    rows: tuple[Row, ...]
    columns: tuple[str, ...]
    values: Array
    masked: Array  # True where the query may not attend to the key

    def __array__(self, dtype: object = None, copy: bool | None = None) -> Array:
        array = self.values if dtype is None else self.values.astype(dtype)  # type: ignore[call-overload]
        return np.array(array) if copy else np.asarray(array)

    def ranked(self, row: int) -> list[tuple[str, float]]:
        """Return the keys that the query at index `row` may attend to, with their weights, largest first."""
        order = np.argsort(-self.values[row], kind="stable")
        return [(self.columns[i], float(self.values[row, i])) for i in order if not self.masked[row, i]]

    def svg(self) -> str:
        """Return the map as an SVG picture."""
        return heatmap(
            self.title,
            [row.label for row in self.rows],
            [row.description for row in self.rows],
            self.columns,
            self.values,
            self.masked,
        )

    def _repr_html_(self) -> str:
        return self.svg()


def attention_map(trace: Trace, address: str, *, tokens: bool = False) -> AttentionMap:
    """Return the attention map at an address, between words or, if `tokens` is True, between tokens."""
    attention, title, weights = _token_map(trace, address)
    rows, columns = attention.rows.units(tokens=tokens), attention.columns.units(tokens=tokens)
    allowed = _group(trace[f"{attention.address}.mask"][0].astype(np.float32), rows, columns) > 0
    values = weights if tokens else _group(weights, rows, columns)
    values.flags.writeable = False
    if trace.intervention is not None:
        title = f"{title}; without {trace.intervention.name}"
    return AttentionMap(
        address, title, _rows(attention, rows, tokens), tuple(word.text for word in columns), values, ~allowed
    )


def _token_map(trace: Trace, address: str) -> tuple[TracedAttention, str, Array]:
    """Return three parts of the map at an address: its attention sublayer, its title, and its weights between tokens.

    For a map over all layers, the sublayer is that of the first layer; tokens and mask are the same in all layers.
    """
    if found := trace.find_head(address):
        attention, head = found
        weights = np.array(trace[f"{attention.address}.weight"][head - 1])
        return attention, f"{address}: {direction(attention.anatomy)}", weights
    parent, reduction = split_last(address)
    if reduction in REDUCTIONS and parent in [attention.address for attention in trace.attentions]:
        attention = trace.attention(parent)
        heads = attention.anatomy.heads
        of = f"the {heads} heads of " if heads > 1 else "the only head of "
        title = f"{reduction} of {of}{attention.address}: {direction(attention.anatomy)}"
        return attention, title, _REDUCE_HEADS[reduction](trace[f"{attention.address}.weight"])
    return _all_layers_map(trace, address)


def _all_layers_map(trace: Trace, address: str) -> tuple[TracedAttention, str, Array]:
    kind, reduction = split_last(address)
    layers = [attention for attention in trace.attentions if attention.kind == kind]
    if not layers or reduction not in all_layer_reductions(trace):
        if not trace.attentions:
            raise LookError(f"there is no map {address!r}; this model has no attention")
        if len(trace.anatomy.heads) == 1:
            raise LookError(f"there is no map {address!r}; this model has one, {trace.anatomy.heads[0]}")
        example, first = trace.attentions[-1].address, (layers or trace.attentions)[0].kind
        last = f"{trace.attentions[0].kind}.{all_layer_reductions(trace)[-1]}"
        raise LookError(
            f"there is no map {address!r}; the forms are {example}.1 (a head), {example}.mean, {first}.max and {last}"
        )
    shown = direction(layers[0].anatomy)
    if reduction == "rollout":
        title = f"rollout through {len(layers)} layers (mean of heads, half for the residual): {shown}"
        return layers[0], title, _rollout(trace, layers[0].anatomy)
    weights = np.concatenate([trace[f"{layer.address}.weight"] for layer in layers])
    title = f"{reduction} of {layers[0].anatomy.heads} heads in each of {len(layers)} layers: {shown}"
    return layers[0], title, _REDUCE_HEADS[reduction](weights)


def attention_at(trace: Trace, address: str) -> TracedAttention:
    """Return the attention of a map; for a map over all layers, the attention of the first layer."""
    parent, _ = split_last(address)
    of_kind = (attention for attention in trace.attentions if attention.kind == parent)
    return next(of_kind, None) or trace.attention(parent)


def direction(attention: Attention) -> str:
    """Return which side attends to which side, as the titles of maps say it."""
    keys = "the target so far" if attention.causal and attention.keys == "target" else attention.keys
    return f"{attention.queries} attends to {keys}"


def all_layer_reductions(trace: Trace) -> tuple[str, ...]:
    """Return how the maps of all layers can be combined; rollout needs a residual connection around each attention."""
    has_rollout = all(attention.anatomy.residual for attention in trace.attentions)
    return (*REDUCTIONS, "rollout") if has_rollout else REDUCTIONS


def _rollout(trace: Trace, attention: Attention) -> Array:
    """Return how much each query position depends, through all layers, on each input token on the side of the keys.

    For each position, its dependence on all source tokens and on all target tokens together sums to one.
    """
    # By side: how much the vector of each position, at this point of the computation, depends on each input token.
    source: dict[str, Array] = {"source": np.eye(len(trace.source.ids), dtype=np.float32)}
    target: dict[str, Array] = {
        "source": np.zeros((len(trace.read.ids), len(trace.source.ids)), dtype=np.float32),
        "target": np.eye(len(trace.read.ids), dtype=np.float32),
    }
    sides = {"source": source, "target": target}
    for one in trace.attentions:
        weights_LM = trace[f"{one.address}.weight"].mean(axis=0)
        rows, columns = sides[one.anatomy.queries], sides[one.anatomy.keys]
        for side in rows:
            rows[side] = (rows[side] + weights_LM @ columns[side]) / 2 if side in columns else rows[side] / 2
    return sides[attention.queries][attention.keys]


def _group(weights: Array, rows: Sequence[WordSpan], columns: Sequence[WordSpan]) -> Array:
    """Combine tokens into words: sum over the tokens of each attended word, average over those of each query word."""
    summed = np.add.reduceat(weights, [word.begin for word in columns], axis=1)
    total = np.add.reduceat(summed, [word.begin for word in rows], axis=0)
    return np.asarray(total / np.array([[word.end - word.begin] for word in rows], dtype=weights.dtype))


def _rows(attention: TracedAttention, units: Sequence[WordSpan], tokens: bool) -> tuple[Row, ...]:
    if attention.read is None:
        return tuple(Row(unit.text) for unit in units)
    read_units = attention.read.units(tokens=tokens)
    read = [next(word.text for word in read_units if word.begin <= unit.begin < word.end) for unit in units]
    return tuple(Row(unit.text, text) for unit, text in zip(units, read, strict=True))
