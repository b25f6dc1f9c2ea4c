"""The arithmetic of attention for one token in one head, and the vectors of one token from layer to layer.

Every number was recorded in a forward pass of the model or is computed here from recorded numbers.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from regard.errors import LookError
from regard.interpret.look.attention_map import Row, attention_at
from regard.interpret.tokens import Tokens, get_word
from regard.interpret.trace import Array, Trace, TracedAttention
from regard.settings.anatomy import SCALED_DOT_PRODUCT, Stack
from regard.tokenizers.word_spans import WordSpan


@dataclass(frozen=True)
class Key:
    """One key of a head: its score and attention weight for one query, and what it contributes to the output."""

    token: str
    key: Array
    products: Array  # query times key, element by element
    score: float  # the sum of the products
    scaled: float  # the score divided by the square root of the head width
    allowed: bool  # False if the mask hides this key
    exponential: float  # exp(scaled - the largest scaled score); 0 if the key is masked
    weight: float  # the exponential divided by the sum of the exponentials of all keys
    value: Array
    weighted: Array  # weight times value


@dataclass(frozen=True)
class HeadArithmetic:
    """Every step of the computation of one head for one token, from the input of the sublayer to its output."""

    address: str
    row: Row
    position: int  # the position of the token, counted from 1
    sqrt_width: float  # the square root of the head width
    input: Array
    query: Array
    keys: tuple[Key, ...]
    max_scaled: float
    exponential_sum: float
    mixed: Array  # the output of the head: the sum of the weighted values
    first_column: int  # the index of the first element of this head in `joined`, counted from 1
    joined: Array  # the outputs of all heads, concatenated
    output: Array
    residual: Array
    norm: Array | None  # the layer norm of `residual`; None if the model applies layer norm before each sublayer


def head_arithmetic(trace: Trace, address: str, position: int) -> HeadArithmetic:
    """Return the arithmetic of one head for the token at a position, counted from 0."""
    found = trace.find_head(address)
    if found is None:
        raise LookError(
            f"{address} is a map over several heads; arithmetic is shown for one head, such as "
            f"{trace.attentions[0].address}.1"
        )
    attention, head = found
    if attention.anatomy.scoring != SCALED_DOT_PRODUCT:
        raise LookError(f"{address} has no queries and keys whose arithmetic could be shown; look at its map instead")
    allowed, scaled = trace[f"{address}.mask"][position], trace[f"{address}.scaled"][position]
    max_scaled = float(scaled[allowed].max())
    exponentials = np.where(allowed, np.exp(scaled - np.float32(max_scaled)), 0)
    width = attention.anatomy.head_width
    return HeadArithmetic(
        address=address,
        row=Row(attention.rows.texts[position], attention.read.texts[position] if attention.read else None),
        position=position + 1,
        sqrt_width=width**0.5,
        input=trace[f"{attention.address}.input"][position],
        query=trace[f"{address}.query"][position],
        keys=tuple(_keys(trace, address, attention, position, exponentials)),
        max_scaled=max_scaled,
        exponential_sum=float(exponentials.sum()),
        mixed=trace[f"{address}.mixed"][position],
        first_column=(head - 1) * width + 1,
        joined=trace[f"{attention.address}.joined"][position],
        output=trace[f"{attention.address}.output"][position],
        residual=trace[f"{attention.address}.residual"][position],
        norm=trace[f"{attention.address}.norm"][position] if attention.anatomy.norm == "post" else None,
    )


def _keys(trace: Trace, address: str, attention: TracedAttention, position: int, exponentials: Array) -> Iterator[Key]:
    query = trace[f"{address}.query"][position]
    scores, scaled, allowed, weights = (
        trace[f"{address}.{name}"][position] for name in ("score", "scaled", "mask", "weight")
    )
    keys, values = trace[f"{address}.key"], trace[f"{address}.value"]
    for column, token in enumerate(attention.columns.texts):
        yield Key(
            token=token,
            key=keys[column],
            products=query * keys[column],
            score=float(scores[column]),
            scaled=float(scaled[column]),
            allowed=bool(allowed[column]),
            exponential=float(exponentials[column]),
            weight=float(weights[column]),
            value=values[column],
            weighted=weights[column] * values[column],
        )


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
