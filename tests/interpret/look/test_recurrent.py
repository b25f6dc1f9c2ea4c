"""Recurrent models: every number that is shown follows from the parameters, and a model shows only what it has."""

import json
import math
import re
from typing import Any

import numpy as np
import pytest
import torch
from tests.interpret.recurrent_models import recurrent_model

from regard.cli.look_output import model_lines, save_svg, view_lines
from regard.errors import LookError
from regard.interpret.look.arithmetic import head_arithmetic
from regard.interpret.report.arithmetic_text import show_arithmetic
from regard.interpret.report.recurrent_text import show_step, strip
from regard.render.terminal import TerminalStyle
from regard.settings.decode import DecodeSettings

TEXT, TARGET = "the old cat sees a tree.", "a red dog."
DECODE = DecodeSettings(beam_size=2, max_length_offset=3)
HEAD = "decoder.2.cross.1"
STYLES = [TerminalStyle(80), TerminalStyle(100, 256)]


def lines(model, addresses=(), word=None, style=STYLES[0], *, tokens=False, without=None) -> str:
    view = model.look(TEXT, DECODE, target=TARGET, without=without)
    return "\n".join(view_lines(model, view, addresses, word, style, by_token=tokens))


def close(actual, expected) -> bool:
    return bool(np.allclose(actual, expected, atol=1e-5))


# The attention.


@pytest.mark.parametrize("feeding", [False, True], ids=["", "fed"])
@pytest.mark.parametrize("scoring", ["dot", "general", "additive"])
def test_the_arithmetic_of_each_scoring_follows_from_the_parameters(scoring, feeding):
    model = recurrent_model("lstm", scoring, input_feeding=feeding)
    trace = model.look(TEXT, target=TARGET).trace
    weights = {
        name: tensor.numpy().astype(float)
        for name, tensor in model.network.get_submodule("attention").state_dict().items()
    }
    encoded = trace["encoder.2"]
    for row in range(len(trace.read.ids)):
        found = head_arithmetic(trace, HEAD, row)
        state = trace["decoder.2"][row]
        assert close(found.input, state)
        assert close(found.query, weights["query.weight"] @ state if scoring == "additive" else state)
        assert (found.sqrt_width, found.residual, found.norm) == (None, None, None)
        scores = []
        for key, vector in zip(found.keys, encoded, strict=True):
            expected = weights["key.weight"] @ vector if scoring != "dot" else vector
            expected = expected + weights.get("key.bias", 0)
            assert close(key.key, expected) and close(key.value, vector) and key.scaled == key.score
            if scoring == "additive":
                assert key.tanh is not None and close(key.tanh, np.tanh(found.query + expected))
                assert close(key.products, weights["score.weight"][0] * key.tanh)
            else:
                assert key.tanh is None and close(key.products, found.query * expected)
            assert close(key.score, key.products.sum())
            scores.append(key.score)
        exponentials = np.exp(np.array(scores) - max(scores))
        assert close([key.weight for key in found.keys], exponentials / exponentials.sum())
        assert close(found.mixed, sum(key.weight * key.value for key in found.keys))
        assert close(found.joined, np.concatenate([found.mixed, state]))
        assert close(found.output, np.tanh(weights["output.weight"] @ found.joined + weights["output.bias"]))


