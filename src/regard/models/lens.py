"""The lens: an observer of a forward pass that records tensors and may replace attention weights."""

from collections import defaultdict
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor


class Lens(Protocol):
    """An observer of a forward pass. Without a lens, nothing extra is computed or stored."""

    def see(self, name: str, tensor: Tensor) -> None:
        """Record a tensor under its address, such as `encoder.2` or `encoder.2.self.query`."""

    def weights(self, name: str, weights_BHLM: Tensor, first_row: int = 0) -> Tensor:
        """Record the attention weights of all heads of one attention sublayer, and return the weights that it will use.

        The result may be the recorded weights, or other weights that replace them. `name` is the address of the
        sublayer, such as `decoder.3.cross`. In cross-attention with several beams, the queries of all beams of a
        sentence are concatenated in dimension L.

        A model whose attention depends on the attention of the position before calls this method once for each
        position; `first_row` is then the number of positions before it in the same forward pass.
        """


@runtime_checkable
class OutputLens(Protocol):
    """A lens that may also replace the outputs of heads."""

    def outputs(self, name: str, outputs_BHLE: Tensor, first_row: int = 0) -> Tensor:
        """Return the outputs of all heads of one attention sublayer that the model is to use."""


def replace_outputs(lens: Lens | None, name: str, outputs_BHLE: Tensor) -> Tensor:
    """Return the outputs of heads: the given ones, or those of the lens if it replaces outputs."""
    return lens.outputs(name, outputs_BHLE) if isinstance(lens, OutputLens) else outputs_BHLE


def record(lens: Lens | None, name: str, **tensors: Tensor) -> None:
    """Pass tensors to the lens, if there is one.

    With the name `encoder.2.self`, the tensor of the keyword argument `query` has the address `encoder.2.self.query`.
    """
    if lens is not None:
        for quantity, tensor in tensors.items():
            lens.see(f"{name}.{quantity}", tensor)


def with_rows(before_BHLM: Tensor | None, weights_BHLM: Tensor, first_row: int) -> Tensor:
    """Return the attention weights of one attention in a forward pass so far, given those before row `first_row`."""
    return weights_BHLM if before_BHLM is None or not first_row else torch.cat([before_BHLM, weights_BHLM], dim=2)


class StepLens:
    """A lens for a forward pass that goes from position to position. It joins what another lens is to record.

    Attention weights go to the other lens at once, because it may replace them. All else is joined along the positions,
    and `finish` passes it on.
    """

    # These do not depend on the position. The mask must arrive before the weights.
    _SAME_AT_ALL_POSITIONS = ("key", "value", "mask", "score_vector")

    def __init__(self, lens: Lens) -> None:
        self._lens = lens
        self._row = 0
        self._seen: defaultdict[str, list[Tensor]] = defaultdict(list)

    def see(self, name: str, tensor: Tensor) -> None:
        if not name.endswith(self._SAME_AT_ALL_POSITIONS):
            self._seen[name].append(tensor)
        elif self._row == 0:
            self._lens.see(name, tensor)

    def weights(self, name: str, weights_BHLM: Tensor, first_row: int = 0) -> Tensor:
        self._row += 1
        return self._lens.weights(name, weights_BHLM, first_row=self._row - 1)

    def outputs(self, name: str, outputs_BHLE: Tensor, first_row: int = 0) -> Tensor:
        """Replace the outputs of the position whose weights came last."""
        if not isinstance(self._lens, OutputLens):
            return outputs_BHLE
        return self._lens.outputs(name, outputs_BHLE, first_row=self._row - 1)

    def finish(self) -> None:
        """Pass the joined tensors to the other lens. The axis of the positions is the last but one."""
        for name, tensors in self._seen.items():
            self._lens.see(name, torch.cat(tensors, dim=tensors[0].dim() - 2))
