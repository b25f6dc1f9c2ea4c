"""The addresses of attentions, heads and attention maps.

encoder.2.self           an attention: the second encoder layer's self-attention; layers count from 1
encoder.2.self.5         one head of that attention; heads count from 1
encoder.2.self.mean      a map over the heads of one attention: mean or max
encoder.self.mean        a map over all layers of one kind of attention: mean, max or rollout
encoder.2.self.5.weight  a quantity of one head

Which attentions a model has, and what they are called, is in its anatomy, whose module also parses addresses.
"""

from regard.errors import LookError
from regard.settings.anatomy import Anatomy, locate_head, split_last

__all__ = ["REDUCTIONS", "check_head", "locate_head", "split_last"]

REDUCTIONS = ("mean", "max")  # how the attention weights of several heads are combined into one map


def check_has_heads(anatomy: Anatomy) -> None:
    """Raise an error if the model has no attention heads."""
    if not anatomy.heads:
        raise LookError(f"this model has no attention, so it has no heads to measure; {anatomy.instead_of_attention}")


def check_head(address: str, anatomy: Anatomy) -> str:
    """Return the address if the model has this head, and raise an error otherwise."""
    known = anatomy.heads
    if not known:
        raise LookError(f"there is no head {address!r}; this model has no attention")
    if address not in known:
        raise LookError(f"there is no head {address!r}; this model's heads are {known[0]} to {known[-1]}")
    return address
