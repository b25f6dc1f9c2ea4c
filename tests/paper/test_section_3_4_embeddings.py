"""Section 3.4: embeddings and softmax."""

import math
from typing import Any

import pytest
import torch
from tests.paper.small_model import (
    random_source,
    random_tokens,
    record_inputs,
    tiny,
)
from torch import Tensor

from regard.models.inputs import Inputs
from regard.models.positions import sinusoids


def test_one_matrix_is_both_embeddings_and_the_projection():
    """Section 3.4: both embeddings and the linear map before the softmax share one matrix."""
    model = tiny()
    matrix = model.embedding.weight
    assert sum(parameter.shape == matrix.shape for parameter in model.parameters()) == 1
    used: list[int] = []

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            used.extend(arg.data_ptr() for arg in args if isinstance(arg, Tensor) and arg.shape == matrix.shape)
            return function(*args, **(kwargs or {}))

    with Watch():
        model(random_source(1, 3), random_tokens(1, 4))
    assert used == [matrix.data_ptr()] * 3


def test_the_projection_is_the_embedding_matrix_without_a_bias():
    """Section 3.4: the linear transformation before the softmax uses the embedding matrix."""
    model, hidden = tiny(), torch.randn(2, 3, 16)
    torch.testing.assert_close(model.project(hidden), hidden @ model.embedding.weight.T)


@pytest.mark.parametrize("width", [16, 64])
def test_embeddings_are_multiplied_by_the_square_root_of_the_width(width):
    """Section 3.4: embeddings are multiplied by sqrt(d_model); section 3.5: positions are added."""
    model, tokens = tiny(width=width), random_tokens(2, 5)
    recorded = record_inputs(model.encoder["1"], lambda: model(Inputs(tokens), random_tokens(2, 5)))
    expected = model.embedding.weight[tokens] * math.sqrt(width) + sinusoids(5, width)
    torch.testing.assert_close(recorded[0], expected)
    recorded = record_inputs(model.decoder["1"], lambda: model(random_source(2, 5), tokens))
    torch.testing.assert_close(recorded[0], expected)
