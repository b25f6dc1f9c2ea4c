"""What is special about recurrent models: their attention, their directions, and the vector between the two sides.

Shapes: B sentences, S source length, T target length, D width.
"""

from dataclasses import replace

import pytest
import torch
from tests.models.forward_passes import (
    B,
    RecordingLens,
    S,
    T,
    assert_same,
    full_source,
    padded_source,
    random_model,
    small_recurrent,
    tokens,
)
from torch import Tensor

from regard.errors import SettingsError
from regard.models.build import build_model, count_parameters
from regard.models.inputs import Inputs
from regard.models.kinds.recurrent import Recurrent
from regard.models.recurrence import Recurrence
from regard.settings.sections import assemble
from regard.settings.sizes import size_overrides

with_attention = pytest.mark.parametrize("attention", ["dot", "general", "additive"])


def recurrent(**changes: object) -> Recurrent:
    model = random_model(small_recurrent(**changes))
    assert isinstance(model, Recurrent)
    return model


def recorded(model: Recurrent) -> dict[str, Tensor]:
    """Return what a lens sees, with the attention weights."""
    lens = RecordingLens()
    model(padded_source(), tokens(B, T), lens)
    return {**dict(lens.seen), **{f"{name}.weight": weights for name, weights in lens.weights_seen}}


@with_attention
@pytest.mark.parametrize("feeding", [False, True])
def test_the_attention_follows_its_formula(attention: str, feeding: bool) -> None:
    model = recurrent(attention=attention, input_feeding=feeding)
    seen = {name.removeprefix("decoder.2.cross."): tensor for name, tensor in recorded(model).items()}
    query_BLD, key_BMD, value_BMD = (seen[name][:, 0] for name in ("query", "key", "value"))
    layer = model.attention
    assert layer is not None
    state_BLD = seen["input"]
    if attention == "additive":
        assert layer.query is not None and layer.key is not None and layer.score is not None
        torch.testing.assert_close(query_BLD, layer.query(state_BLD))
        hidden_BLMD = torch.tanh(query_BLD[:, :, None] + key_BMD[:, None])
        scores_BLM = (hidden_BLMD * layer.score.weight[0]).sum(dim=-1)
    else:
        assert torch.equal(query_BLD, state_BLD)
        scores_BLM = query_BLD @ key_BMD.mT
    if attention == "dot":
        assert torch.equal(key_BMD, value_BMD)
    else:
        assert layer.key is not None
        torch.testing.assert_close(key_BMD, layer.key(value_BMD))
    torch.testing.assert_close(seen["score"][:, 0], scores_BLM, atol=1e-5, rtol=0)
    assert torch.equal(seen["scaled"], seen["score"])
    weights_BLM = scores_BLM.masked_fill(~seen["mask"][:, 0], float("-inf")).softmax(dim=-1)
    torch.testing.assert_close(seen["weight"][:, 0], weights_BLM, atol=1e-5, rtol=0)
    torch.testing.assert_close(seen["mixed"][:, 0], weights_BLM @ value_BMD, atol=1e-5, rtol=0)
    joined_BLD = torch.cat([seen["mixed"][:, 0], state_BLD], dim=-1)
    torch.testing.assert_close(seen["output"], torch.tanh(layer.output(joined_BLD)), atol=1e-5, rtol=0)


def test_a_step_is_fed_with_the_attention_output_of_the_step_before() -> None:
    model = recurrent(decoder_layers=1)
    seen = recorded(model)
    output_BTD, embedded_BTD = seen["decoder.1.cross.output"], seen["decoder.scaled"]
    state = model.start(model.encode(padded_source())).layers[0]
    layer = model.decoder["1"]
    for t in range(T):
        fed_BD = output_BTD[:, t - 1] if t else torch.zeros_like(output_BTD[:, 0])
        hidden_B1D, state = layer(torch.cat([embedded_BTD[:, t], fed_BD], dim=-1)[:, None], state, "", None)
        torch.testing.assert_close(hidden_B1D[:, 0], seen["decoder.1"][:, t], atol=1e-5, rtol=0)


