"""What a part is there for shows when it is gone."""

import numpy as np
import pytest

from regard.errors import LookError
from regard.inside.without import lost_order, saturation, without_positions
from regard.settings import DecodeSettings

TEXT = "the old cat sees a red tree and it was tired."
DECODE = DecodeSettings(beams=2, extra=9)


def test_without_positions_the_order_of_the_words_leaves_no_trace(model):
    moved = lost_order(model.torch, model.source(TEXT))
    assert [one.piece for one in moved] == list(model.source(TEXT).pieces[:-1])
    assert all(one.without_positions < 1e-5 for one in moved)
    assert all(one.with_positions > 1e-2 for one in moved if one.piece != moved[len(moved) // 2].piece)


def test_without_scaling_the_softmax_is_that_of_the_raw_scores_and_sharper(model):
    whole, raw = model.look(TEXT, DECODE), model.look(TEXT, DECODE, without="scaling")
    assert raw.text == whole.text and raw.without == "scaling"
    for attention in raw.trace.attentions:
        scores = np.where(raw.trace[f"{attention.address}.mask"], raw.trace[f"{attention.address}.score"], -np.inf)
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        expected = powers / powers.sum(axis=-1, keepdims=True)
        assert np.asarray(raw.trace[f"{attention.address}.weight"]) == pytest.approx(expected, abs=1e-6)
    found = saturation(whole.trace, raw.trace)
    assert [one.address for one in found] == list(whole.heads)
    first = [one for one in found if one.address.startswith("encoder.1.")]
    assert all(one.unscaled > one.scaled for one in first)  # later layers read other vectors


def test_without_positions_weights_are_shared_and_the_pass_has_none(model):
    blind = without_positions(model.torch)
    assert all(a is b for a, b in zip(blind.encoder.parameters(), model.torch.encoder.parameters(), strict=True))
    trace = model.look(TEXT, DECODE, without="positions").trace
    assert not trace["encoder.position"].any() and not trace["decoder.position"].any()


def test_what_cannot_be_left_out(model_of):
    with pytest.raises(LookError, match="without positions or scaling, not without 'heads'"):
        model_of("pre").look(TEXT, without="heads")