@pytest.mark.parametrize("scoring", ["dot", "general", "additive"])
def test_the_text_shows_the_steps_that_exist_with_their_numbers(scoring):
    trace = recurrent_model("gru", scoring).look(TEXT, target=TARGET).trace
    found = head_arithmetic(trace, HEAD, 1)
    text = "\n".join(show_arithmetic(found, TerminalStyle(200)))
    assert "Scaling" not in text and "Residual" not in text and "norm" not in text and "scaled" not in text
    assert re.findall(r"^(\d)\. ", text, re.MULTILINE) == list("1234567")
    assert ("tanh(query + key)" in text) == (scoring == "additive")

    def printed(name: str) -> list[list[float]]:
        return [
            [float(number) for number in re.findall(r"-?\d+\.\d{4}", line)]
            for line in text.splitlines()
            if line.startswith(f"     {name:<8}")
        ]

    assert np.allclose(printed("query"), [found.query], atol=1e-4)
    assert np.allclose(printed("products"), [key.products for key in found.keys], atol=1e-4)
    assert np.allclose(printed("weighted"), [key.weighted for key in found.keys], atol=1e-4)
    for name in ("mixed", "joined", "output"):
        assert np.allclose(printed(name), [getattr(found, name)], atol=1e-4)
    for key in found.keys:
        assert f"{key.score:>10.4f}{key.exponential:>10.4f}{key.weight:>10.4f}" in text
    if found.score_vector is not None:
        assert np.allclose(printed("v"), [found.score_vector], atol=1e-4)
        assert np.allclose(printed("tanh"), [np.array(key.tanh) for key in found.keys], atol=1e-4)


# The steps of recurrent layers.


