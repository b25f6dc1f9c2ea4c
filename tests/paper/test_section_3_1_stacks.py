"""Sections 3 and 3.1: the architecture, and the stacks of encoder and decoder."""

import itertools
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from tests.padded import batch
from tests.paper.paper_sizes import BASE, BASE_MODEL, BIG, BIG_MODEL, PAPER_VOCAB_SIZE
from tests.paper.small_model import (
    StepCounter,
    influence,
    layer_norm,
    random_source,
    random_tokens,
    record_inputs,
    reference_attention,
    tiny,
)
from torch import Tensor

from regard.inference.search.beam import search
from regard.models.attention import MultiHeadAttention, causal_mask
from regard.models.kinds.transformer import Transformer
from regard.models.layers import DecoderLayer, EncoderLayer, FeedForward, KVCache
from regard.settings.decode import DecodeSettings
from regard.tokenizers.special_ids import BOS, EOS
from regard.training.loss import loss_only


def test_the_encoder_returns_one_vector_per_token():
    """Section 3: the encoder maps a sequence of symbols to a sequence of vectors of the same length."""
    assert tiny().encode(random_source(2, 5)).hidden_BSD.shape == (2, 5, 16)


def test_the_decoder_is_autoregressive():
    """Section 3: it generates one symbol at a time, and each symbol is an input of the next step."""
    inputs: list[list[int]] = []
    outputs = [7, 5, 6, EOS]

    def step(tokens_N1: Tensor, state: StepCounter) -> tuple[Tensor, StepCounter]:
        inputs.append(tokens_N1.flatten().tolist())
        return 9 * F.one_hot(torch.tensor([outputs[len(inputs) - 1]]), 8).float(), state

    ((hypothesis,),) = search(
        step,
        StepCounter(),
        limits_B=torch.tensor([9]),
        decode=DecodeSettings(beam_size=1),
        generable_V=torch.ones(8, dtype=torch.bool),
        bos=BOS,
        eos=EOS,
    )
    assert hypothesis.token_ids == (7, 5, 6)
    assert inputs == [[BOS], [7], [5], [6]]


@pytest.mark.parametrize("size", [BASE, BIG], ids=["base", "big"])
def test_both_stacks_have_six_layers(size):
    """Section 3.1: N = 6 layers in the encoder, and 6 in the decoder."""
    assert (size.model.encoder_layers, size.model.decoder_layers) == (6, 6)


def test_layers_have_the_same_shape_and_share_no_parameters():
    """Section 3.1: a stack consists of identical layers; section 3.3: their parameters differ."""
    model = tiny(encoder_layers=6, decoder_layers=6)
    for stack in (model.encoder, model.decoder):
        layers = [dict(stack[str(number)].named_parameters()) for number in range(1, 7)]
        for first, second in itertools.combinations(layers, 2):
            assert {name: tensor.shape for name, tensor in first.items()} == {n: t.shape for n, t in second.items()}
            assert not {tensor.data_ptr() for tensor in first.values()} & {t.data_ptr() for t in second.values()}
        assert not torch.equal(layers[0]["feedforward.inner.weight"], layers[1]["feedforward.inner.weight"])


def test_the_sizes_of_the_paper_use_post_norm():
    """Section 3.1: the norm is applied to x + Sublayer(x)."""
    assert (BASE_MODEL.norm, BIG_MODEL.norm) == ("post", "post")


def test_an_encoder_layer_is_attention_then_feed_forward_with_residuals_and_norms():
    """Section 3.1: self-attention, then the feed-forward network; each sublayer returns LayerNorm(x + Sublayer(x))."""
    layer = EncoderLayer(width=16, heads=2, feedforward=32, norm="post", dropout=0.0)
    x = torch.randn(2, 5, 16)
    after = layer_norm(x + reference_attention(layer.self, x, x), layer.self_norm)
    expected = layer_norm(after + layer.feedforward(after), layer.feedforward_norm)
    torch.testing.assert_close(layer(x, None, "", None), expected, atol=1e-5, rtol=0)


def test_a_decoder_layer_attends_to_the_encoder_output_between_the_two():
    """Section 3.1: a third sublayer attends to the output of the encoder stack, with the same residuals and norms."""
    layer = DecoderLayer(width=16, heads=2, feedforward=32, norm="post", dropout=0.0)
    x, encoded = torch.randn(2, 5, 16), torch.randn(2, 7, 16)
    output, _ = layer(x, KVCache(*layer.cross.keys_and_values(encoded)), None, "", None)
    causal = causal_mask(5, 5, x.device)
    first = layer_norm(x + reference_attention(layer.self, x, x, causal), layer.self_norm)
    second = layer_norm(first + reference_attention(layer.cross, first, encoded), layer.cross_norm)
    third = layer_norm(second + layer.feedforward(second), layer.feedforward_norm)
    torch.testing.assert_close(output, third, atol=1e-5, rtol=0)


@pytest.mark.parametrize(("size", "width"), [(BASE, 512), (BIG, 1024)], ids=["base", "big"])
def test_every_sublayer_and_the_embedding_have_the_models_width(size, width):
    """Section 3.1: for the residual connections, all of them have outputs of d_model numbers, 512 in the base model."""
    assert size.model.width == width
    with torch.device("meta"):
        model = Transformer(replace(size.model, source_vocab_size=PAPER_VOCAB_SIZE, target_vocab_size=PAPER_VOCAB_SIZE))
    attentions = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
    networks = [module for module in model.modules() if isinstance(module, FeedForward)]
    assert (len(attentions), len(networks)) == (6 + 12, 12)
    assert {attention.output.out_features for attention in attentions} == {width}
    assert {network.outer.out_features for network in networks} == {width}
    assert (model.embedding.embedding_dim, model.positions.weight.size(1)) == (width, width)


def test_the_targets_are_offset_by_one():
    """Section 3.1: the decoder's input is the target shifted right by one position."""
    inputs: list[Tensor] = []

    class Spy(Transformer):
        def decode(self, tokens_NT: Tensor, state: Any, lens: Any = None) -> Any:
            inputs.append(tokens_NT)
            return super().decode(tokens_NT, state, lens)

    loss_only(Spy(tiny().settings), batch(random_tokens(1, 3), [[7, 8, 9, EOS]]))
    assert inputs[0].tolist() == [[BOS, 7, 8, 9]]


def test_a_prediction_depends_on_earlier_targets_only():
    """Section 3.1: with the mask and the offset, the prediction for position i depends only on positions before i."""
    model = tiny()
    out: list[Tensor] = []
    state = model.start(model.encode(random_source(1, 4)))
    (embedded,) = record_inputs(model.decoder["1"], lambda: out.append(model.decode(random_tokens(1, 6), state)[0]))
    assert torch.equal(influence(out[0], embedded), torch.ones(6, 6, dtype=torch.bool).tril())
