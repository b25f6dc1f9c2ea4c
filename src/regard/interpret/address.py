"""The addresses of attention sublayers, heads and attention maps. Only this module parses addresses.

encoder.2.self           an attention sublayer: encoder or decoder, number of the layer (from 1), self or cross
encoder.2.self.5         one head of that sublayer; heads count from 1
encoder.2.self.mean      a map over the heads of one sublayer: mean or max
encoder.self.mean        a map over all layers of one kind of attention: mean, max or rollout
encoder.2.self.5.weight  a quantity of one head
"""

from regard.errors import LookError
from regard.settings.kinds.transformer import TransformerSettings

REDUCTIONS = ("mean", "max")  # how the attention weights of several heads are combined into one map
_SUBLAYERS = {"encoder": ("self",), "decoder": ("self", "cross")}


def head_addresses(settings: TransformerSettings) -> tuple[str, ...]:
    """Return the address of every head of a model, in the order of computation."""
    return tuple(
        f"{attention}.{head}" for attention in attention_addresses(settings) for head in range(1, settings.heads + 1)
    )


def attention_addresses(settings: TransformerSettings) -> tuple[str, ...]:
    """Return the address of every attention sublayer of a model, in the order of computation."""
    depths = {"encoder": settings.encoder_layers, "decoder": settings.decoder_layers}
    return tuple(
        f"{stack}.{layer}.{sublayer}"
        for stack, depth in depths.items()
        for layer in range(1, depth + 1)
        for sublayer in _SUBLAYERS[stack]
    )


def check_head(address: str, settings: TransformerSettings) -> str:
    """Return the address if the model has this head, and raise an error otherwise."""
    known = head_addresses(settings)
    if address not in known:
        raise LookError(f"there is no head {address!r}; this model's heads are {known[0]} to {known[-1]}")
    return address


def kind_of(attention: str) -> str:
    """Return the kind of an attention sublayer: `encoder.self` for `encoder.2.self`."""
    stack, _, sublayer = attention.split(".")
    return f"{stack}.{sublayer}"


def stack_of(address: str) -> str:
    """Return whether an address is in the `encoder` or in the `decoder`."""
    return address.partition(".")[0]


def split_last(address: str) -> tuple[str, str]:
    """Split off the last part of an address: `encoder.2.self.5` becomes `encoder.2.self` and `5`."""
    parent, _, last = address.rpartition(".")
    return parent, last


def is_attention(address: str) -> bool:
    """Return whether an address has the form of an attention sublayer, such as `encoder.2.self`."""
    return address.count(".") == 2


def split_head(address: str) -> tuple[str, str] | None:
    """Split an address of the form `encoder.2.self.5` into sublayer and head; return None for any other form."""
    attention, head = split_last(address)
    return (attention, head) if is_attention(attention) and head not in REDUCTIONS else None


def locate_head(address: str) -> tuple[str, int]:
    """Return the sublayer and the index (from 0) of a head: `encoder.2.self` and 4 for `encoder.2.self.5`."""
    attention, head = split_last(address)
    return attention, int(head) - 1
