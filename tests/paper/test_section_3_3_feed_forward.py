"""Section 3.3: position-wise feed-forward networks."""

import pytest
import torch
import torch.nn.functional as F
from tests.paper.paper_sizes import BASE, BIG

from regard.models.layers import FeedForward


@pytest.mark.parametrize(("size", "inner"), [(BASE, 2048), (BIG, 4096)], ids=["base", "big"])
def test_the_inner_layer_is_four_times_as_wide(size, inner):
    """Section 3.3: d_ff = 2048 for d_model = 512; Table 3: 4096 for the big model."""
    assert size.model.feedforward == inner == 4 * size.model.width


def test_the_feed_forward_network_is_two_linear_maps_with_a_relu_between():
    """Section 3.3: FFN(x) = max(0, x W1 + b1) W2 + b2."""
    network = FeedForward(8, 32)
    x = torch.randn(3, 5, 8)
    hidden = torch.maximum(torch.zeros(()), x @ network.inner.weight.T + network.inner.bias)
    torch.testing.assert_close(network(x), hidden @ network.outer.weight.T + network.outer.bias)


def test_the_feed_forward_network_is_applied_to_each_position_identically():
    """Section 3.3: it is applied to each position separately and identically."""
    network = FeedForward(8, 32)
    x = torch.randn(1, 6, 8)
    together = network(x)
    for position in range(6):
        torch.testing.assert_close(together[:, position], network(x[:, position]))
    order = torch.randperm(6)
    torch.testing.assert_close(network(x[:, order]), together[:, order])


def test_the_feed_forward_network_is_two_convolutions_of_kernel_size_one():
    """Section 3.3: the paper's alternative description of the same network."""
    network = FeedForward(8, 32)
    x = torch.randn(2, 6, 8)
    inner = F.conv1d(x.mT, network.inner.weight[:, :, None], network.inner.bias)
    outer = F.conv1d(inner.relu(), network.outer.weight[:, :, None], network.outer.bias)
    torch.testing.assert_close(network(x), outer.mT, atol=1e-6, rtol=0)
