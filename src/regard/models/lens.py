"""The lens: an observer of a forward pass that records tensors and may replace attention weights."""

from typing import Protocol

from torch import Tensor


class Lens(Protocol):
    """An observer of a forward pass. Without a lens, nothing extra is computed or stored."""

    def see(self, name: str, tensor: Tensor) -> None:
        """Record a tensor under its address, such as `encoder.2` or `encoder.2.self.query`."""

    def weights(self, name: str, weights_BHLM: Tensor) -> Tensor:
        """Record the attention weights of all heads of one attention sublayer, and return the weights that it will use.

        The result may be the recorded weights, or other weights that replace them. `name` is the address of the
        sublayer, such as `decoder.3.cross`. In cross-attention with several beams, the queries of all beams of a
        sentence are concatenated in dimension L.
        """


def record(lens: Lens | None, name: str, **tensors: Tensor) -> None:
    """Pass tensors to the lens, if there is one.

    With the name `encoder.2.self`, the tensor of the keyword argument `query` has the address `encoder.2.self.query`.
    """
    if lens is not None:
        for quantity, tensor in tensors.items():
            lens.see(f"{name}.{quantity}", tensor)
