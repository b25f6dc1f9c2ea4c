"""The addresses of attention heads, such as `encoder.2.self.5`."""

from regard.errors import LookError
from regard.settings.kinds.transformer import TransformerSettings

OVER_HEADS = ("mean", "max")  # maps over the heads of a layer, or of all layers
_PARTS = {"encoder": ("self",), "decoder": ("self", "cross")}


def head_addresses(settings: TransformerSettings) -> tuple[str, ...]:
    """Every head of a model, in the order of the work."""
    return tuple(
        f"{attention}.{head}" for attention in attention_addresses(settings) for head in range(1, settings.heads + 1)
    )


def attention_addresses(settings: TransformerSettings) -> tuple[str, ...]:
    """Every attention of a model, in the order of the work."""
    depths = {"encoder": settings.encoder_layers, "decoder": settings.decoder_layers}
    return tuple(
        f"{stack}.{layer}.{part}"
        for stack, depth in depths.items()
        for layer in range(1, depth + 1)
        for part in _PARTS[stack]
    )


def check_head(address: str, settings: TransformerSettings) -> str:
    """The address, if there is such a head."""
    known = head_addresses(settings)
    if address not in known:
        raise LookError(f"there is no head {address!r}; this model's heads are {known[0]} to {known[-1]}")
    return address


def kind_of(attention: str) -> str:
    """`encoder.self` of `encoder.2.self`."""
    stack, _, part = attention.split(".")
    return f"{stack}.{part}"
