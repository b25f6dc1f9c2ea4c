"""What only the Transformer has: its state, masks, addresses and names, and the same results as torch's layers.

The contract of all kinds of models is in test_contract.py.
Shapes: B sentences, N rows (B times the number of beams), S source length, T target length, D width.
"""

import re
from typing import Any, cast

import pytest
import torch
from tests.models.forward_passes import (
    VOCAB_SIZE,
    RecordingLens,
    S,
    T,
    decode_all,
    full_source,
    padded_source,
    random_model,
    small_transformer,
    tokens,
)
from torch import Tensor, nn

from regard.models.dropout import Dropout
from regard.models.inputs import Inputs
from regard.models.kinds.transformer import Transformer
from regard.models.positions import Positions
from regard.settings.kinds.transformer import TransformerSettings
from regard.tokenizers.special_ids import PAD

both_norms = pytest.mark.parametrize("norm", ["post", "pre"])
both_sources = pytest.mark.parametrize("source", [padded_source, full_source], ids=["padded", "full"])


def tiny(**shape: Any) -> Transformer:
    return cast(Transformer, random_model(small_transformer(**shape)))


# Step by step.


def test_the_state_counts_the_target_tokens():
    model, target_BT = tiny(), tokens(3, T)
    state = model.start(model.encode(padded_source()))
    _, three = decode_all(model, state, target_BT[:, :3])
    _, all_tokens = decode_all(model, three, *target_BT[:, 3:].split(1, dim=1))
    assert (state.length, three.length, all_tokens.length) == (0, 3, T)


def test_every_token_changes_the_logits_from_its_position_on():
    model, source, target_BT = tiny(), padded_source(), tokens(3, T)
    logits_BTV = model(source, target_BT)
    for position in range(T):
        changed_BT = target_BT.clone()
        changed_BT[:, position] = target_BT[:, position] % (VOCAB_SIZE - 1) + 1
        assert bool((model(source, changed_BT) != logits_BTV).any(dim=-1)[:, position:].all())


# In batches.


def test_a_batch_without_padding_has_no_mask():
    model = tiny()
    assert model.encode(full_source()).mask is None
    mask = model.encode(padded_source()).mask
    assert mask is not None
    assert mask.shape == (3, 1, 1, S)
    assert mask.sum(dim=-1).flatten().tolist() == [6, 4, 1]


# Beams.


def test_selecting_beams_does_not_copy_the_keys_and_values_of_the_source():
    model = tiny()
    start = model.start(model.encode(padded_source()))
    _, state = decode_all(model, start, tokens(3, 1))
    selected = state.select(torch.zeros(3, 4, dtype=torch.long))
    _, state = decode_all(model, selected, tokens(12, 1))
    for before, after in zip(start.layers, state.layers, strict=True):
        assert after.cross_keys_BHSE.data_ptr() == before.cross_keys_BHSE.data_ptr()
        assert after.cross_values_BHSE.data_ptr() == before.cross_values_BHSE.data_ptr()
        assert after.cross_keys_BHSE.size(0) == 3
        assert after.keys_NHTE is not None and after.keys_NHTE.shape[:3] == (12, 2, 2)


# With a lens.


@both_norms
def test_addresses_count_from_one_and_occur_once_in_order(norm):
    lens = RecordingLens()
    tiny(norm=norm, encoder_layers=2, decoder_layers=3)(padded_source(), tokens(3, T), lens)
    attentions = ["encoder.1.self", "encoder.2.self"]
    attentions += [f"decoder.{number}.{kind}" for number in (1, 2, 3) for kind in ("self", "cross")]
    assert [name for name, _ in lens.weights_seen] == attentions
    layers = [name for name, _ in lens.seen if re.fullmatch(r"\w+\.\d", name)]
    assert layers == ["encoder.1", "encoder.2", "decoder.1", "decoder.2", "decoder.3"]
    names = [name for name, _ in lens.seen]
    assert len(names) == len(set(names))


def test_the_lens_records_the_attention_weights_of_all_heads():
    lens = RecordingLens()
    tiny()(padded_source(), tokens(3, T), lens)
    shapes = {name: tuple(weights.shape) for name, weights in lens.weights_seen}
    assert shapes["encoder.2.self"] == (3, 2, S, S)
    assert shapes["decoder.1.self"] == (3, 2, T, T)
    assert shapes["decoder.2.cross"] == (3, 2, T, S)
    weights = dict(lens.weights_seen)
    assert not weights["encoder.1.self"][1, ..., 4:].any()
    assert not weights["decoder.2.cross"][1, ..., 4:].any()
    assert not weights["decoder.2.self"].triu(1).any()


def test_the_lens_records_the_output_of_each_layer():
    lens, model = RecordingLens(), tiny(norm="post")
    encoded = model.encode(padded_source(), lens)
    assert torch.equal(dict(lens.seen)["encoder.2"], encoded.hidden_BSD)
    hidden_BTD, _ = model.decode(tokens(3, T), model.start(encoded), lens)
    assert torch.equal(dict(lens.seen)["decoder.2"], hidden_BTD)


