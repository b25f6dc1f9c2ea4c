"""Muon: Adam, except that the matrices inside the layers are changed by an orthogonal matrix.

A gradient of a weight matrix points mostly in a few directions, and Adam follows those. Muon (Keller Jordan, 2024)
turns the running mean of gradients into the nearest orthogonal matrix, which changes all directions alike; embeddings,
norms and biases are left to Adam. Torch's own computes in bfloat16, which a processor without it only imitates, and
far too slowly.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

MOMENTUM = 0.95

ITERATIONS = 5

EPSILON = 1e-8  # beside a matrix of norm 1

SCALE = 0.2  # times the root of the longer side: an update then has the size of one of Adam's, and its learning rate


class Muon(torch.optim.Adam):
    """Adam for all parameters but the matrices inside the layers, which Muon changes at the same learning rate."""

    def __init__(self, model: nn.Module, **adam: Any) -> None:
        inner = [module.weight for module in model.modules() if isinstance(module, nn.Linear)]
        chosen = set(map(id, inner))
        rest = [parameter for parameter in model.parameters() if id(parameter) not in chosen]
        groups: list[dict[str, Any]] = [{"params": rest}, {"params": inner}]
        super().__init__(groups, **adam)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        rest, inner = self.param_groups
        self.param_groups = [rest]  # all that Adam is to see
        super().step(closure)
        self.param_groups = [rest, inner]
        # Matrices of one shape are turned together: many small products are slower than a large one.
        for shape in dict.fromkeys(matrix.shape for matrix in inner["params"]):
            alike = [matrix for matrix in inner["params"] if matrix.shape == shape]
            changes = orthogonal(torch.stack([self._mean_gradient(matrix) for matrix in alike]))
            for matrix, change in zip(alike, changes, strict=True):
                matrix.sub_(change, alpha=inner["lr"] * SCALE * max(shape) ** 0.5)

    def _mean_gradient(self, matrix: Tensor) -> Tensor:
        """The running mean, and the newest gradient once more (Nesterov)."""
        state, gradient = self.state[matrix], matrix.grad
        assert gradient is not None
        if not state:
            state["momentum"] = torch.zeros_like(matrix)
        state["momentum"].lerp_(gradient, 1 - MOMENTUM)
        return gradient.lerp(state["momentum"], MOMENTUM)


def orthogonal(several: Tensor) -> Tensor:
    """Matrices (N, rows, columns) with their singular values made about 1, by Newton and Schulz's iteration.

    Its three numbers are Jordan's: they trade exactness, which nobody needs here, for speed.
    """
    # A unit that no longer learns has a mean gradient that fades until it is denormal, where it stays; products of such
    # numbers take a processor a hundred times as long. What is so small turns nothing.
    x = F.hardshrink(several / (several.norm(dim=(1, 2), keepdim=True) + 1e-7), EPSILON)
    tall = x.size(1) > x.size(2)
    x = x.mT if tall else x
    for _ in range(ITERATIONS):
        square = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=-4.7750, alpha=2.0315), x, beta=3.4445)
    return x.mT if tall else x
