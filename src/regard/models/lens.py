"""Records intermediate tensors of a forward pass, and may replace attention weights."""

from typing import Protocol

from torch import Tensor


class Lens(Protocol):
    """An eye on the model. Without one nothing is computed for it or kept."""

    def see(self, name: str, tensor: Tensor) -> None:
        """Record a tensor under its address, such as `encoder.2` or `encoder.2.self.query`."""

    def weights(self, name: str, weights_BHLM: Tensor) -> Tensor:
        """Record the attention weights of all heads of, say, `decoder.3.cross`; return them, or others instead.

        In the cross attention of several beams, the beams of a sentence stand side by side as queries.
        """


def record(lens: Lens | None, name: str, **tensors: Tensor) -> None:
    """Let the lens, if there is one, see tensors of `name`, each under its own."""
    if lens is not None:
        for quantity, tensor in tensors.items():
            lens.see(f"{name}.{quantity}", tensor)
