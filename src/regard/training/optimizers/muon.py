"""Muon, an optimizer that updates each weight matrix inside the layers by an orthogonal matrix.

The gradient of a matrix has only a few dominant directions, and Adam mostly follows those. Muon (Keller Jordan, 2024)
takes the moving average of the gradients and replaces it by the nearest orthogonal matrix, which changes the weights
equally in all directions. Adam still updates the embeddings, norms and biases. Torch's own Muon is not used: it
computes in bfloat16, which is far too slow on a CPU that has to emulate it.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.models.interface import SequenceModel

MOMENTUM = 0.95

ITERATIONS = 5

NEGLIGIBLE = 1e-8  # entries up to this size are set to zero in a matrix that was divided by its norm

# The update of a matrix is multiplied by this factor and by the square root of its longer side. It is then about as
# large as an update by Adam, so Muon and Adam can use the same learning rate.
SCALE = 0.2


class Muon(torch.optim.Adam):
    """Updates the weight matrices inside the layers by Muon, and all other parameters by Adam.

    The matrices of the gates of a recurrent layer share one parameter, and each of them is orthogonalised separately.
    """

    def __init__(self, model: SequenceModel, **adam: Any) -> None:
        matrices = model.matrices()
        others = [parameter for parameter in model.parameters() if parameter not in matrices]
        inner: list[dict[str, Any]] = [
            {"params": [matrix for matrix in matrices if matrices[matrix] == gates], "gates": gates}
            for gates in dict.fromkeys(matrices.values())
        ]
        super().__init__([{"params": others}, *inner], **adam)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        others, *inner = self.param_groups
        self.param_groups = [others]  # hide the matrices from Adam
        super().step(closure)
        self.param_groups = [others, *inner]
        for group in inner:
            # Matrices of the same shape are orthogonalised together, because one large product is faster than many
            # small ones.
            for shape in dict.fromkeys(matrix.shape for matrix in group["params"]):
                self._update([matrix for matrix in group["params"] if matrix.shape == shape], group)

    def _update(self, matrices: list[Tensor], group: dict[str, Any]) -> None:
        """Update matrices of the same shape."""
        momenta = torch.stack([self._momentum(matrix) for matrix in matrices]).unflatten(1, (group["gates"], -1))
        updates = orthogonalize(momenta.flatten(0, 1))
        scale = SCALE * max(updates.shape[1:]) ** 0.5
        for matrix, update in zip(matrices, updates.view(momenta.shape).flatten(1, 2), strict=True):
            matrix.sub_(update, alpha=group["lr"] * scale)

    def _momentum(self, matrix: Tensor) -> Tensor:
        """Update the moving average of a matrix's gradients and return its Nesterov momentum."""
        state, gradient = self.state[matrix], matrix.grad
        assert gradient is not None
        if not state:
            state["momentum"] = torch.zeros_like(matrix)
        state["momentum"].lerp_(gradient, 1 - MOMENTUM)
        return gradient.lerp(state["momentum"], MOMENTUM)


def orthogonalize(matrices: Tensor) -> Tensor:
    """Change the singular values of N matrices (N, rows, columns) to about 1 by the Newton-Schulz iteration.

    With the three coefficients of Keller Jordan, few iterations are enough, but the values do not become exactly 1.
    """
    # When a unit has stopped learning, its average gradient decays to denormal numbers, which make products a hundred
    # times slower on a CPU. They are set to zero, which does not change the result.
    x = F.hardshrink(matrices / (matrices.norm(dim=(1, 2), keepdim=True) + 1e-7), NEGLIGIBLE)
    is_tall = x.size(1) > x.size(2)
    x = x.mT if is_tall else x
    for _ in range(ITERATIONS):
        square = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=-4.7750, alpha=2.0315), x, beta=3.4445)
    return x.mT if is_tall else x