@both_norms
def test_the_lens_records_each_residual_sum_and_norm(norm):
    lens, model = RecordingLens(), tiny(norm=norm)
    hidden_BTD, _ = model.decode(tokens(3, T), model.start(model.encode(padded_source(), lens)), lens)
    seen = dict(lens.seen)
    for stack in ("encoder", "decoder"):
        assert torch.equal(seen[f"{stack}.scaled"], seen[f"{stack}.embedding"] * model.settings.width**0.5)
        assert torch.equal(seen[f"{stack}.sum"], seen[f"{stack}.scaled"] + seen[f"{stack}.position"])
    assert torch.equal(seen["decoder.output"], hidden_BTD)
    x = seen["decoder.1"]
    layer: Any = model.decoder["2"]
    for sublayer in ("self", "cross", "feedforward"):
        recorded = {name: seen[f"decoder.2.{sublayer}.{name}"] for name in ("input", "output", "residual", "norm")}
        norm_of = getattr(layer, f"{sublayer}_norm")
        assert torch.equal(recorded["input"], norm_of(x) if norm == "pre" else x)
        assert torch.equal(recorded["residual"], x + recorded["output"])
        x = recorded["residual"] if norm == "pre" else norm_of(recorded["residual"])
        assert torch.equal(recorded["norm"], recorded["input"] if norm == "pre" else x)
    assert torch.equal(x, seen["decoder.2"])
    assert torch.equal(seen["decoder.2.feedforward.active"], seen["decoder.2.feedforward.inner"].clamp(min=0))
    assert torch.equal(layer.cross.output(seen["decoder.2.cross.joined"]), seen["decoder.2.cross.output"])


# Compared with torch.


def copy_attention(ours: Any, theirs: nn.MultiheadAttention) -> None:
    projections = (ours.query, ours.key, ours.value)
    theirs.in_proj_weight.copy_(torch.cat([projection.weight for projection in projections]))
    theirs.in_proj_bias.copy_(torch.cat([projection.bias for projection in projections]))
    theirs.out_proj.load_state_dict(ours.output.state_dict())


@torch.no_grad()
def copy_layers(ours: Any, theirs: Any) -> None:
    """Copy the parameters of our layers to torch's."""
    for number, layer in enumerate(theirs.layers, start=1):
        our = ours[str(number)]
        copy_attention(our.self, layer.self_attn)
        norms = [our.self_norm, our.feedforward_norm]
        if hasattr(our, "cross"):
            copy_attention(our.cross, layer.multihead_attn)
            norms.insert(1, our.cross_norm)
        layer.linear1.load_state_dict(our.feedforward.inner.state_dict())
        layer.linear2.load_state_dict(our.feedforward.outer.state_dict())
        for index, norm in enumerate(norms, start=1):
            getattr(layer, f"norm{index}").load_state_dict(norm.state_dict())
    if theirs.norm is not None:
        theirs.norm.load_state_dict(ours["norm"].state_dict())


def embedded(model: Transformer, tokens_BT: Tensor) -> Tensor:
    x_BTD: Tensor = model.embedding(tokens_BT) * 4 + model.positions(0, tokens_BT.size(1))  # 4 = sqrt(16)
    return x_BTD


@both_norms
@both_sources
def test_the_encoder_equals_torchs_with_the_same_parameters(norm, source):
    model, inputs = tiny(norm=norm), source()
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0, batch_first=True, norm_first=norm == "pre")
    last = nn.LayerNorm(16) if norm == "pre" else None
    torchs = nn.TransformerEncoder(layer, 2, norm=last, enable_nested_tensor=False)
    copy_layers(model.encoder, torchs)
    expected_BSD = torchs(embedded(model, inputs.values), src_key_padding_mask=inputs.values == PAD)
    torch.testing.assert_close(model.encode(inputs).hidden_BSD, expected_BSD, atol=1e-5, rtol=0)


@both_norms
@both_sources
def test_the_decoder_equals_torchs_with_the_same_parameters(norm, source):
    model, inputs, target_BT = tiny(norm=norm, decoder_layers=3), source(), tokens(3, T)
    layer = nn.TransformerDecoderLayer(16, 2, 32, dropout=0, batch_first=True, norm_first=norm == "pre")
    torchs = nn.TransformerDecoder(layer, 3, norm=nn.LayerNorm(16) if norm == "pre" else None)
    copy_layers(model.decoder, torchs)
    encoded = model.encode(inputs)
    hidden_BTD, _ = model.decode(target_BT, model.start(encoded))
    expected_BTD = torchs(
        embedded(model, target_BT),
        encoded.hidden_BSD,
        tgt_mask=torch.ones(T, T, dtype=torch.bool).triu(1),  # in torch, True means masked
        memory_key_padding_mask=inputs.values == PAD,
    )
    torch.testing.assert_close(hidden_BTD, expected_BTD, atol=1e-5, rtol=0)


# Names and shapes.


