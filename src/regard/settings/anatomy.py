"""The anatomy of a model: which stacks, layers and attentions it has, as a description that needs no torch.

Everything that inspects a model follows this description and never a class or the parts of a name. Addresses count
layers and heads from 1, as in `encoder.2.self.5`. Only this module and `regard.interpret` parse addresses, with the
functions at the end of this module.
"""

from dataclasses import dataclass
from typing import Literal

Side = Literal["source", "target"]

# How a query q and a key k give a score. The first is that of the paper (section 3.2.1); Luong et al. (2015) introduced
# the others but the last, which is that of Bahdanau et al. (2015).
SCALED_DOT_PRODUCT = "scaled dot product"  # q·k divided by the square root of the width of the head
DOT_PRODUCT = "dot product"  # q·k
BILINEAR = "bilinear"  # q·k, where k is a projection of the encoder output
ADDITIVE = "additive"  # v·tanh(q + k) with a learned vector v


@dataclass(frozen=True)
class Attention:
    """One attention of a model, with all its heads.

    Its queries are the positions of one side, and its keys the positions of the same side or of the other side.
    """

    address: str  # such as `decoder.3.cross`
    kind: str  # the same in all layers, such as `decoder.cross`
    layer: int
    heads: int
    head_width: int  # the width of the query, key and value of one head
    queries: Side
    keys: Side
    causal: bool  # whether a query may attend only to the keys up to its own position
    scoring: str  # how a query and a key give a score, such as SCALED_DOT_PRODUCT
    norm: Literal["pre", "post"] | None = None  # where the layer norm of the sublayer is, if it has one
    residual: bool = True  # whether the output is added to the input of the sublayer

    @property
    def head_addresses(self) -> tuple[str, ...]:
        return tuple(f"{self.address}.{head}" for head in range(1, self.heads + 1))


@dataclass(frozen=True)
class Sublayer:
    """A part of each layer of a stack, as drawings show it."""

    title: str  # such as "Self-attention"
    detail: str  # such as "4 heads of 32"


@dataclass(frozen=True)
class Vector:
    """A vector that each position of a stack has.

    `meaning` says how it is computed; `{position}` in it stands for the position, and `{token}` for the token id there.
    """

    address: str  # such as `encoder.1.self.residual`
    meaning: str


@dataclass(frozen=True)
class Stack:
    """Layers that turn the vectors of one side into new vectors: an encoder or a decoder."""

    name: str
    side: Side
    input: str  # what the vectors of the first layer are, such as "embedding + position"
    sublayers: tuple[Sublayer, ...]  # of each layer, in the order of computation
    outputs: tuple[str, ...]  # the addresses of the input of the first layer and of the output of each layer
    vectors: tuple[Vector, ...]  # all vectors of one position, in the order of computation

    @property
    def layers(self) -> int:
        return len(self.outputs) - 1


@dataclass(frozen=True)
class Anatomy:
    """The stacks and the attentions of a model, in the order of computation.

    `removable` names the parts that `look --without` can leave out, besides attention heads.
    """

    stacks: tuple[Stack, ...]
    attentions: tuple[Attention, ...]
    removable: tuple[str, ...] = ()

    def attention(self, address: str) -> Attention | None:
        return next((attention for attention in self.attentions if attention.address == address), None)

    @property
    def heads(self) -> tuple[str, ...]:
        """The addresses of all attention heads, in the order of computation."""
        return tuple(head for attention in self.attentions for head in attention.head_addresses)

    @property
    def main_attention(self) -> Attention:
        """The attention to show first: the last one from target to source, or the last of all if there is none."""
        crossing = [one for one in self.attentions if (one.queries, one.keys) == ("target", "source")]
        return (crossing or list(self.attentions))[-1]

    @property
    def cross_heads(self) -> tuple[str, ...]:
        """The addresses of the heads whose queries are target positions and whose keys are source positions."""
        crossing = (one for one in self.attentions if (one.queries, one.keys) == ("target", "source"))
        return tuple(head for attention in crossing for head in attention.head_addresses)


def split_last(address: str) -> tuple[str, str]:
    """Split off the last part of an address: `encoder.2.self.5` becomes `encoder.2.self` and `5`."""
    parent, _, last = address.rpartition(".")
    return parent, last


def locate_head(address: str) -> tuple[str, int]:
    """Return the attention and the index (from 0) of a head: `encoder.2.self` and 4 for `encoder.2.self.5`."""
    attention, head = split_last(address)
    return attention, int(head) - 1
