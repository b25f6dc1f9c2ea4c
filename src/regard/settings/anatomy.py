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

# How the output of an attention follows from the outputs of its heads.
PROJECTED = "projected"  # concatenated, times a matrix
TANH_WITH_INPUT = "tanh with input"  # concatenated with the input of the attention, times a matrix, then tanh


# What a part of the decoder can get from the encoder: the vectors of all positions, or the last states of its layers.
ENCODER_OUTPUT = "encoder output"
FINAL_STATES = "final states"


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
    output: str = PROJECTED  # how the output follows from the outputs of the heads, such as PROJECTED

    @property
    def head_addresses(self) -> tuple[str, ...]:
        return tuple(f"{self.address}.{head}" for head in range(1, self.heads + 1))


@dataclass(frozen=True)
class StepVector:
    """A vector that a recurrent layer computes in each step, such as a gate.

    An element of it follows from the same elements of earlier vectors by the `formula`, in which `{cell_before}` stands
    for the element of the vector `cell_before`. The formula is empty if it would need the matrices of the layer.
    """

    name: str  # such as `forget_gate`; it is recorded under the address of the layer and this name
    meaning: str
    formula: str = ""


@dataclass(frozen=True)
class Recurrence:
    """A recurrent layer in one direction. It computes its vectors in each step, one position after the other."""

    address: str  # such as `encoder.1.forwards`
    layer: str  # the address of the layer with all its directions, such as `encoder.1`
    title: str  # such as "LSTM"
    side: Side
    width: int
    backwards: bool  # whether it reads from the end to the beginning
    steps: tuple[StepVector, ...]  # in the order of computation; the states before the step come first
    gates: tuple[str, ...]  # the names of the vectors with numbers from 0 to 1
    states: tuple[str, ...]  # the names of the vectors that the next step gets


@dataclass(frozen=True)
class Sublayer:
    """A part of a stack, as drawings show it."""

    title: str  # such as "Self-attention"
    detail: str  # such as "4 heads of 32"
    receives: str = ""  # what it gets from the other stack, such as ENCODER_OUTPUT


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
    after: tuple[Sublayer, ...] = ()  # what follows the last layer

    @property
    def layers(self) -> int:
        return len(self.outputs) - 1


@dataclass(frozen=True)
class Anatomy:
    """The stacks and the attentions of a model, in the order of computation.

    `removable` names the parts that `look --without` can leave out, besides attention heads. `recurrences` are the
    recurrent layers, if there are any.
    """

    stacks: tuple[Stack, ...]
    attentions: tuple[Attention, ...]
    removable: tuple[str, ...] = ()
    recurrences: tuple[Recurrence, ...] = ()

    def attention(self, address: str) -> Attention | None:
        return next((attention for attention in self.attentions if attention.address == address), None)

    @property
    def heads(self) -> tuple[str, ...]:
        """The addresses of all attention heads, in the order of computation."""
        return tuple(head for attention in self.attentions for head in attention.head_addresses)

    @property
    def main_attention(self) -> Attention | None:
        """The attention to show first: the last one from target to source, or the last of all if there is none."""
        crossing = [one for one in self.attentions if (one.queries, one.keys) == ("target", "source")]
        return next(reversed(crossing or self.attentions), None)

    @property
    def instead_of_attention(self) -> str:
        """What a model without attention has, as the end of a message."""
        layers = ", ".join(one.address for one in self.recurrences)
        probes = "`regard measure probes` measures its layers"
        return (
            f"it has the recurrent layers {layers}, whose steps `regard look` shows, and {probes}" if layers else probes
        )

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
