"""The paper, sentence by sentence: "Attention Is All You Need" (Vaswani et al., 2017, arXiv 1706.03762).

Each test names the section it checks and says in our words what stands there. What needs days of training to check is
not here.

Shapes: B batch, H heads, L queries, M keys, E width of a head, S source length, T target length, D width, V vocabulary.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from regard.data.batching.batches import Batch, StreamPosition, batches
from regard.data.prepare.token_store import EncodedPairs
from regard.inference.search.beam import search
from regard.inference.search.hypothesis import Hypothesis, length_penalty, ranked
from regard.inference.translator import Sources, TokenPairs, Translator
from regard.models.attention import MultiHeadAttention, attend, causal_mask
from regard.models.dropout import Dropout
from regard.models.kinds.transformer import Transformer
from regard.models.layers import DecoderLayer, EncoderLayer, FeedForward, KVCache
from regard.models.positions import Positions, sinusoids
from regard.settings.decode import DecodeSettings
from regard.settings.kinds.transformer import TransformerSettings
from regard.settings.parser import user_overrides
from regard.settings.sections import Settings, assemble
from regard.settings.sizes import size_overrides
from regard.settings.train import TrainSettings
from regard.tokenizers.special_ids import BOS, EOS, PAD
from regard.tokenizers.vocabulary import choose_vocab_size
from regard.training.checkpoints import Checkpoints, RunState
from regard.training.loss import backward_in_chunks, loss_only, summed_loss
from regard.training.optimizers.adam import make_optimizer
from regard.training.optimizers.schedule import learning_rate
from regard.training.planning.plan import Plan
from regard.training.step import micro_batches, training_steps

PAPERS_PIECES = 37_000
MILLION = 1e6
BASE, BIG = assemble(size_overrides("base")), assemble(size_overrides("big"))


class Look:
    """Keeps the attention weights it is shown."""

    def __init__(self) -> None:
        self.seen: dict[str, Tensor] = {}

    def see(self, name: str, tensor: Tensor) -> None:
        pass

    def weights(self, name: str, weights_BHLM: Tensor) -> Tensor:
        self.seen[name] = weights_BHLM
        return weights_BHLM


def tiny(*, dropout: float = 0.0, **shape: Any) -> Transformer:
    """The paper's arrangement, small."""
    values = {"width": 16, "heads": 2, "feedforward": 32, "encoder_layers": 2, "decoder_layers": 2, "max_positions": 16}
    return Transformer(TransformerSettings(vocab_size=24, **{**values, **shape}), dropout).eval()


def pieces(sentences: int, length: int) -> Tensor:
    return torch.randint(EOS + 1, 24, (sentences, length))


class Steps:
    """A state that counts the steps taken."""

    def __init__(self) -> None:
        self.count = 0

    def select(self, beams_BK: Tensor) -> "Steps":
        return self

    def keep(self, sentences: Tensor) -> "Steps":
        return self


@cache
def parameters(**shape: Any) -> int:
    """How many numbers a model has to learn, counted without making room for them."""
    with torch.device("meta"):
        model = Transformer(TransformerSettings(vocab_size=PAPERS_PIECES, **shape))
    return sum(parameter.numel() for parameter in model.parameters())


def of(settings: TransformerSettings) -> dict[str, int]:
    return {name: getattr(settings, name) for name in ("width", "heads", "feedforward")}


def inputs_of(module: nn.Module, run: Any) -> list[Tensor]:
    """What a module is given first, each time it is called."""
    seen: list[Tensor] = []
    handle = module.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    run()
    handle.remove()
    return seen


def influence(out_1LD: Tensor, in_1MD: Tensor) -> Tensor:
    """Which inputs each output depends on, by its gradient: (L, M)."""
    weight_D = torch.randn(out_1LD.size(-1))  # a plain sum over what a layer norm gives is constant
    rows = []
    for out_D in out_1LD[0]:
        (gradient_1MD,) = torch.autograd.grad((out_D * weight_D).sum(), in_1MD, retain_graph=True)
        rows.append((gradient_1MD[0] != 0).any(dim=-1))
    return torch.stack(rows)


# Section 3, model architecture.


def test_the_encoder_gives_one_vector_for_each_piece():
    """Section 3: the encoder maps a sequence of symbols to a sequence of vectors as long."""
    assert tiny().encode(pieces(2, 5)).hidden_BSD.shape == (2, 5, 16)


def test_the_decoder_reads_what_it_has_written():
    """Section 3: it writes one symbol at a time, and each one written is an input to the next step."""
    read: list[list[int]] = []
    script = [7, 5, 6, EOS]

    def step(tokens_N1: Tensor, state: Steps) -> tuple[Tensor, Steps]:
        read.append(tokens_N1.flatten().tolist())
        return 9 * F.one_hot(torch.tensor([script[len(read) - 1]]), 8).float(), state

    ((found,),) = search(
        step,
        Steps(),
        limits_B=torch.tensor([9]),
        decode=DecodeSettings(beam_size=1),
        writable_V=torch.ones(8, dtype=torch.bool),
        start=BOS,
        end=EOS,
    )
    assert found.token_ids == (7, 5, 6)
    assert read == [[BOS], [7], [5], [6]]


# Section 3.1, encoder and decoder stacks.


@pytest.mark.parametrize("size", [BASE, BIG], ids=["base", "big"])
def test_both_stacks_have_six_layers(size):
    """Section 3.1: N = 6 layers in the encoder, and 6 in the decoder."""
    assert (size.model.encoder_layers, size.model.decoder_layers) == (6, 6)


def test_layers_are_identical_in_shape_and_share_no_weights():
    """Section 3.1: a stack is made of identical layers; section 3.3: their parameters differ from layer to layer."""
    model = tiny(encoder_layers=6, decoder_layers=6)
    for stack in (model.encoder, model.decoder):
        layers = [dict(stack[str(number)].named_parameters()) for number in range(1, 7)]
        for one, other in itertools.combinations(layers, 2):
            assert {name: tensor.shape for name, tensor in one.items()} == {n: t.shape for n, t in other.items()}
            assert not {tensor.data_ptr() for tensor in one.values()} & {t.data_ptr() for t in other.values()}
        assert not torch.equal(layers[0]["feedforward.inner.weight"], layers[1]["feedforward.inner.weight"])


