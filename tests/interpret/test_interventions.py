"""What a part is there for shows when it is gone."""

import numpy as np
import pytest
from tests.interpret.planted import planted_model

from regard.errors import LookError
from regard.interpret.interventions import without_positions
from regard.interpret.look.component_ablation import position_effect, scaling_effect
from regard.interpret.report.sentence_text import heading
from regard.render.terminal import TerminalStyle
from regard.settings.decode import DecodeSettings

TEXT = "the old cat sees a red tree and it was tired."
DECODE = DecodeSettings(beam_size=2, max_length_offset=9)


def test_without_positions_the_order_of_the_words_leaves_no_trace(model):
    moved = position_effect(model.network, model.source(TEXT))
    assert [one.token for one in moved] == list(model.source(TEXT).texts[:-1])
    assert all(one.without_positions < 1e-5 for one in moved)
    assert all(one.with_positions > 1e-2 for one in moved if one.token != moved[len(moved) // 2].token)


def test_without_scaling_the_softmax_is_that_of_the_raw_scores_and_sharper(model):
    whole, raw = model.look(TEXT, DECODE), model.look(TEXT, DECODE, without="scaling")
    assert raw.text == whole.text and raw.without == "scaling"
    for attention in raw.trace.attentions:
        scores = np.where(raw.trace[f"{attention.address}.mask"], raw.trace[f"{attention.address}.score"], -np.inf)
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        expected = powers / powers.sum(axis=-1, keepdims=True)
        assert np.asarray(raw.trace[f"{attention.address}.weight"]) == pytest.approx(expected, abs=1e-6)
    found = scaling_effect(whole.trace, raw.trace)
    assert [one.address for one in found] == list(whole.heads)
    first = [one for one in found if one.address.startswith("encoder.1.")]
    assert all(one.unscaled > one.scaled for one in first)  # later layers read other vectors


def test_without_positions_weights_are_shared_and_the_pass_has_none(model):
    blind = without_positions(model.network)
    assert all(a is b for a, b in zip(blind.encoder.parameters(), model.network.encoder.parameters(), strict=True))
    trace = model.look(TEXT, DECODE, without="positions").trace
    assert not trace["encoder.position"].any() and not trace["decoder.position"].any()


def test_what_cannot_be_left_out(model_of):
    with pytest.raises(LookError, match=r"without positions, scaling or a head such as .*, not without 'heads'"):
        model_of("pre").look(TEXT, without="heads")
    with pytest.raises(LookError, match=r"no head 'encoder\.9\.self\.1'"):
        model_of("pre").look(TEXT, without="encoder.9.self.1")


def test_without_a_head_the_text_is_translated_anew():
    model = planted_model()
    text = "ant bee cow dog eel fox gnu hen"
    whole = model.look(text)
    assert whole.text == "bee ant dog cow fox eel hen gnu" and whole.whole_text is None
    view = model.look(text, without="decoder.1.cross.1")
    assert view.whole_text == whole.text != view.text and view.torch_text is None
    assert not view.trace["decoder.1.cross.1.weight"].any() and view.trace["decoder.1.cross.2.weight"].any()
    assert "Translated without decoder.1.cross.1. The whole model writes: " + whole.text in list(
        heading(view, TerminalStyle())
    )
    same = model.look(text, without="encoder.1.self.1")
    assert same.text == same.whole_text == whole.text
    given = model.look(text, target=whole.text, without="decoder.1.cross.1")
    assert given.text == whole.text and given.whole_text is None
