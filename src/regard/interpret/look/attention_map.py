"""Attention maps: of one head, or one over several heads, always labelled as what it is.

An address names a map: `encoder.2.self.5` is one head, `encoder.2.self.mean` or `.max` one over the heads of a layer,
`encoder.self.mean` or `.max` over all layers too, and `encoder.self.rollout` follows the weights through all layers,
half of each residual sum counted as a look at oneself (Abnar and Zuidema, 2020).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from regard.errors import LookError
from regard.interpret.address import OVER_HEADS
from regard.interpret.trace import Array, Attention, Trace, split_address
from regard.render.svg import heatmap
from regard.tokenizers.word_spans import WordSpan

_OVER_HEADS: dict[str, Callable[[Array], Array]] = {
    "mean": lambda weights_HLM: np.asarray(weights_HLM.mean(axis=0)),
    "max": lambda weights_HLM: np.asarray(weights_HLM.max(axis=0)),
}


@dataclass(frozen=True)
class Row:
    """Who looks. In the decoder a row has read one word and is about to write another."""

    text: str
    read: str | None = None

    @property
    def label(self) -> str:
        return self.text if self.read is None else f"{self.read} → {self.text}"

    @property
    def sentence(self) -> str:
        return self.text if self.read is None else f"after reading {self.read}, about to write {self.text}"


@dataclass(frozen=True)
class AttentionMap:
    """How much each row looks at each column. `numpy.asarray` gives the numbers, which are read-only."""

    address: str
    title: str
    rows: tuple[Row, ...]
    columns: tuple[str, ...]
    values: Array
    masked: Array  # True where a row may not look at all

    def __array__(self, dtype: object = None, copy: bool | None = None) -> Array:
        array = self.values if dtype is None else self.values.astype(dtype)  # type: ignore[call-overload]
        return np.array(array) if copy else np.asarray(array)

    def ranked(self, row: int) -> list[tuple[str, float]]:
        """The columns a row looks at, most first."""
        order = np.argsort(-self.values[row], kind="stable")
        return [(self.columns[i], float(self.values[row, i])) for i in order if not self.masked[row, i]]

    def svg(self) -> str:
        """The map as a picture."""
        return heatmap(
            self.title,
            [row.label for row in self.rows],
            [row.sentence for row in self.rows],
            self.columns,
            self.values,
            self.masked,
        )

    def _repr_html_(self) -> str:
        return self.svg()


def attention_map(trace: Trace, address: str, *, pieces: bool = False) -> AttentionMap:
    """The map called so, of words or of pieces."""
    attention, title, values = _values(trace, address)
    rows, columns = attention.rows.units(pieces=pieces), attention.columns.units(pieces=pieces)
    allowed = _together(trace[f"{attention.address}.mask"][0].astype(np.float32), rows, columns) > 0
    values = values if pieces else _together(values, rows, columns)
    values.flags.writeable = False
    return AttentionMap(
        address, title, _rows(attention, rows, pieces), tuple(word.text for word in columns), values, ~allowed
    )


def _values(trace: Trace, address: str) -> tuple[Attention, str, Array]:
    if one := split_address(trace, address):
        attention, head = one
        return attention, f"{address}: {_who(attention)}", np.array(trace[f"{attention.address}.weight"][head - 1])
    *where, over = address.split(".")
    heads = trace.settings.heads
    if over in OVER_HEADS and len(where) == 3:
        attention = trace.attention(".".join(where))
        title = f"{over} of the {heads} heads of {attention.address}: {_who(attention)}"
        return attention, title, _OVER_HEADS[over](trace[f"{attention.address}.weight"])
    layers = [one for one in trace.attentions if one.kind == ".".join(where)]
    if not layers or over not in (*OVER_HEADS, "rollout"):
        raise LookError(
            f"there is no map {address!r}; maps are called as {trace.attentions[-1].address}.1 (a head), "
            f"{trace.attentions[-1].address}.mean, {layers[0].kind if layers else 'encoder.self'}.max or "
            "encoder.self.rollout"
        )
    if over == "rollout":
        values = {"encoder.self": _encoder_rollout, "decoder.self": _prefix_rollout, "decoder.cross": _source_rollout}
        title = f"rollout through {len(layers)} layers, mean of heads, half for the residual: {_who(layers[0])}"
        return layers[0], title, values[layers[0].kind](trace)
    weights = np.concatenate([trace[f"{one.address}.weight"] for one in layers])
    title = f"{over} of {heads} heads in each of {len(layers)} layers: {_who(layers[0])}"
    return layers[0], title, _OVER_HEADS[over](weights)


def _who(attention: Attention) -> str:
    return {
        "encoder.self": "source looks at source",
        "decoder.self": "target looks at what is written",
        "decoder.cross": "target looks at source",
    }[attention.kind]


def _encoder_rollout(trace: Trace) -> Array:
    return _rolled([one.address for one in trace.attentions if one.kind == "encoder.self"], trace)


def _rolled(addresses: Sequence[str], trace: Trace) -> Array:
    rolled = np.eye(trace[f"{addresses[0]}.weight"].shape[-1], dtype=np.float32)
    for address in addresses:
        rolled = (rolled + trace[f"{address}.weight"].mean(axis=0) @ rolled) / 2
    return rolled


def _decoder_rollout(trace: Trace) -> tuple[Array, Array]:
    """Shares of the source and of what is written; together each row of both sums to one."""
    source = np.zeros((len(trace.read.ids), len(trace.source.ids)), dtype=np.float32)
    prefix = np.eye(len(trace.read.ids), dtype=np.float32)
    encoder = _encoder_rollout(trace)
    for number in range(1, trace.settings.decoder_layers + 1):
        back = trace[f"decoder.{number}.self.weight"].mean(axis=0)
        source, prefix = (source + back @ source) / 2, (prefix + back @ prefix) / 2
        across = trace[f"decoder.{number}.cross.weight"].mean(axis=0) @ encoder
        source, prefix = (source + across) / 2, prefix / 2
    return source, prefix


def _source_rollout(trace: Trace) -> Array:
    return _decoder_rollout(trace)[0]


def _prefix_rollout(trace: Trace) -> Array:
    return _decoder_rollout(trace)[1]


def _together(values: Array, rows: Sequence[WordSpan], columns: Sequence[WordSpan]) -> Array:
    """Pieces to words: the sum over the pieces looked at, the mean over those that look."""
    summed = np.add.reduceat(values, [word.begin for word in columns], axis=1)
    total = np.add.reduceat(summed, [word.begin for word in rows], axis=0)
    return np.asarray(total / np.array([[word.end - word.begin] for word in rows], dtype=values.dtype))


def _rows(attention: Attention, units: Sequence[WordSpan], pieces: bool) -> tuple[Row, ...]:
    if attention.read is None:
        return tuple(Row(word.text) for word in units)
    read = attention.read.units(pieces=pieces)
    before = [next(word.text for word in read if word.begin <= unit.begin < word.end) for unit in units]
    return tuple(Row(unit.text, text) for unit, text in zip(units, before, strict=True))