def by_hand(attention: MultiHeadAttention, x: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
    """Multi-head attention as section 3.2.2 writes it: one head after the other, side by side, times W^O.

    The paper's projections are matrices; ours may also learn to add a bias.
    """

    def projected(layer: nn.Linear, x: Tensor, rows: slice) -> Tensor:
        return x @ layer.weight[rows].T + layer.bias[rows]

    each = attention.query.out_features // attention.heads
    heads = []
    for first in range(0, each * attention.heads, each):
        rows = slice(first, first + each)
        query, key = projected(attention.query, x, rows), projected(attention.key, memory, rows)
        scores = query @ key.mT / math.sqrt(each)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        heads.append(scores.softmax(dim=-1) @ projected(attention.value, memory, rows))
    return projected(attention.output, torch.cat(heads, dim=-1), slice(None))


def normed(x: Tensor, norm: nn.LayerNorm) -> Tensor:
    """Layer normalisation by hand."""
    centred = x - x.mean(dim=-1, keepdim=True)
    scaled = centred / (centred.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt()
    return scaled * norm.weight + norm.bias


def test_the_sizes_of_the_paper_have_the_norm_after_the_sum():
    """Section 3.1: the norm is of x + Sublayer(x)."""
    assert (BASE.model.norm, BIG.model.norm) == ("post", "post")


def test_an_encoder_layer_is_attention_then_feed_forward_each_summed_and_normed():
    """Section 3.1: self-attention, then the feed-forward network; each gives LayerNorm(x + Sublayer(x))."""
    layer = EncoderLayer(width=16, heads=2, feedforward=32, norm="post", dropout=0.0)
    x = torch.randn(2, 5, 16)
    after = normed(x + by_hand(layer.self, x, x), layer.self_norm)
    expected = normed(after + layer.feedforward(after), layer.feedforward_norm)
    torch.testing.assert_close(layer(x, None, "", None), expected, atol=1e-5, rtol=0)


def test_a_decoder_layer_looks_at_the_encoder_between_the_two():
    """Section 3.1: a third sub-layer attends to the output of the encoder stack; residuals and norms as before."""
    layer = DecoderLayer(width=16, heads=2, feedforward=32, norm="post", dropout=0.0)
    x, memory = torch.randn(2, 5, 16), torch.randn(2, 7, 16)
    found, _ = layer(x, KVCache(*layer.cross.keys_and_values(memory)), None, "", None)
    causal = causal_mask(5, 5, x.device)
    first = normed(x + by_hand(layer.self, x, x, causal), layer.self_norm)
    second = normed(first + by_hand(layer.cross, first, memory), layer.cross_norm)
    third = normed(second + layer.feedforward(second), layer.feedforward_norm)
    torch.testing.assert_close(found, third, atol=1e-5, rtol=0)


@pytest.mark.parametrize(("size", "width"), [(BASE, 512), (BIG, 1024)], ids=["base", "big"])
def test_every_sub_layer_and_the_embedding_give_the_models_width(size, width):
    """Section 3.1: so that residual sums are possible, all of them produce d_model numbers, 512 in the base model."""
    assert size.model.width == width
    with torch.device("meta"):
        model = Transformer(replace(size.model, vocab_size=PAPERS_PIECES))
    attentions = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
    thinkers = [module for module in model.modules() if isinstance(module, FeedForward)]
    assert (len(attentions), len(thinkers)) == (6 + 12, 12)
    assert {attention.output.out_features for attention in attentions} == {width}
    assert {thinker.outer.out_features for thinker in thinkers} == {width}
    assert (model.embedding.embedding_dim, model.positions.weight.size(1)) == (width, width)


def test_the_targets_are_offset_by_one():
    """Section 3.1: the decoder's input is the target moved one place to the right."""
    read: list[Tensor] = []

    class Spy(Transformer):
        def decode(self, tokens_NT: Tensor, state: Any, lens: Any = None) -> Any:
            read.append(tokens_NT)
            return super().decode(tokens_NT, state, lens)

    loss_only(Spy(tiny().settings), pieces(1, 3), torch.tensor([[7, 8, 9, EOS]]), start=BOS, pad=PAD)
    assert read[0].tolist() == [[BOS, 7, 8, 9]]


def test_a_prediction_depends_on_earlier_targets_only():
    """Section 3.1: with the mask and the offset, what is predicted for place i can depend only on places before i."""
    model = tiny()
    out: list[Tensor] = []
    state = model.start(model.encode(pieces(1, 4)))
    (embedded,) = inputs_of(model.decoder["1"], lambda: out.append(model.decode(pieces(1, 6), state)[0]))
    assert torch.equal(influence(out[0], embedded), torch.ones(6, 6, dtype=torch.bool).tril())


# Section 3.2, attention.


def test_the_output_is_a_weighted_sum_of_the_values():
    """Section 3.2: weights come from how a query fits the keys; the output is the sum of the values so weighted."""
    q, k, v = (torch.randn(1, 1, 4, 8) for _ in range(3))
    look = Look()
    attend(q, k, v, name="here", lens=look)
    weights = look.seen["here"]
    expected = torch.stack([sum(weights[0, 0, i, j] * v[0, 0, j] for j in range(4)) for i in range(4)])  # type: ignore[misc]
    torch.testing.assert_close(attend(q, k, v)[0, 0], expected, atol=1e-6, rtol=0)


def test_dot_products_are_scaled_by_the_root_of_the_keys_width():
    """Section 3.2.1: Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V."""
    q, k, v = (torch.randn(2, 3, 5, 64) for _ in range(3))
    look = Look()
    attend(q, k, v, name="here", lens=look)
    scaled, plain = (q @ k.mT / math.sqrt(64)).softmax(dim=-1), (q @ k.mT).softmax(dim=-1)
    torch.testing.assert_close(look.seen["here"], scaled, atol=1e-6, rtol=0)
    torch.testing.assert_close(attend(q, k, v), scaled @ v, atol=1e-5, rtol=0)
    assert (look.seen["here"] - plain).abs().max() > 0.3


@pytest.mark.parametrize("width", [16, 64, 256])
def test_dot_products_of_random_vectors_have_variance_d_k(width):
    """Section 3.2.1, note 4: with components of mean 0 and variance 1, a dot product has mean 0 and variance d_k."""
    products = (torch.randn(20_000, width) * torch.randn(20_000, width)).sum(dim=-1)
    assert products.mean().item() == pytest.approx(0, abs=0.03 * width**0.5)
    assert products.var().item() == pytest.approx(width, rel=0.05)


def test_without_the_scale_softmax_has_almost_no_gradient():
    """Section 3.2.1: large dot products push softmax to where its gradient is extremely small."""

    def gradient(scale: float) -> float:
        scores = torch.randn(200, 10, generator=torch.Generator().manual_seed(1)) * 512**0.5 * scale
        weights = scores.softmax(dim=-1)
        return float((weights * (1 - weights)).mean())  # the derivative of a weight by its own score

    assert gradient(1.0) < 0.2 * gradient(512**-0.5)


@pytest.mark.parametrize("size", [BASE, BIG], ids=["base", "big"])
def test_a_head_is_64_wide(size):
    """Section 3.2.2: h = 8 heads of d_k = d_v = d_model / h = 64; Table 3: the big model has 16 such heads."""
    assert size.model.heads == {512: 8, 1024: 16}[size.model.width]
    with torch.device("meta"):
        attention = MultiHeadAttention(size.model.width, size.model.heads)
        x = torch.empty(2, 5, size.model.width)
        keys, values = attention.keys_and_values(x)
    assert attention.queries(x).shape == keys.shape == values.shape == (2, size.model.heads, 5, 64)


@pytest.mark.parametrize("heads", [1, 2, 4, 8])
def test_heads_attend_side_by_side_and_are_projected_once_more(heads):
    """Section 3.2.2: MultiHead = Concat(head_1, ..., head_h) W^O, each head with projections of its own."""
    attention = MultiHeadAttention(16, heads)
    x, memory = torch.randn(2, 5, 16), torch.randn(2, 7, 16)
    found = attention.join(attend(attention.queries(x), *attention.keys_and_values(memory)))
    torch.testing.assert_close(found, by_hand(attention, x, memory), atol=1e-5, rtol=0)


def test_the_projections_begin_as_matrices_alone():
    """Section 3.2.2: there they stay so; here a bias may be learned, but begins at zero."""
    attentions = [module for module in tiny().modules() if isinstance(module, MultiHeadAttention)]
    assert not any(layer.bias.any() for one in attentions for layer in (one.query, one.key, one.value, one.output))


def test_many_heads_cost_what_one_costs():
    """Section 3.2.2: each head is narrower, so the total cost is that of one head of full width."""
    costs = set()
    for heads in (1, 2, 4, 8):
        attention = MultiHeadAttention(32, heads)
        x = torch.randn(2, 6, 32)
        with FlopCounterMode(display=False) as counter:
            attention.join(attend(attention.queries(x), *attention.keys_and_values(x), lens=Look()))
        costs.add((sum(parameter.numel() for parameter in attention.parameters()), counter.get_total_flops()))
    assert len(costs) == 1


# Section 3.2.3, the three attentions.


def test_encoder_decoder_attention_takes_queries_from_the_decoder_and_keys_and_values_from_the_encoder():
    """Section 3.2.3: queries come from the previous decoder layer, keys and values from the output of the encoder."""
    model, source_BS = tiny(), pieces(2, 5)
    memory = model.encode(source_BS)
    state = model.start(memory)
    for number, layer in enumerate(state.layers, start=1):
        block: Any = model.decoder[str(number)]
        torch.testing.assert_close(layer.cross_keys_BHSE.transpose(1, 2).flatten(2), block.cross.key(memory.hidden_BSD))
        torch.testing.assert_close(
            layer.cross_values_BHSE.transpose(1, 2).flatten(2), block.cross.value(memory.hidden_BSD)
        )
    one, other = Look(), Look()
    _, after = model.decode(pieces(2, 3), state, one)
    model.decode(pieces(2, 3), state, other)
    assert one.seen["decoder.1.cross"].shape == (2, 2, 3, 5)
    assert not torch.allclose(one.seen["decoder.1.cross"], other.seen["decoder.1.cross"])
    for before, later in zip(state.layers, after.layers, strict=True):
        assert later.cross_keys_BHSE is before.cross_keys_BHSE
        assert later.cross_values_BHSE is before.cross_values_BHSE


def test_every_decoder_position_attends_to_every_source_position():
    """Section 3.2.3: so that every target position sees all of the source."""
    layer = DecoderLayer(width=16, heads=2, feedforward=32, norm="post", dropout=0.0)
    memory = torch.randn(1, 5, 16, requires_grad=True)
    out, _ = layer(torch.randn(1, 4, 16), KVCache(*layer.cross.keys_and_values(memory)), None, "", None)
    assert bool(influence(out, memory).all())


def test_in_the_encoder_every_position_attends_to_every_position():
    """Section 3.2.3: keys, values and queries all come from the layer below, at all positions."""
    layer = EncoderLayer(width=16, heads=2, feedforward=32, norm="post", dropout=0.0)
    x = torch.randn(1, 6, 16, requires_grad=True)
    assert bool(influence(layer(x, None, "", None), x).all())


def test_in_the_decoder_nothing_flows_from_the_right():
    """Section 3.2.3: each position attends to those up to and including itself."""
    layer = DecoderLayer(width=16, heads=2, feedforward=32, norm="post", dropout=0.0)
    x = torch.randn(1, 6, 16, requires_grad=True)
    out, _ = layer(x, KVCache(*layer.cross.keys_and_values(torch.randn(1, 3, 16))), None, "", None)
    assert torch.equal(influence(out, x), torch.ones(6, 6, dtype=torch.bool).tril())


def test_illegal_connections_have_a_score_of_minus_infinity():
    """Section 3.2.3: they are masked inside the attention, before the softmax, so that their weight is zero."""
    look = Look()
    tiny()(pieces(2, 4), pieces(2, 6), look)
    for name in ("decoder.1.self", "decoder.2.self"):
        assert torch.equal(look.seen[name] > 0, torch.ones(6, 6, dtype=torch.bool).tril().expand(2, 2, 6, 6))
        torch.testing.assert_close(look.seen[name].sum(dim=-1), torch.ones(2, 2, 6))


# Section 3.3, feed-forward networks.


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


def test_the_feed_forward_network_treats_every_position_alone_and_alike():
    """Section 3.3: it is applied to each position separately and identically."""
    network = FeedForward(8, 32)
    x = torch.randn(1, 6, 8)
    together = network(x)
    for position in range(6):
        torch.testing.assert_close(together[:, position], network(x[:, position]))
    order = torch.randperm(6)
    torch.testing.assert_close(network(x[:, order]), together[:, order])


def test_the_feed_forward_network_is_two_convolutions_of_kernel_size_one():
    """Section 3.3: another way to say the same."""
    network = FeedForward(8, 32)
    x = torch.randn(2, 6, 8)
    inner = F.conv1d(x.mT, network.inner.weight[:, :, None], network.inner.bias)
    outer = F.conv1d(inner.relu(), network.outer.weight[:, :, None], network.outer.bias)
    torch.testing.assert_close(network(x), outer.mT, atol=1e-6, rtol=0)


# Section 3.4, embeddings and softmax.


def test_one_matrix_embeds_the_source_embeds_the_target_and_projects():
    """Section 3.4: both embeddings and the linear map before the softmax share their weights."""
    model = tiny()
    matrix = model.embedding.weight
    assert sum(parameter.shape == matrix.shape for parameter in model.parameters()) == 1
    used: list[int] = []

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            used.extend(arg.data_ptr() for arg in args if isinstance(arg, Tensor) and arg.shape == matrix.shape)
            return function(*args, **(kwargs or {}))

    with Watch():
        model(pieces(1, 3), pieces(1, 4))
    assert used == [matrix.data_ptr()] * 3


def test_the_projection_is_that_matrix_alone():
    """Section 3.4: a linear transformation, with the embedding's weights, before the softmax."""
    model, hidden = tiny(), torch.randn(2, 3, 16)
    torch.testing.assert_close(model.project(hidden), hidden @ model.embedding.weight.T)


@pytest.mark.parametrize("width", [16, 64])
def test_embeddings_are_multiplied_by_the_root_of_the_width(width):
    """Section 3.4: in the embedding layers the weights are multiplied by sqrt(d_model); 3.5: positions are added."""
    model, tokens = tiny(width=width), pieces(2, 5)
    seen = inputs_of(model.encoder["1"], lambda: model(tokens, pieces(2, 5)))
    expected = model.embedding.weight[tokens] * math.sqrt(width) + sinusoids(5, width)
    torch.testing.assert_close(seen[0], expected)
    seen = inputs_of(model.decoder["1"], lambda: model(pieces(2, 5), tokens))
    torch.testing.assert_close(seen[0], expected)


# Section 3.5, positional encoding.


def test_positions_are_sines_and_cosines():
    """Section 3.5: PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos of the same."""
    table = sinusoids(60, 16)
    for position, i in itertools.product(range(60), range(8)):
        angle = position / 10_000 ** (2 * i / 16)
        assert table[position, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-7)
        assert table[position, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-7)


def test_wavelengths_form_a_geometric_progression():
    """Section 3.5: from 2 pi to 10000 times 2 pi (which would be that of the pair after the last)."""
    pairs = sinusoids(2, 512)[1].double().view(256, 2)  # at position 1 the angle is the frequency
    wavelengths = 2 * math.pi / torch.atan2(pairs[:, 0], pairs[:, 1])
    assert wavelengths[0].item() == pytest.approx(2 * math.pi, rel=1e-6)
    ratios = wavelengths[1:] / wavelengths[:-1]
    torch.testing.assert_close(ratios, torch.full_like(ratios, 10_000 ** (1 / 256)), rtol=1e-3, atol=0)
    assert (wavelengths[-1] * 10_000 ** (1 / 256)).item() == pytest.approx(10_000 * 2 * math.pi, rel=1e-3)


@pytest.mark.parametrize("shift", [1, 2, 7, 31])
def test_a_shift_is_one_linear_map_for_all_positions(shift):
    """Section 3.5: for any fixed k, PE(pos + k) is a linear function of PE(pos)."""
    width, table = 32, sinusoids(100, 32).double()
    shifting = torch.zeros(width, width, dtype=torch.float64)
    for i in range(width // 2):
        angle = shift / 10_000 ** (2 * i / width)
        sine, cosine = math.sin(angle), math.cos(angle)
        pair = slice(2 * i, 2 * i + 2)
        shifting[pair, pair] = torch.tensor([[cosine, -sine], [sine, cosine]], dtype=torch.float64)
    torch.testing.assert_close(table[shift:], table[:-shift] @ shifting, atol=1e-6, rtol=0)


def test_sinusoids_go_on_beyond_any_length():
    """Section 3.5: they may carry over to sequences longer than those of training: a longer table only adds rows."""
    assert torch.equal(sinusoids(300, 16)[:100], sinusoids(100, 16))
    assert BASE.model.positions == BIG.model.positions == "sinusoid"


def test_both_stacks_add_positions_of_the_same_width_at_the_bottom_only():
    """Section 3.5: positions have d_model numbers and are summed with the embeddings at the bottoms of both stacks."""
    model = tiny(encoder_layers=3, decoder_layers=3)
    calls = inputs_of(model.positions, lambda: model(pieces(2, 4), pieces(2, 6)))
    assert calls == [0, 0]  # once for each stack, from position 0
    assert model.positions(0, 4).shape == (4, 16)


def test_positions_can_be_learned_instead():
    """Section 3.5 and Table 3, row E: a table of learned vectors in place of the sinusoids."""
    assert parameters(positions="learned") - parameters() == 1024 * 512
    table = Positions("learned", 9, 4)
    assert [tuple(parameter.shape) for parameter in table.parameters()] == [(9, 4)]
    assert list(Positions("sinusoid", 9, 4).parameters()) == []


def test_without_positions_the_order_of_the_source_is_lost():
    """Section 3.5: with neither recurrence nor convolution, only the positions tell the model of order."""
    model, source_BS, target_BT = tiny(), pieces(2, 6), pieces(2, 4)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    assert not torch.allclose(model(source_BS[:, order], target_BT), model(source_BS, target_BT), atol=1e-2)
    model.positions.weight.zero_()
    torch.testing.assert_close(model(source_BS[:, order], target_BT), model(source_BS, target_BT), atol=1e-5, rtol=0)


# Section 4, why self-attention.


def test_any_two_positions_are_one_layer_apart():
    """Section 4, Table 1: the longest path between two positions is O(1), however far apart they are."""
    model = tiny(encoder_layers=1, max_positions=64)
    out: list[Tensor] = []
    (embedded,) = inputs_of(model.encoder["1"], lambda: out.append(model.encode(pieces(1, 50)).hidden_BSD))
    assert bool(influence(out[0], embedded).all())


class Operations(TorchDispatchMode):
    """Counts what torch does, one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        return function(*args, **(kwargs or {}))


def test_the_number_of_sequential_operations_does_not_grow_with_the_length():
    """Section 4, Table 1: O(1) sequential operations, where recurrence has O(n)."""
    model = tiny(max_positions=64)
    counts = set()
    for length in (4, 16, 64):
        with Operations() as operations:
            model(pieces(1, length), pieces(1, length))
        counts.add(operations.count)
    assert len(counts) == 1


def test_all_positions_at_once_give_what_one_at_a_time_gives():
    """Section 4: nothing has to wait for the position before it; written one by one, the scores are the same."""
    model, source_BS, target_BT = tiny(), pieces(2, 5), pieces(2, 7)
    state = model.start(model.encode(source_BS))
    steps = []
    for token_B1 in target_BT.split(1, dim=1):
        hidden_B1D, state = model.decode(token_B1, state)
        steps.append(model.project(hidden_B1D))
    torch.testing.assert_close(torch.cat(steps, dim=1), model(source_BS, target_BT), atol=1e-5, rtol=0)


def test_self_attention_costs_the_square_of_the_length_times_the_width():
    """Section 4, Table 1: O(n^2 d) for each layer."""

    def flops(length: int, width: int) -> int:
        q = torch.randn(1, 2, length, width // 2)
        with FlopCounterMode(display=False) as counter:
            attend(q, q, q, lens=Look())
        return int(counter.get_total_flops())

    assert flops(8, 16) == 2 * 2 * 8**2 * 16  # two products, each multiplied and added
    assert flops(16, 16) == 4 * flops(8, 16)
    assert flops(8, 32) == 2 * flops(8, 16)


# Section 5.1, training data and batching.


def test_pieces_are_byte_pairs_shared_by_both_languages():
    """Section 5.1: byte-pair encoding, with one vocabulary for source and target."""
    assert (BASE.tokenizer.kind, BIG.tokenizer.kind) == ("bpe", "bpe")
    assert [name for name in vars(BASE.model) if "vocab" in name] == ["vocab_size"]


def test_a_corpus_like_the_papers_gets_about_37_000_pieces():
    """Section 5.1: 4.5 million pairs, about 37,000 pieces; for English-French, 32,000."""
    assert BASE.tokenizer.vocab_size == 0  # chosen from the text
    assert choose_vocab_size(words=2 * 4_500_000 * 25) == PAPERS_PIECES
    assert (
        assemble(size_overrides("big"), user_overrides(["tokenizer.vocab_size=32000"])).tokenizer.vocab_size == 32_000
    )


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> EncodedPairs:
    """Pairs with the lengths of news: 4 to 80 pieces, the two sides much alike."""
    folder: Path = tmp_path_factory.mktemp("corpus")
    random = np.random.default_rng(1)
    source = np.clip(random.gamma(3, 9, 20_000), 4, 80).astype(np.int64)
    target = np.clip(source * random.normal(1.05, 0.15, len(source)), 4, 80).astype(np.int64)
    for side, lengths in (("source", source), ("target", target)):
        starts = np.concatenate([[0], np.cumsum(lengths)])
        np.full(starts[-1], EOS, dtype=np.uint16).tofile(folder / f"{side}.ids")
        starts.astype(np.int64).tofile(folder / f"{side}.starts")
    np.zeros((len(source), 2), dtype=np.int64).tofile(folder / "lines")
    return EncodedPairs(folder, "uint16")


@pytest.mark.parametrize("size", [BASE, BIG], ids=["base", "big"])
def test_a_step_takes_about_25_000_source_and_25_000_target_pieces(size, corpus):
    """Section 5.1: a batch holds pairs with approximately so many tokens of each side."""
    assert size.train.batch_tokens == 25_000
    stream = batches(corpus, tokens=size.train.micro_batch_tokens, seed=1)
    source, target = [], []
    for _ in range(8):
        step = [batch for batch, _ in islice(stream, micro_batches(size.train))]
        source.append(sum(int((batch.source_BS != PAD).sum()) for batch in step))
        target.append(sum(batch.target_tokens for batch in step))
    assert np.mean(target) == pytest.approx(25_000, rel=0.1)
    assert np.mean(source) == pytest.approx(25_000, rel=0.1)


def test_pairs_of_similar_length_are_batched_together(corpus):
    """Section 5.1: sentence pairs are put together by approximate length."""
    for batch, _ in islice(batches(corpus, tokens=BASE.train.micro_batch_tokens, seed=1), 40):
        longer = np.maximum((batch.source_BS != PAD).sum(axis=1), (batch.target_BT != PAD).sum(axis=1))
        assert longer.max() - longer.min() <= 4


# Section 5.2, schedule.


@pytest.mark.parametrize(("size", "steps"), [(BASE, 100_000), (BIG, 300_000)], ids=["base", "big"])
def test_the_sizes_train_as_long_as_in_the_paper(size, steps):
    """Section 5.2: 100,000 steps for the base model, 300,000 for the big one."""
    assert size.train.steps == steps


# Section 5.3, optimizer.


@pytest.mark.parametrize("size", [BASE, BIG], ids=["base", "big"])
def test_the_optimizer_is_adam_with_the_papers_numbers(size):
    """Section 5.3: Adam, beta1 = 0.9, beta2 = 0.98, epsilon = 1e-9. Nothing is said of weight decay or clipping."""
    optimizer = make_optimizer(tiny(), size.train)
    (group,) = optimizer.param_groups
    assert type(optimizer) is torch.optim.Adam
    assert (group["betas"], group["eps"]) == ((0.9, 0.98), 1e-9)
    assert (group["weight_decay"], group["amsgrad"], size.train.max_grad_norm) == (0, False, 0)


def toy_stream() -> Iterator[tuple[Batch, StreamPosition]]:
    random = np.random.default_rng(1)
    while True:
        source, target = random.integers(EOS + 1, 24, (2, 5)), random.integers(EOS + 1, 24, (2, 6))
        yield Batch(source, target, 12), StreamPosition()


def test_a_step_is_adams_with_the_learning_rate_of_the_schedule():
    """Section 5.3: the rate varies over the course of training by the formula; the update is Adam's."""
    model = tiny()
    settings = TrainSettings(steps=3, batch_tokens=12, micro_batch_tokens=12, dropout=0.0, learning_rate=50.0)
    optimizer = make_optimizer(model, settings)
    weight = model.embedding.weight
    expected = weight.detach().double()
    first, second = torch.zeros_like(expected), torch.zeros_like(expected)
    for done in training_steps(model, optimizer, toy_stream(), settings, width=16):
        rate = 50 * 16**-0.5 * done.step * 4000**-1.5
        assert done.learning_rate == pytest.approx(rate)
        assert weight.grad is not None
        gradient = weight.grad.double()
        first = 0.9 * first + 0.1 * gradient
        second = 0.98 * second + 0.02 * gradient**2
        mean, square = first / (1 - 0.9**done.step), second / (1 - 0.98**done.step)
        expected = expected - rate * mean / (square.sqrt() + 1e-9)
        torch.testing.assert_close(weight.detach().double(), expected, atol=1e-6, rtol=0)
    assert done.step == 3


@pytest.mark.parametrize("size", [BASE, BIG], ids=["base", "big"])
def test_the_learning_rate_follows_the_formula(size):
    """Section 5.3: d_model^-0.5 * min(step^-0.5, step * warmup^-1.5), with 4,000 steps of warm-up."""
    train, width = size.train, size.model.width
    assert (train.schedule, train.warmup_steps, train.learning_rate) == ("paper", 4000, 1.0)
    for step in (1, 100, 3999, 4000, 4001, 50_000, 300_000):
        formula = width**-0.5 * min(step**-0.5, step * 4000**-1.5)
        assert learning_rate(step, train, width) == pytest.approx(formula, rel=1e-12)


def test_the_learning_rate_rises_in_a_line_and_falls_with_the_root_of_the_step():
    """Section 5.3: linear in the first warm-up steps, then proportional to the inverse square root of the step."""

    def rate(step: int) -> float:
        return learning_rate(step, BASE.train, 512)

    assert [rate(step) / rate(1) for step in (2, 1000, 4000)] == pytest.approx([2, 1000, 4000])
    assert [rate(4 * step) / rate(step) for step in (4000, 10_000, 25_000)] == pytest.approx([0.5] * 3)
    assert max(range(1, 20_001), key=rate) == 4000
    assert rate(4000) == pytest.approx(512**-0.5 * 4000**-0.5) == pytest.approx(6.988e-4, rel=1e-3)


# Section 5.4, regularisation.


@pytest.fixture
def dropped(monkeypatch) -> list[Tensor]:
    """What dropout is given; it drops nothing."""
    seen: list[Tensor] = []

    def forward(self: Dropout, x: Tensor) -> Tensor:
        if self.training:
            seen.append(x)
        return x

    monkeypatch.setattr(Dropout, "forward", forward)
    return seen


@pytest.mark.parametrize(("size", "rate"), [(BASE, 0.1), (BIG, 0.3)], ids=["base", "big"])
def test_dropout_has_one_rate_everywhere(size, rate):
    """Section 5.4: 0.1 in the base model; Table 3: 0.3 in the big one (0.1 for English-French, section 6.1)."""
    assert size.train.dropout == rate
    with torch.device("meta"):
        model = Transformer(replace(size.model, vocab_size=8), size.train.dropout)
    assert {module.rate for module in model.modules() if isinstance(module, Dropout)} == {rate}
    assert not any(isinstance(module, nn.Dropout) for module in model.modules())
    assert assemble(size_overrides("big"), user_overrides(["train.dropout=0.1"])).train.dropout == 0.1


def test_dropout_is_applied_to_sub_layers_and_embeddings_and_nowhere_else(dropped):
    """Section 5.4: to the output of each sub-layer, and to the sums of embeddings and positions in both stacks."""
    model = Transformer(replace(BASE.model, vocab_size=24, width=16, feedforward=32), BASE.train.dropout).train()
    source_BS, target_BT = pieces(2, 3), pieces(2, 5)
    trained = model(source_BS, target_BT)
    assert len(dropped) == 2 + 6 * 2 + 6 * 3
    encoder, decoder = dropped[: 1 + 6 * 2], dropped[1 + 6 * 2 :]
    assert {tuple(x.shape) for x in encoder} == {(2, 3, 16)}
    assert {tuple(x.shape) for x in decoder} == {(2, 5, 16)}
    for stack, tokens in ((encoder, source_BS), (decoder, target_BT)):
        summed = model.embedding.weight[tokens] * math.sqrt(16) + sinusoids(tokens.size(1), 16)
        torch.testing.assert_close(stack[0], summed)
    # With these switched off a model in training has no chance left in it.
    assert torch.equal(model.eval()(source_BS, target_BT), trained)


def test_dropout_comes_before_the_sum_and_the_norm(monkeypatch):
    """Section 5.4: a sub-layer's output is dropped before it is added to its input and normed."""
    monkeypatch.setattr(Dropout, "forward", lambda self, x: torch.zeros_like(x))
    x = torch.randn(2, 5, 16)
    encoder = EncoderLayer(width=16, heads=2, feedforward=32, norm="post", dropout=0.1)
    expected = normed(normed(x, encoder.self_norm), encoder.feedforward_norm)
    torch.testing.assert_close(encoder(x, None, "", None), expected, atol=1e-5, rtol=0)
    decoder = DecoderLayer(width=16, heads=2, feedforward=32, norm="post", dropout=0.1)
    found, _ = decoder(x, KVCache(*decoder.cross.keys_and_values(x)), None, "", None)
    torch.testing.assert_close(found, normed(expected, decoder.feedforward_norm), atol=1e-5, rtol=0)


def test_attention_weights_are_not_dropped():
    """Section 5.4 names three places for dropout, and attention is none of them."""
    model, look = tiny(dropout=0.5).train(), Look()
    model(pieces(2, 5), pieces(2, 7), look)
    assert len(look.seen) == 6
    for name, weights in look.seen.items():
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(weights.shape[:-1]))
        allowed = torch.ones(weights.shape[-2:]).tril() if name.startswith("decoder") and "self" in name else 1.0
        assert torch.equal(weights > 0, (torch.ones_like(weights) * allowed).bool())


def test_labels_are_smoothed_by_a_tenth():
    """Section 5.4: the target is 0.9 on the right piece, and 0.1 spread evenly over the vocabulary."""
    assert (BASE.train.label_smoothing, BIG.train.label_smoothing) == (0.1, 0.1)
    scores, right = 2 * torch.randn(7, 11), torch.randint(0, 11, (7,))
    wanted = torch.full((7, 11), 0.1 / 11)
    wanted[torch.arange(7), right] += 0.9
    by_definition = -(wanted * scores.log_softmax(dim=-1)).sum()
    torchs = F.cross_entropy(scores, right, label_smoothing=0.1, reduction="sum")
    found, _ = summed_loss(scores.clone(), right, BASE.train.label_smoothing)
    torch.testing.assert_close(found, by_definition)
    torch.testing.assert_close(found, torchs)


def test_training_descends_the_smoothed_loss_of_every_real_piece():
    """Section 5.4: what training adds up is that loss, padding left out."""
    model, source_BS = tiny(), pieces(2, 5)
    target_BT = torch.tensor([[7, 8, 9, EOS], [7, EOS, PAD, PAD]])
    total = backward_in_chunks(model, source_BS, target_BT, start=BOS, pad=PAD, smoothing=0.1, tokens=6)
    scores = model(source_BS, torch.tensor([[BOS, 7, 8, 9], [BOS, 7, PAD, PAD]]))
    expected = F.cross_entropy(
        scores.flatten(0, 1), target_BT.flatten(), label_smoothing=0.1, ignore_index=PAD, reduction="sum"
    )
    assert total == pytest.approx(expected.item(), rel=1e-5)
    gradients = torch.autograd.grad(expected / 6, list(model.parameters()))
    found = [parameter.grad for parameter in model.parameters()]
    torch.testing.assert_close(found, list(gradients), atol=1e-6, rtol=1e-4)


# Section 6.1, machine translation.


def a_plan(size: Settings, every: int) -> Plan:
    return Plan(
        request={},
        settings=size,
        validate_every=every,
        seconds_per_step=0.4,
        threads=1,
        device="cpu",
        versions={},
        reasons=(),
    )


@pytest.mark.parametrize(("size", "count"), [(BASE, 5), (BIG, 20)], ids=["base", "big"])
def test_the_last_checkpoints_are_averaged(size, count):
    """Section 6.1: the last 5 checkpoints of a base model, the last 20 of a big one."""
    last = size.train.steps
    assert a_plan(size, every=1000).averaged_steps(last) == list(range(last - 1000 * (count - 1), last + 1, 1000))


def test_an_average_is_the_mean_of_the_weights(tmp_path):
    """Section 6.1: one model is obtained by averaging the checkpoints."""
    checkpoints, models = Checkpoints(tmp_path), [tiny() for _ in range(3)]
    for number, model in enumerate(models, start=1):
        checkpoints.save(model, make_optimizer(model, BASE.train), RunState(step=number))
    for name, mean in checkpoints.average([1, 2, 3]).weights.items():
        stacked = torch.stack([model.state_dict()[name] for model in models])
        torch.testing.assert_close(mean, stacked.mean(dim=0), atol=1e-7, rtol=0)


@pytest.mark.parametrize(
    ("size", "seconds_per_step"), [(BASE, 0.4), (BIG, 1.0)], ids=["base, 12 hours", "big, 3.5 days"]
)
def test_averaged_checkpoints_are_about_ten_minutes_apart(size, seconds_per_step):
    """Section 6.1: they were written every 10 minutes (with the steps of section 5.2, of 0.4 and 1.0 seconds)."""
    assert size.train.validate_every * seconds_per_step == pytest.approx(600)


def test_translations_are_searched_with_four_beams_and_alpha_0_6():
    """Section 6.1: beam search, beam size 4, length penalty alpha = 0.6."""
    assert (DecodeSettings().beam_size, DecodeSettings().length_penalty) == (4, 0.6)
    assert BASE.decode == BIG.decode == DecodeSettings()


class Counting:
    """A tokenizer with one piece for each word."""

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        return [[EOS + 1] * len(text.split()) for text in texts]

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        return ["" for _ in ids]

    def tokens(self, ids: Sequence[int]) -> list[str]:
        return ["" for _ in ids]


class Limits(Translator):
    """Writes nothing, but remembers how much it might have written."""

    def __init__(self, longest: int) -> None:
        super().__init__(Counting(), max_positions=longest)
        self.seen: dict[int, int] = {}

    def _generate(self, batches: Iterable[Sources], decode: DecodeSettings) -> Iterator[list[list[Hypothesis]]]:
        for batch in batches:
            self.seen |= {len(source.ids): source.limit for source in batch}
            yield [[Hypothesis.of((), (-1.0,), decode.length_penalty)] for _ in batch]

    def _score_tokens(self, pairs: TokenPairs) -> list[tuple[float, ...]]:
        raise AssertionError("it has nothing to say about what others wrote")

    def _attend(self, pairs: TokenPairs) -> list[Any]:
        raise AssertionError("it has no head that aligns")


def test_a_translation_may_be_50_pieces_longer_than_its_source():
    """Section 6.1: the maximum output length is the input length + 50, for each sentence by itself."""
    translator = Limits(BASE.model.max_positions)
    translator.translate_all(["one", "one two three", "one two three four five"])
    assert translator.seen == {1: 51, 3: 53, 5: 55}


def test_search_ends_as_soon_as_it_can():
    """Section 6.1: the output may grow to the limit, but the search terminates early when possible."""
    state = Steps()

    def step(tokens_N1: Tensor, state: Steps) -> tuple[Tensor, Steps]:
        state.count += 1
        logits = torch.zeros(tokens_N1.size(0), 8)
        logits[:, EOS] = 5 if state.count > 2 else -5  # from the third piece on, the end is the likeliest
        return logits, state

    search(
        step,
        state,
        limits_B=torch.tensor([50]),
        decode=DecodeSettings(beam_size=4),
        writable_V=torch.ones(8, dtype=torch.bool),
        start=BOS,
        end=EOS,
    )
    assert state.count == 3


def test_the_length_penalty_is_that_of_wu_and_others():
    """Section 6.1, reference 38: a log-probability is divided by (5 + length)^alpha / (5 + 1)^alpha."""
    for length, alpha in itertools.product((1, 7, 40), (0.0, 0.6, 1.0)):
        assert length_penalty(length, alpha) == pytest.approx((5 + length) ** alpha / (5 + 1) ** alpha)
    found = Hypothesis.of((7, 8), (-0.5, -0.25, -0.25), alpha=0.6)
    assert found.score == pytest.approx(-1 / ((5 + 3) / 6) ** 0.6)


def test_of_two_translations_the_better_is_that_of_the_better_penalised_score():
    """Section 6.1: so a longer one can win against a more probable one."""
    short, long = Hypothesis.of((7,), (-1.0, -1.0), 0.6), Hypothesis.of((7,) * 19, (-0.105,) * 20, 0.6)
    assert short.log_probability > long.log_probability
    assert ranked([short, long], 2) == [long, short]
    plain = [replace(one, score=one.log_probability) for one in (long, short)]  # alpha = 0
    assert [one.token_ids for one in ranked(plain, 2)] == [short.token_ids, long.token_ids]


# Section 6.2, model variations (Table 3).


@pytest.mark.parametrize(("size", "count", "papers"), [(BASE, 63.1, 65), (BIG, 214.2, 213)], ids=["base", "big"])
def test_the_sizes_have_as_many_parameters_as_in_the_paper(size, count, papers):
    """Table 3: 65 million in the base model, 213 million in the big one; the vocabulary is only about known."""
    found = parameters(**of(size.model)) / MILLION
    assert round(found, 1) == count
    assert found == pytest.approx(papers, rel=0.035)


@pytest.mark.parametrize(
    ("shape", "papers"),
    [
        ({"heads": 1}, 65),
        ({"heads": 4}, 65),
        ({"heads": 16}, 65),
        ({"heads": 32}, 65),
        ({"encoder_layers": 2, "decoder_layers": 2}, 36),
        ({"encoder_layers": 4, "decoder_layers": 4}, 50),
        ({"encoder_layers": 8, "decoder_layers": 8}, 80),
        ({"feedforward": 1024}, 53),
        ({"feedforward": 4096}, 90),
        ({"positions": "learned"}, 65),
    ],
    ids=lambda value: " ".join(f"{name} {number}" for name, number in value.items()) if isinstance(value, dict) else "",
)
def test_a_variation_adds_as_many_parameters_as_in_the_paper(shape, papers):
    """Table 3, rows A, C and E: the count next to the base model's, both rounded to millions there."""
    assert (parameters(**shape) - parameters()) / MILLION == pytest.approx(papers - 65, abs=1)


@pytest.mark.parametrize(("width", "papers"), [(256, 28), (1024, 168)])
def test_a_narrower_or_wider_model_has_about_as_many_parameters_as_in_the_paper(width, papers):
    """Table 3, row C: with eight heads, of 32 or 128."""
    assert parameters(width=width) / MILLION == pytest.approx(papers, rel=0.045)


@pytest.mark.parametrize(
    "change",
    ["dropout=0.0", "dropout=0.2", "label_smoothing=0.0", "label_smoothing=0.2"],
)
def test_regularisation_can_be_varied(change):
    """Table 3, row D: other rates of dropout and label smoothing, none included."""
    name, _, value = change.partition("=")
    assert getattr(assemble(size_overrides("base"), user_overrides([f"train.{change}"])).train, name) == float(value)


# Section 6.3, English constituency parsing.


def test_the_papers_parser_can_be_set_up():
    """Section 6.3: 4 layers, d_model = 1024, 16,000 pieces; beam 21, alpha 0.3, output up to input + 300."""
    changes = ["model.encoder_layers=4", "model.decoder_layers=4", "model.width=1024", "tokenizer.vocab_size=16000"]
    changes += ["decode.beam_size=21", "decode.length_penalty=0.3", "decode.max_length_offset=300"]
    settings = assemble(size_overrides("base"), user_overrides(changes))
    assert settings.decode == DecodeSettings(beam_size=21, length_penalty=0.3, max_length_offset=300)
    model = settings.model
    assert (model.encoder_layers, model.decoder_layers, model.width) == (4, 4, 1024)
