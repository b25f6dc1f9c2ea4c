"""Removing positions, scaling or a head has exactly the expected effect."""

import numpy as np
import pytest
from tests.interpret.planted import planted_model

from regard.errors import LookError
from regard.interpret.interventions import without_positions
from regard.interpret.look.component_ablation import position_effect, scaling_effect
from regard.interpret.look.head_effects import row_effects
from regard.interpret.report.sentence_text import heading
from regard.render.terminal import TerminalStyle
from regard.settings.decode import DecodeSettings

TEXT = "the old cat sees a red tree and it was tired."
DECODE = DecodeSettings(beam_size=2, max_length_offset=9)


def test_without_positions_word_order_has_no_effect(model):
    shifts = position_effect(model.network, model.source(TEXT))
    assert [shift.token for shift in shifts] == list(model.source(TEXT).texts[:-1])
    assert all(shift.without_positions < 1e-5 for shift in shifts)
    assert all(shift.with_positions > 1e-2 for shift in shifts if shift.token != shifts[len(shifts) // 2].token)


def test_without_scaling_weights_are_the_softmax_of_raw_scores_and_sharper(model):
    full, raw = model.look(TEXT, DECODE), model.look(TEXT, DECODE, without="scaling")
    assert raw.text == full.text and raw.without == "scaling"
    for attention in raw.trace.attentions:
        scores = np.where(raw.trace[f"{attention.address}.mask"], raw.trace[f"{attention.address}.score"], -np.inf)
        exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
        expected = exponentials / exponentials.sum(axis=-1, keepdims=True)
        assert np.asarray(raw.trace[f"{attention.address}.weight"]) == pytest.approx(expected, abs=1e-6)
    effect = scaling_effect(full.trace, raw.trace)
    assert [head.address for head in effect] == list(full.heads)
    first_layer = [head for head in effect if head.address.startswith("encoder.1.")]
    assert all(head.unscaled > head.scaled for head in first_layer)  # later layers have different inputs


def test_without_positions_parameters_are_shared_and_positions_are_zero(model):
    positionless = without_positions(model.network)
    assert all(
        a is b
        for (name, a), b in zip(positionless.named_parameters(), model.network.parameters(), strict=True)
        if not name.startswith("positions.")
    )
    trace = model.look(TEXT, DECODE, without="positions").trace
    assert not trace["encoder.position"].any() and not trace["decoder.position"].any()


def test_an_unknown_component_or_head_is_refused(model_of):
    with pytest.raises(
        LookError, match=r"without 'heads'; choose positions, scaling or a head such as encoder\.1\.self\.1"
    ):
        model_of("pre").look(TEXT, without="heads")
    with pytest.raises(LookError, match=r"no head 'encoder\.9\.self\.1'"):
        model_of("pre").look(TEXT, without="encoder.9.self.1")


def test_without_a_head_the_text_is_translated_again():
    model = planted_model()
    text = "ant bee cow dog eel fox gnu hen"
    full = model.look(text)
    assert full.text == "bee ant dog cow fox eel hen gnu" and full.full_model_text is None
    view = model.look(text, without="decoder.1.cross.1")
    assert view.full_model_text == full.text != view.text and view.torch_text is None
    assert not view.trace["decoder.1.cross.1.weight"].any() and view.trace["decoder.1.cross.2.weight"].any()
    assert "Translated without decoder.1.cross.1. Translation of the full model: " + full.text in list(
        heading(view, TerminalStyle())
    )
    same = model.look(text, without="encoder.1.self.1")
    assert same.text == same.full_model_text == full.text
    given = model.look(text, target=full.text, without="decoder.1.cross.1")
    assert given.text == full.text and given.full_model_text is None


def test_a_head_can_attend_evenly_or_to_one_token_and_nothing_else_changes_in_its_layer(model):
    full = model.look(TEXT, target="a red dog.")
    for head in ("encoder.1.self.2", "decoder.1.cross.1", "decoder.1.self.1"):
        weights = np.asarray(full.trace[f"{head}.weight"])
        even = np.asarray(
            model.look(TEXT, target="a red dog.", without=head, instead="uniform").trace[f"{head}.weight"]
        )
        visible = np.tril(np.ones(weights.shape)) if head.startswith("decoder.1.self") else np.ones(weights.shape)
        assert even == pytest.approx(visible / visible.sum(axis=1, keepdims=True), abs=1e-6)
        forced = np.asarray(
            model.look(TEXT, target="a red dog.", without=head, instead="3-4:1-2").trace[f"{head}.weight"]
        )
        assert forced[2:4] == pytest.approx(np.eye(weights.shape[1])[[0, 0]] / 2 + np.eye(weights.shape[1])[[1, 1]] / 2)
        others = [i for i in range(len(weights)) if i not in (2, 3)]
        assert forced[others] == pytest.approx(weights[others], abs=1e-6)


def test_what_an_intervention_does_to_the_words_of_the_full_model_is_recorded(model):
    view = model.look(TEXT, DECODE, without="decoder.1.cross.1", instead="uniform")
    assert view.original is not None and view.original_changed is not None
    again = model.look(TEXT, target=view.original.text, without="decoder.1.cross.1", instead="uniform")
    if again.trace.written.ids == view.original.trace.written.ids:
        assert view.original_changed == pytest.approx(again.trace["probability"], abs=1e-6)
    with_head = model.look(TEXT, DECODE)
    assert view.full_model_text == with_head.text and view.original.text == with_head.text


@pytest.mark.parametrize(
    ("without", "instead", "message"),
    [
        (None, "uniform", "say which head"),
        ("scaling", "uniform", "say which head"),
        ("encoder.1.self.1", "flat", "neither 'uniform' nor a pair of tokens"),
        ("encoder.1.self.1", "0:1", "counted from 1"),
        ("encoder.1.self.1", "3-2:1", "the first is given before the last"),
        ("encoder.1.self.1", "1:999", "has token 999 of the text"),
        ("decoder.1.self.1", "2:3", "attend to a later one"),
    ],
)
def test_weights_that_cannot_be_replaced_are_refused(model, without, instead, message):
    with pytest.raises(LookError, match=message):
        model.look(TEXT, target="a red dog.", without=without, instead=instead)


def test_a_head_whose_every_word_attends_to_nothing_is_a_removed_head(model):
    view = model.look(TEXT, target="a red dog.")
    before = np.array([step.probability for step in view.steps()])
    for head in ("encoder.1.self.2", "decoder.1.cross.1", "decoder.1.self.1"):
        removed = model.look(TEXT, target="a red dog.", without=head)
        change = np.abs(np.array([step.probability for step in removed.steps()]) - before).max()
        [everything] = row_effects(model.network, view.trace, head, [range(99)])
        assert everything == pytest.approx(change, abs=1e-6)
        assert view.most_effective_row(head) is not None