@both_norms
@pytest.mark.parametrize("positions", ["sinusoid", "learned"])
def test_the_parameters_have_these_names(norm, positions):
    model = tiny(norm=norm, positions=positions, encoder_layers=1, decoder_layers=1)
    modules = {
        f"{attention}.{projection}"
        for attention in ("encoder.1.self", "decoder.1.self", "decoder.1.cross")
        for projection in ("query", "key", "value", "output")
    }
    modules |= {f"{stack}.1.feedforward.{linear}" for stack in ("encoder", "decoder") for linear in ("inner", "outer")}
    modules |= {
        f"{stack}.1.{sublayer}_norm" for stack in ("encoder", "decoder") for sublayer in ("self", "feedforward")
    }
    modules |= {"decoder.1.cross_norm"}
    if norm == "pre":
        modules |= {"encoder.norm", "decoder.norm"}
    names = {f"{module}.{kind}" for module in modules for kind in ("weight", "bias")} | {"embedding.weight"}
    if positions == "learned":
        names |= {"positions.weight"}
    assert set(model.state_dict()) == names
    assert set(dict(model.named_parameters())) == names


def test_layers_count_from_one():
    model = tiny(encoder_layers=3, decoder_layers=1)
    numbers = {name.split(".")[1] for name in model.state_dict() if name.startswith("encoder.")}
    assert numbers == {"1", "2", "3"}
    assert {name.split(".")[1] for name in model.state_dict() if name.startswith("decoder.")} == {"1"}


def test_initial_embeddings_have_the_right_scale_and_biases_are_zero():
    model = Transformer(
        TransformerSettings(
            source_vocab_size=2000, target_vocab_size=2000, width=64, heads=2, encoder_layers=1, decoder_layers=1
        )
    )
    assert model.embedding.weight.std().item() == pytest.approx(64**-0.5, rel=0.02)
    assert not any(layer.bias.any() for layer in model.modules() if isinstance(layer, nn.Linear))


# The limits of the positional encodings.


@pytest.mark.parametrize("kind", ["sinusoid", "learned"])
def test_positions_up_to_the_maximum_are_accepted_and_no_more(kind):
    model = tiny(positions=kind, max_positions=8)
    assert model(Inputs(tokens(2, 8)), tokens(2, 8)).shape == (2, 8, VOCAB_SIZE)
    with pytest.raises(ValueError, match="position 9 exceeds the maximum of 8: split the text first"):
        model.encode(Inputs(tokens(2, 9)))
    _, state = decode_all(model, model.start(model.encode(Inputs(tokens(2, 3)))), tokens(2, 8))
    with pytest.raises(ValueError, match="position 9 exceeds the maximum of 8"):
        model.decode(tokens(2, 1), state)


def test_positional_encodings_are_rows_of_the_table():
    positions = Positions("learned", 9, 4)
    assert torch.equal(positions(2, 3), positions.weight[2:5])


# Dropout.


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.9])
def test_dropout_zeroes_the_given_fraction(rate):
    dropped = Dropout(rate)(torch.ones(100, 400)) == 0
    assert dropped.float().mean().item() == pytest.approx(rate, abs=0.01)
    # Four elements share 64 random bits; each has the same probability, independent of its neighbours.
    in_fours = dropped.view(-1, 4).float()
    assert in_fours.mean(dim=0).tolist() == pytest.approx([rate] * 4, abs=0.02)
    assert (in_fours.T.corrcoef() - torch.eye(4)).abs().max().item() < 0.04


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5])
def test_dropout_keeps_the_expectation(rate):
    out = Dropout(rate)(torch.ones(40_000))
    assert out.mean().item() == pytest.approx(1, abs=0.02)
    kept = out[out != 0]
    assert kept.unique().tolist() == pytest.approx([1 / (1 - rate)], rel=1e-4)


@pytest.mark.parametrize("shape", [(1,), (3,), (5, 7), (2, 3, 4)], ids=str)
def test_dropout_accepts_any_shape(shape):
    out = Dropout(0.5)(torch.ones(shape))
    assert out.shape == shape
    assert bool(((out == 0) | (out == 2)).all())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_dropout_keeps_the_dtype(dtype):
    assert Dropout(0.5)(torch.ones(8, dtype=dtype)).dtype == dtype


def test_dropout_with_rate_zero_or_in_evaluation_mode_is_the_identity():
    x = torch.randn(5, 7)
    assert Dropout(0.0)(x) is x
    assert Dropout(0.5).eval()(x) is x


def test_the_same_seed_zeroes_the_same_elements():
    dropout, x = Dropout(0.5), torch.randn(20, 20)
    results = []
    for seed in (4, 4, 5):
        torch.manual_seed(seed)
        results.append(dropout(x))
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])


def test_the_gradient_of_dropout_is_its_mask():
    x = torch.ones(6, 6, requires_grad=True)
    out = Dropout(0.4)(x)
    out.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, out)  # the input is all ones, so the output is the mask
    assert 0 < int((out == 0).sum()) < 36
