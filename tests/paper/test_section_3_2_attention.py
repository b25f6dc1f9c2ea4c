"""Section 3.2: scaled dot-product attention, multi-head attention, and where the model uses them."""

import math
from typing import Any

import pytest
import torch
from tests.paper.paper_sizes import BASE, BIG
from tests.paper.small_model import AttentionLens, influence, random_source, random_tokens, reference_attention, tiny
from torch.utils.flop_counter import FlopCounterMode

from regard.models.attention import MultiHeadAttention, attend
from regard.models.layers import DecoderLayer, EncoderLayer, KVCache


def test_the_output_is_a_weighted_sum_of_the_values():
    """Section 3.2: the weight of a value depends on how its key matches the query; the output is the weighted sum."""
    q, k, v = (torch.randn(1, 1, 4, 8) for _ in range(3))
    lens = AttentionLens()
    attend(q, k, v, name="here", lens=lens)
    weights = lens.recorded["here"]
    expected = torch.stack([sum(weights[0, 0, i, j] * v[0, 0, j] for j in range(4)) for i in range(4)])  # type: ignore[misc]
    torch.testing.assert_close(attend(q, k, v)[0, 0], expected, atol=1e-6, rtol=0)


def test_dot_products_are_divided_by_the_square_root_of_the_key_width():
    """Section 3.2.1: Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V."""
    q, k, v = (torch.randn(2, 3, 5, 64) for _ in range(3))
    lens = AttentionLens()
    attend(q, k, v, name="here", lens=lens)
    scaled, plain = (q @ k.mT / math.sqrt(64)).softmax(dim=-1), (q @ k.mT).softmax(dim=-1)
    torch.testing.assert_close(lens.recorded["here"], scaled, atol=1e-6, rtol=0)
    torch.testing.assert_close(attend(q, k, v), scaled @ v, atol=1e-5, rtol=0)
    assert (lens.recorded["here"] - plain).abs().max() > 0.3


@pytest.mark.parametrize("width", [16, 64, 256])
def test_scores_of_random_vectors_have_the_same_variance_at_any_width(width):
    """Section 3.2.1, note 4: with components of mean 0 and variance 1, a dot product has mean 0 and variance d_k.

    Attention divides it by the square root of d_k, so that the variance of a score is 1 at any width.
    """
    q, k = torch.randn(20_000, 1, 1, width), torch.randn(20_000, 1, 2, width)
    lens = AttentionLens()
    attend(q, k, k, name="here", lens=lens)
    first, second = lens.recorded["here"].log()[:, 0, 0].unbind(dim=-1)
    scores = first - second  # the difference of the scores of two independent keys: their variances add up
    assert scores.mean().item() == pytest.approx(0, abs=0.03 * 2**0.5)
    assert scores.var().item() == pytest.approx(2, rel=0.05)  # divided by d_k, as the scores are divided by its root


def test_softmax_has_almost_no_gradient_without_the_scaling():
    """Section 3.2.1: large dot products push softmax into regions with extremely small gradients."""

    q, k = torch.randn(1, 1, 200, 512), torch.randn(1, 1, 10, 512)

    def gradient(factor: float) -> float:
        lens = AttentionLens()
        attend(factor * q, k, k, name="here", lens=lens)
        weights = lens.recorded["here"]
        return float((weights * (1 - weights)).mean())  # the derivative of a weight by its score

    scaled, unscaled = gradient(1.0), gradient(512**0.5)
    assert scaled > 0.05
    assert unscaled < 0.2 * scaled


@pytest.mark.parametrize("size", [BASE, BIG], ids=["base", "big"])
def test_heads_have_a_width_of_64(size):
    """Section 3.2.2: h = 8 heads of d_k = d_v = d_model / h = 64; Table 3: the big model has 16 such heads."""
    assert size.model.heads == {512: 8, 1024: 16}[size.model.width]
    with torch.device("meta"):
        attention = MultiHeadAttention(size.model.width, size.model.heads)
        x = torch.empty(2, 5, size.model.width)
        keys, values = attention.keys_and_values(x)
    assert attention.queries(x).shape == keys.shape == values.shape == (2, size.model.heads, 5, 64)


@pytest.mark.parametrize("heads", [1, 2, 4, 8])
def test_heads_are_computed_in_parallel_concatenated_and_projected(heads):
    """Section 3.2.2: MultiHead = Concat(head_1, ..., head_h) W^O, each head with its own projections."""
    attention = MultiHeadAttention(16, heads)
    x, encoded = torch.randn(2, 5, 16), torch.randn(2, 7, 16)
    output = attention.join(attend(attention.queries(x), *attention.keys_and_values(encoded)))
    torch.testing.assert_close(output, reference_attention(attention, x, encoded), atol=1e-5, rtol=0)


