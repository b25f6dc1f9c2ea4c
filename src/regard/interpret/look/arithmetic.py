"""The arithmetic of attention for one piece in one head, and of one piece on its way through a stack.

Every number is taken from the recorded pass, or is one product, power or quotient of such numbers.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from regard.errors import LookError
from regard.interpret.look.attention_map import Row
from regard.interpret.tokens import Tokens, chosen_word
from regard.interpret.trace import Array, Trace, head_width, split_address
from regard.tokenizers.word_spans import WordSpan


@dataclass(frozen=True)
class Key:
    """One piece looked at: how its share comes about, and what it adds."""

    token: str
    key: Array
    products: Array  # query times key, number by number
    score: float  # their sum
    scaled: float  # over the root of the width
    allowed: bool
    power: float  # e to the scaled score less the largest
    weight: float  # the power over the sum of all
    value: Array
    weighted: Array  # weight times value


@dataclass(frozen=True)
class HeadArithmetic:
    """From what a head reads to what its attention hands on, for one piece."""

    address: str
    row: Row
    position: int  # from 1
    root: float  # of the width of a head
    input: Array
    query: Array
    keys: tuple[Key, ...]
    largest: float  # scaled score
    powers: float  # their sum
    mixed: Array  # the sum of the weighted values
    first: int  # where this head's numbers begin among the joined ones, from 1
    joined: Array
    output: Array
    residual: Array
    norm: Array | None  # where the layer norm comes after the sum


def head_arithmetic(trace: Trace, address: str, piece: int) -> HeadArithmetic:
    """The arithmetic of one head for the piece at that place, from 0."""
    found = split_address(trace, address)
    if found is None:
        raise LookError(
            f"{address} is a map over several heads; the arithmetic is of one, as {trace.attentions[0].address}.1"
        )
    attention, head = found
    whole = attention.address

    def its(quantity: str) -> Array:
        return trace[f"{whole}.{head}.{quantity}"]

    allowed, scaled, weights = its("mask")[piece], its("scaled")[piece], its("weight")[piece]
    largest = float(scaled[allowed].max())
    powers = np.where(allowed, np.exp(scaled - np.float32(largest)), 0)
    query, values = its("query")[piece], its("value")
    keys = tuple(
        Key(
            text,
            key,
            query * key,
            float(score),
            float(one),
            bool(may),
            float(power),
            float(weight),
            value,
            weight * value,
        )
        for text, key, score, one, may, power, weight, value in zip(
            attention.columns.texts,
            its("key"),
            its("score")[piece],
            scaled,
            allowed,
            powers,
            weights,
            values,
            strict=True,
        )
    )
    width = head_width(trace.settings)
    return HeadArithmetic(
        address=address,
        row=Row(attention.rows.texts[piece], attention.read.texts[piece] if attention.read else None),
        position=piece + 1,
        root=width**0.5,
        input=trace[f"{whole}.input"][piece],
        query=query,
        keys=keys,
        largest=largest,
        powers=float(powers.sum()),
        mixed=its("mixed")[piece],
        first=(head - 1) * width + 1,
        joined=trace[f"{whole}.joined"][piece],
        output=trace[f"{whole}.output"][piece],
        residual=trace[f"{whole}.residual"][piece],
        norm=trace[f"{whole}.norm"][piece] if trace.settings.norm == "post" else None,
    )


@dataclass(frozen=True)
class Stage:
    """Where one piece is on its way: an address, in words, and its vector there."""

    address: str
    what: str
    vector: Array


def token_stages(trace: Trace, stack: str, piece: int) -> Iterator[Stage]:
    """One piece from its row of the embedding to the last vector of a stack."""
    settings = trace.settings
    tokens = trace.source if stack == "encoder" else trace.read

    def stage(address: str, what: str) -> Stage:
        return Stage(address, what, trace[address][piece])

    yield stage(f"{stack}.embedding", f"row {tokens.ids[piece]} of the embedding")
    yield stage(f"{stack}.scaled", f"times the root of the width, {settings.width**0.5:.4f}")
    yield stage(f"{stack}.position", f"what says that it stands at position {piece}")
    yield stage(f"{stack}.sum", "both added")
    parts = ("self", "feedforward") if stack == "encoder" else ("self", "cross", "feedforward")
    for number in range(1, (settings.encoder_layers if stack == "encoder" else settings.decoder_layers) + 1):
        for part in parts:
            where = f"{stack}.{number}.{part}"
            if settings.norm == "pre":
                yield stage(f"{where}.norm", "layer norm")
            yield stage(f"{where}.output", _PARTS[part])
            yield stage(f"{where}.residual", "added to what it was")
            if settings.norm == "post":
                yield stage(f"{where}.norm", "layer norm")
    yield stage(f"{stack}.output", "layer norm: its last vector" if settings.norm == "pre" else "its last vector")


_PARTS = {
    "self": "what it takes from its own side",
    "cross": "what it takes from the source",
    "feedforward": "what the feed-forward network makes of it",
}


def find_token(trace: Trace, address: str, wanted: str, *, pieces: bool = False) -> tuple[Tokens, WordSpan]:
    """The word among those that look, at the address of an attention or a stack; a decoder's is the one written."""
    tokens = trace.source if address.startswith("encoder") else trace.written
    return tokens, chosen_word(wanted, tokens.units(pieces=pieces))
