"""The arithmetic of attention for one token in one head, and the vectors of one token from layer to layer.

Every number was recorded in a forward pass of the model, with its intervention if it had one, or is computed here from
recorded numbers.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from regard.errors import LookError
from regard.interpret.look.attention_map import Row, attention_at
from regard.interpret.tokens import Tokens, get_word
from regard.interpret.trace import Array, Intervention, Trace, TracedAttention
from regard.settings.anatomy import ADDITIVE, SCALED_DOT_PRODUCT, Attention, Stack
from regard.tokenizers.word_spans import WordSpan


@dataclass(frozen=True)
class Key:
    """One key of a head: its score and attention weight for one query, and what it contributes to the output."""

    token: str
    key: Array
    tanh: Array | None  # tanh(query + key), which an additive score uses; None for other scores
    products: Array  # element by element: query times key or, for an additive score, the score vector times `tanh`
    score: float  # the sum of the products
    scaled: float  # what the softmax gets: the score divided by the square root of the head width, if it is scaled
    allowed: bool  # False if the mask hides this key
    exponential: float  # exp(scaled - the largest scaled score); 0 if the key is masked
    softmax: float  # the exponential divided by the sum of the exponentials of all keys
    weight: float  # the same, unless an intervention replaces the attention weights of this head
    value: Array
    weighted: Array  # weight times value


@dataclass(frozen=True)
class HeadArithmetic:
    """Every step of the computation of one head for one token, from the input of the sublayer to its output."""

    address: str
    row: Row
    position: int  # the position of the token, counted from 1
    anatomy: Attention  # says how the scores and the output are computed
    sqrt_width: float | None  # the square root of the head width; None if the scores are not scaled
    input: Array
    query: Array
    score_vector: Array | None  # the learned vector of an additive score; None for other scores
    keys: tuple[Key, ...]
    max_scaled: float
    exponential_sum: float
    mixed: Array  # the output of the head: the sum of the weighted values
    first_column: int  # the index of the first element of this head in `joined`, counted from 1
    joined: Array  # the outputs of all heads, concatenated; in a recurrent model, also the input
    output: Array
    skip: Array | None  # what the residual connection adds to the output; None without a residual connection
    residual: Array | None  # output + skip
    norm: Array | None  # the layer norm of `residual`; None if no layer norm follows
    intervention: Intervention | None  # what was changed in the forward pass

    @property
    def weights_are_replaced(self) -> bool:
        """Whether an intervention replaces the attention weights of this head."""
        return self.intervention is not None and self.address in self.intervention.heads


def head_arithmetic(trace: Trace, address: str, position: int) -> HeadArithmetic:
    """Return the arithmetic of one head for the token at a position, counted from 0."""
    found = trace.find_head(address)
    if found is None:
        raise LookError(
            f"{address} is a map over several heads; arithmetic is shown for one head, such as "
            f"{trace.attentions[0].address}.1"
        )
    attention, head = found
    anatomy = attention.anatomy
    allowed, scaled = trace[f"{address}.mask"][position], trace[f"{address}.scaled"][position]
    max_scaled = float(scaled[allowed].max())
    exponentials = np.where(allowed, np.exp(scaled - np.float32(max_scaled)), 0)
    width = anatomy.head_width

    def at(quantity: str) -> Array:
        return np.asarray(trace[f"{attention.address}.{quantity}"][position])

    return HeadArithmetic(
        address=address,
        row=Row(attention.rows.texts[position], attention.read.texts[position] if attention.read else None),
        position=position + 1,
        anatomy=anatomy,
        sqrt_width=width**0.5 if scores_are_scaled(trace, anatomy) else None,
        input=at("input"),
        query=trace[f"{address}.query"][position],
        score_vector=_score_vector(trace, anatomy),
        keys=tuple(_keys(trace, address, attention, position, exponentials)),
        max_scaled=max_scaled,
        exponential_sum=float(exponentials.sum()),
        mixed=trace[f"{address}.mixed"][position],
        first_column=(head - 1) * width + 1,
        joined=at("joined"),
        output=at("output"),
        skip=at("skip" if anatomy.norm == "pre" else "input") if anatomy.residual else None,
        residual=at("residual") if anatomy.residual else None,
        norm=at("norm") if anatomy.norm == "post" else None,
        intervention=trace.intervention,
    )


def scores_are_scaled(trace: Trace, attention: Attention) -> bool:
    """Return whether the softmax got scores that were divided by the square root of the head width."""
    unscaled = trace.intervention is not None and not trace.intervention.scores_are_scaled
    return attention.scoring == SCALED_DOT_PRODUCT and not unscaled


def _keys(trace: Trace, address: str, attention: TracedAttention, position: int, exponentials: Array) -> Iterator[Key]:
    query = trace[f"{address}.query"][position]
    scores, scaled, allowed, softmax, weights = (
        trace[f"{address}.{name}"][position] for name in ("score", "scaled", "mask", "softmax", "weight")
    )
    keys, values = trace[f"{address}.key"], trace[f"{address}.value"]
    vector = _score_vector(trace, attention.anatomy)
    for column, token in enumerate(attention.columns.texts):
        tanh = None if vector is None else np.tanh(query + keys[column])
        yield Key(
            token=token,
            key=keys[column],
            tanh=tanh,
            products=query * keys[column] if vector is None or tanh is None else vector * tanh,
            score=float(scores[column]),
            scaled=float(scaled[column]),
            allowed=bool(allowed[column]),
            exponential=float(exponentials[column]),
            softmax=float(softmax[column]),
            weight=float(weights[column]),
            value=values[column],
            weighted=weights[column] * values[column],
        )


def _score_vector(trace: Trace, attention: Attention) -> Array | None:
    return trace[f"{attention.address}.score_vector"] if attention.scoring == ADDITIVE else None


@dataclass(frozen=True)
class Stage:
    """The vector of one token at one point of the encoder or decoder, and the address of that point."""

    address: str
    description: str
    vector: Array


def token_stages(trace: Trace, stack: Stack, position: int) -> Iterator[Stage]:
    """Yield the vectors of one token, from its embedding to the output of a stack. Positions count from 0."""
    tokens = trace.source if stack.side == "source" else trace.read
    for vector in stack.vectors:
        meaning = vector.meaning.format(token=tokens.ids[position], position=position)
        yield Stage(vector.address, meaning, trace[vector.address][position])


def find_token(trace: Trace, address: str, word: str, *, tokens: bool = False) -> tuple[Tokens, WordSpan]:
    """Find a word on the side of the queries of the attention at an address.

    Return all tokens of that text, and the span of the word among them.
    """
    side = attention_at(trace, address).rows
    return side, get_word(word, side.units(tokens=tokens))