@pytest.mark.parametrize("feeding", [False, True])
def test_without_attention_the_decoder_knows_only_the_vector_of_the_source(feeding: bool) -> None:
    model = recurrent(attention="none", input_feeding=feeding)
    encoded = model.encode(padded_source())
    other = replace(encoded, hidden_BSD=torch.randn_like(encoded.hidden_BSD), mask_BS=None)
    target_BT = tokens(B, T)
    assert torch.equal(model.decode(target_BT, model.start(other))[0], model.decode(target_BT, model.start(encoded))[0])
    seen = recorded(model)
    assert not [name for name in seen if "cross" in name] and not model.anatomy().attentions


def test_a_reversed_source_is_read_from_its_end() -> None:
    plain, reverse = (
        recurrent(attention="none", encoder_layers=1, **way)
        for way in ({"bidirectional": False}, {"reverse_source": True})
    )
    parameters = {name.replace("forwards", "backwards"): tensor for name, tensor in plain.state_dict().items()}
    reverse.load_state_dict(parameters)
    source, target_BT = full_source(), tokens(B, T)
    assert_same(reverse(source, target_BT), plain(Inputs(source.values.flip(1)), target_BT))


def test_the_final_states_are_those_of_the_positions_that_were_read_last() -> None:
    model, source = recurrent(encoder_layers=1), padded_source()
    encoded = model.encode(source)
    forwards_BD, backwards_BD = encoded.final_BF.chunk(2, dim=1)
    for sentence, length in enumerate(source.lengths.tolist()):
        assert torch.equal(forwards_BD[sentence], encoded.hidden_BSD[sentence, length - 1, : model.settings.width // 2])
        assert torch.equal(backwards_BD[sentence], encoded.hidden_BSD[sentence, 0, model.settings.width // 2 :])


def test_an_odd_width_cannot_be_divided_between_two_directions() -> None:
    with pytest.raises(SettingsError, match=r"model.width \(15\) must be even, because model.bidirectional divides it"):
        small_recurrent(width=15)
    assert small_recurrent(width=15, bidirectional=False).directions == ("forwards",)


def test_muon_treats_each_gate_as_a_matrix() -> None:
    model = recurrent()
    gates = {name: model.matrices().get(parameter) for name, parameter in model.named_parameters()}
    assert gates["decoder.2.cell.weight_hh_l0"] == gates["encoder.1.forwards.cell.weight_ih_l0"] == 4
    assert gates["bridge.weight"] == gates["attention.key.weight"] == 1
    assert gates["embedding.weight"] is gates["decoder.2.cell.bias_hh_l0"] is None


def test_all_layers_start_with_orthogonal_recurrent_matrices() -> None:
    for layer in build_model(small_recurrent(kind="gru")).modules():
        if isinstance(layer, Recurrence):
            for matrix in layer.matrices[1].detach().chunk(3):
                torch.testing.assert_close(matrix @ matrix.T, torch.eye(layer.width), atol=1e-5, rtol=0)


def test_a_residual_connection_starts_with_the_second_layer() -> None:
    seen = recorded(recurrent(attention="none"))
    torch.testing.assert_close(seen["decoder.1"], seen["decoder.1.hidden"])
    torch.testing.assert_close(seen["decoder.2"], seen["decoder.1"] + seen["decoder.2.hidden"])
    hidden_BSD = torch.cat([seen["encoder.2.forwards.hidden"], seen["encoder.2.backwards.hidden"]], dim=-1)
    torch.testing.assert_close(seen["encoder.2"], seen["encoder.1"] + hidden_BSD)
    assert seen["encoder.2"].shape == (B, S, 16)


@pytest.mark.parametrize("kind", ["lstm", "gru", "rnn"])
@pytest.mark.parametrize("size", ["tiny", "small"])
def test_each_size_has_about_as_many_parameters_as_the_transformer(kind: str, size: str) -> None:
    count, transformer = (
        count_parameters(assemble(size_overrides(size, name)).model.with_vocab_size(8_000)).total
        for name in (kind, "transformer")
    )
    assert count == pytest.approx(transformer, rel=0.02)