@pytest.mark.parametrize("kind", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize("attention", ["none", "dot"])
def test_the_vectors_of_each_step_follow_from_the_parameters_and_from_each_other(kind, attention):
    model = recurrent_model(kind, attention)
    view = model.look(TEXT, target=TARGET)
    trace = view.trace
    step_of: Any = {"rnn": torch.rnn_tanh_cell, "gru": torch.gru_cell, "lstm": torch.lstm_cell}[kind]
    for recurrence in trace.anatomy.recurrences:
        weights = list(model.network.get_submodule(f"{recurrence.address}.cell").parameters())
        stack, layer = recurrence.layer.split(".")
        inputs = trace[f"{stack}.scaled"] if layer == "1" else trace[f"{stack}.1"]
        if recurrence.layer == "decoder.1":
            fed = np.vstack([np.zeros((1, 8)), trace[f"{HEAD[:-2]}.output"][:-1]]) if attention == "dot" else None
            fed = np.tile(_source_vector(trace), (len(inputs), 1)) if fed is None else fed
            inputs = np.hstack([inputs, fed])
        positions = range(len(inputs))[:: -1 if recurrence.backwards else 1]
        for number, position in enumerate(positions):
            word = (trace.source if recurrence.side == "source" else trace.written).texts[position]
            count = [*(trace.source if recurrence.side == "source" else trace.written).texts[:position]].count(word)
            step = view.recurrent_step(recurrence.address, f"{word}:{count + 1}" if count else word, tokens=True)
            v = step.vectors
            assert step.position == position + 1
            if number:
                for state in recurrence.states:
                    assert close(v[f"{state}_before"], trace[f"{recurrence.address}.{state}"][positions[number - 1]])
            elif stack == "encoder":
                assert not v["hidden_before"].any()
            before = torch.tensor(v["hidden_before"])[None]
            states = (before, torch.tensor(v["cell_before"])[None]) if kind == "lstm" else before
            with torch.no_grad():
                after = step_of(torch.tensor(inputs[position], dtype=torch.float32)[None], states, *weights)
            expected = dict(zip(("hidden", "cell"), after, strict=True)) if kind == "lstm" else {"hidden": after}
            for name, tensor in expected.items():
                assert close(v[name], tensor[0].numpy())
            for one in recurrence.steps:
                for unit in range(recurrence.width) if one.formula else ():
                    formula = step.worked(one.name, unit).replace("×", "*")
                    assert abs(eval(formula, {"tanh": math.tanh}) - v[one.name][unit]) < 1e-3
            assert all(((v[gate] > 0) & (v[gate] < 1)).all() for gate in recurrence.gates)
            assert set(recurrence.gates) == {name for name in v if name.endswith("_gate")}


def _source_vector(trace) -> np.ndarray:
    return np.concatenate([trace["encoder.2.forwards.hidden"][-1], trace["encoder.2.backwards.hidden"][0]])


def test_a_step_is_shown_with_its_statistics_and_the_numbers_of_a_few_units():
    view = recurrent_model("lstm").look(TEXT, target=TARGET)
    step = view.recurrent_step("decoder.1", "red")
    text = "\n".join(show_step(step, TerminalStyle(80)))
    assert text.startswith("decoder.1, token 2: after ▁a, predicting ▁red\n")
    gate = step.vectors["forget_gate"]
    assert f"  mean {gate.mean():.4f}, from {gate.min():.4f} to {gate.max():.4f}; ▁ is 0, █ is 1" in text
    assert f"  {strip(gate, 0, 1)}\n" in text
    assert "  = forget gate × cell before + input gate × candidate" in text
    unit = step.largest_changes(1)[0]
    change = np.abs(step.vectors["hidden"] - step.vectors["hidden_before"])
    assert change[unit] == change.max()
    assert f"unit {unit + 1}\n" in text and f"{step.worked('cell', unit)} = {step.vectors['cell'][unit]:.4f}" in text


def test_a_strip_has_a_sign_for_each_number():
    assert strip(np.array([0.0, 0.5, 1.0]), 0, 1) == "▁▅█"
    assert strip(np.array([-2.0, 2.0]), -2, 2) == "▁█" and strip(np.zeros(2), 0, 0) == "▁▁"


# What a model shows.


@pytest.mark.parametrize("style", STYLES, ids=str)
@pytest.mark.parametrize(("kind", "attention"), [("lstm", "general"), ("gru", "none"), ("rnn", "none")])
def test_the_overview_shows_what_the_model_has(kind, attention, style):
    model = recurrent_model(kind, attention)
    text = lines(model, style=style)
    assert ("This model has no attention." in text) == (attention == "none")
    assert ("one attention with one head" in text) == (attention != "none")
    assert "mean of" not in text
    for state in model.look(TEXT, target=TARGET).norms():
        norms = np.linalg.norm(model.look(TEXT, target=TARGET).trace[state.address], axis=-1)
        assert close(state.norms, norms)
        assert f"{state.address} " in text and f"{norms.max():.2f}" in text
    assert ("decoder.1.cell " in text) == (kind == "lstm")


@pytest.mark.parametrize(("kind", "attention"), [("lstm", "additive"), ("gru", "none")])
def test_a_word_shows_its_attention_and_its_states(kind, attention):
    model = recurrent_model(kind, attention)
    source, target = lines(model, word="cat"), lines(model, word="dog")
    assert "encoder.2.backwards: " in source and "decoder.2: " in target and "norm of hidden" in target
    if attention == "none":
        assert "This model has no attention from this word and none to it." in source
    else:
        view = model.look(TEXT, target=TARGET)
        weights = view.attention(HEAD)
        best = int(np.argmax(weights.values[:, weights.columns.index("cat")]))
        assert f"decoder.2.cross: attention to cat\n  {weights.rows[best].description}: " in source
        assert f"{HEAD}: target attends to source; after red, predicting dog" in target


def test_a_layer_without_a_word_shows_all_positions():
    model = recurrent_model("gru", "none")
    trace = model.look(TEXT, target=TARGET).trace
    text = lines(model, ("encoder.1",))
    assert "encoder.1.forwards: GRU with 4 units, reads forwards" in text
    assert "encoder.1.backwards: GRU with 4 units, reads backwards" in text
    for position, token in enumerate(trace.source.texts):
        assert f"{trace['encoder.1.forwards.reset_gate'][position].mean():.4f}" in text and token in text


@pytest.mark.parametrize(
    ("attention", "address", "message"),
    [
        ("none", "decoder.7", "nothing at 'decoder.7'; the recurrent layers of this model are encoder.1.forwards, .*, "
         "decoder.1, decoder.2; it has no attention$"),
        ("dot", "encoder.1.sideways", "'encoder.1.sideways'; .*; its only attention head is decoder.2.cross.1$"),
        ("dot", "decoder.2.cross.2", "there is no head 2"),
        ("dot", "decoder.cross.rollout", "there is no map 'decoder.cross.rollout'; this model has one, decoder.2.cr"),
    ],
)  # fmt: skip
def test_an_address_that_a_recurrent_model_lacks_is_refused(attention, address, message):
    with pytest.raises(LookError, match=message):
        lines(recurrent_model("gru", attention), (address,))


@pytest.mark.parametrize("address", ["decoder.1", "encoder.1.forwards"])
def test_a_transformer_has_no_gates(model_of, address):
    with pytest.raises(LookError, match=f"{address} has no gates, because this model has no recurrent layers; its att"):
        lines(model_of("pre"), (address,), "cat")
    with pytest.raises(LookError, match="has no gates"):
        model_of("pre").look(TEXT, target=TARGET).recurrent_step(address, "cat")


def test_one_direction_is_needed_for_a_single_step():
    with pytest.raises(LookError, match=r"encoder.1 is not one recurrent layer; .* encoder.1.forwards, encoder.1.back"):
        recurrent_model("gru", "none").look(TEXT, target=TARGET).recurrent_step("encoder.1", "cat")


def test_a_head_can_be_removed_and_other_parts_cannot():
    assert "Computed without" not in lines(recurrent_model("lstm", "dot"))
    assert f"Computed without {HEAD}: the attention weights of {HEAD} are set to zero." in lines(
        recurrent_model("lstm", "dot"), without=HEAD
    )
    with pytest.raises(LookError, match=r"cannot look at a sentence without 'scaling'; choose nothing$"):
        lines(recurrent_model("gru", "none"), without="scaling")


def test_json_has_norms_and_the_vectors_of_the_given_layers_and_heads(tmp_path):
    view = recurrent_model("lstm", "additive").look(TEXT, target=TARGET)
    view.save(tmp_path / "a.json", [HEAD, "decoder.2"])
    found = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert list(found["norms"]) == [state.address for state in view.norms()]
    for name in ("decoder.2.forget_gate", "decoder.2.cell_before", "decoder.2.cross.output", "decoder.2.cross.joined"):
        assert np.array_equal(np.array(found["numbers"][name], np.float32), view.trace[name])
    assert len(found["numbers"]["decoder.2.cross.score_vector"]) == 8
    without = recurrent_model("gru", "none").look(TEXT, target=TARGET).to_dict()
    assert without["numbers"] == {} and len(without["norms"]) == 6


def test_svg_draws_the_map_or_the_norms(tmp_path):
    view = recurrent_model("lstm").look(TEXT, target=TARGET)
    assert save_svg(view, [HEAD], tmp_path / "a.svg", by_token=False).endswith(f"{HEAD}: target attends to source")
    message = save_svg(view, ["encoder.1"], tmp_path / "b.svg", by_token=False)
    assert message.endswith("b.svg shows the norms of the states of encoder.1")
    picture = (tmp_path / "b.svg").read_text("utf-8")
    assert picture.count("<polyline") == 4 and "cell, backwards" in picture
    with pytest.raises(LookError, match=r"--svg draws one map; .* --trace decoder.2.cross.1 or decoder.2$"):
        save_svg(view, [], tmp_path / "c.svg", by_token=False)


@pytest.mark.parametrize("style", STYLES, ids=str)
@pytest.mark.parametrize("shape", [{}, {"attention": "none"}, {"bidirectional": False, "encoder_layers": 1}], ids=str)
def test_the_model_is_drawn_with_all_its_parameters(shape, style, tmp_path):
    model = recurrent_model(**shape)
    text = "\n".join(model_lines(model, tmp_path / "model.svg", style))
    rows = re.findall(r" +(\d+) +([\d,]+)$", text.partition("elements")[2], re.MULTILINE)
    total = sum(tensor.numel() for tensor in model.network.state_dict().values())
    assert sum(int(elements.replace(",", "")) for _, elements in rows) == total
    assert text.rstrip().endswith(f" {total:,}")
    assert ("cross-attention, general scores" in text) == (shape.get("attention") != "none")
    picture = (tmp_path / "model.svg").read_text("utf-8")
    assert "final states" in picture and ("Cross-attention" in picture) == (shape.get("attention") != "none")