def test_the_initial_projections_have_no_bias():
    """Section 3.2.2: the paper's projections are matrices; ours also learn a bias, which is zero at first."""
    attentions = [module for module in tiny().modules() if isinstance(module, MultiHeadAttention)]
    assert not any(layer.bias.any() for each in attentions for layer in (each.query, each.key, each.value, each.output))


def test_many_heads_cost_as_much_as_one():
    """Section 3.2.2: heads are narrower, so the total cost equals that of one head of full width."""
    costs = set()
    for heads in (1, 2, 4, 8):
        attention = MultiHeadAttention(32, heads)
        x = torch.randn(2, 6, 32)
        with FlopCounterMode(display=False) as counter:
            attention.join(attend(attention.queries(x), *attention.keys_and_values(x), lens=AttentionLens()))
        costs.add((sum(parameter.numel() for parameter in attention.parameters()), counter.get_total_flops()))
    assert len(costs) == 1


def test_encoder_decoder_attention_takes_queries_from_the_decoder_and_keys_and_values_from_the_encoder():
    """Section 3.2.3: queries come from the previous decoder layer, keys and values from the output of the encoder."""
    model = tiny()
    encoded = model.encode(random_source(2, 5))
    state = model.start(encoded)
    for number, layer in enumerate(state.layers, start=1):
        block: Any = model.decoder[str(number)]
        torch.testing.assert_close(
            layer.cross_keys_BHSE.transpose(1, 2).flatten(2), block.cross.key(encoded.hidden_BSD)
        )
        torch.testing.assert_close(
            layer.cross_values_BHSE.transpose(1, 2).flatten(2), block.cross.value(encoded.hidden_BSD)
        )
    first, second = AttentionLens(), AttentionLens()
    _, after = model.decode(random_tokens(2, 3), state, first)
    model.decode(random_tokens(2, 3), state, second)
    assert first.recorded["decoder.1.cross"].shape == (2, 2, 3, 5)
    assert not torch.allclose(first.recorded["decoder.1.cross"], second.recorded["decoder.1.cross"])
    for before, later in zip(state.layers, after.layers, strict=True):
        assert later.cross_keys_BHSE is before.cross_keys_BHSE
        assert later.cross_values_BHSE is before.cross_values_BHSE


def test_every_decoder_position_attends_to_every_source_position():
    """Section 3.2.3: every target position depends on every source position."""
    layer = DecoderLayer(width=16, heads=2, feedforward=32, norm="post", dropout=0.0)
    encoded = torch.randn(1, 5, 16, requires_grad=True)
    out, _ = layer(torch.randn(1, 4, 16), KVCache(*layer.cross.keys_and_values(encoded)), None, "", None)
    assert bool(influence(out, encoded).all())


def test_every_encoder_position_attends_to_every_position():
    """Section 3.2.3: keys, values and queries all come from the layer below, at all positions."""
    layer = EncoderLayer(width=16, heads=2, feedforward=32, norm="post", dropout=0.0)
    x = torch.randn(1, 6, 16, requires_grad=True)
    assert bool(influence(layer(x, None, "", None), x).all())


def test_no_decoder_position_depends_on_later_positions():
    """Section 3.2.3: each position attends to those up to and including itself."""
    layer = DecoderLayer(width=16, heads=2, feedforward=32, norm="post", dropout=0.0)
    x = torch.randn(1, 6, 16, requires_grad=True)
    out, _ = layer(x, KVCache(*layer.cross.keys_and_values(torch.randn(1, 3, 16))), None, "", None)
    assert torch.equal(influence(out, x), torch.ones(6, 6, dtype=torch.bool).tril())


def test_illegal_connections_are_masked_before_the_softmax():
    """Section 3.2.3: they are masked inside the attention, before the softmax, so that their weight is zero."""
    lens = AttentionLens()
    tiny()(random_source(2, 4), random_tokens(2, 6), lens)
    for name in ("decoder.1.self", "decoder.2.self"):
        assert torch.equal(lens.recorded[name] > 0, torch.ones(6, 6, dtype=torch.bool).tril().expand(2, 2, 6, 6))
        torch.testing.assert_close(lens.recorded[name].sum(dim=-1), torch.ones(2, 2, 6))
