"""Maps are of what they say, and their rows still sum to one."""

import numpy as np
import pytest

from regard.errors import LookError
from regard.interpret.trace import all_heads
from regard.settings.decode import DecodeSettings

TEXT = "The unseen cat didn't (again) see the tired dog."
DECODE = DecodeSettings(beam_size=2, max_length_offset=9)


@pytest.fixture
def view(model):
    return model.look(TEXT, DECODE)


def test_a_head_is_what_was_recorded(view):
    for head in view.heads:
        found = view.attention(head, pieces=True)
        assert np.array_equal(np.asarray(found), view.trace[f"{head}.weight"])
        with pytest.raises(ValueError, match="read-only"):
            found.values[0, 0] = 1


def test_words_are_sums_over_what_is_looked_at_and_means_over_who_looks(view):
    source, written, read = view.trace.source, view.trace.written, view.trace.read
    assert len(source.words) < len(source.ids)  # else this tests nothing
    for head in view.heads:
        rows, columns = (source if head.startswith("encoder") else written).words, source.words
        if ".self" in head and head.startswith("decoder"):
            columns = read.words
        weights, found = view.trace[f"{head}.weight"], view.attention(head)
        for i, row in enumerate(rows):
            for j, column in enumerate(columns):
                block = weights[row.begin : row.end, column.begin : column.end]
                assert found.values[i, j] == pytest.approx(block.sum(axis=1).mean(), abs=1e-6)
        assert found.values.sum(axis=1) == pytest.approx(1, abs=1e-5)


def test_decoder_rows_say_what_was_read_and_what_is_to_be_written(view):
    found = view.attention("decoder.1.cross.1", pieces=True)
    assert found.rows[0].sentence == f"after reading <s>, about to write {view.trace.written.texts[0]}"
    assert [row.read for row in found.rows] == list(view.trace.read.texts)
    assert [row.text for row in found.rows] == list(view.trace.written.texts)
    words = view.attention("decoder.1.cross.1")
    assert [row.text for row in words.rows] == [word.text for word in view.trace.written.words]
    assert [row.read for row in words.rows][1:] == [word.text for word in view.trace.written.words[:-1]]


def test_what_is_still_to_come_is_masked_and_nothing_else(view):
    for head in view.heads:
        found = view.attention(head, pieces=True)
        later = np.triu(np.ones(found.values.shape, dtype=bool), 1)
        assert np.array_equal(found.masked, later if head.startswith("decoder") and ".self" in head else later & False)


@pytest.mark.parametrize("over", ["mean", "max"])
def test_one_map_over_heads_says_so(view, over):
    settings = view.trace.settings
    found = view.attention(f"decoder.1.cross.{over}", pieces=True)
    assert found.title.startswith(f"{over} of the {settings.heads} heads of decoder.1.cross")
    weights = view.trace["decoder.1.cross.weight"]
    assert np.array_equal(found.values, getattr(weights, over)(axis=0))
    whole = view.attention(f"decoder.cross.{over}", pieces=True)
    assert f"{over} of {settings.heads} heads in each of {settings.decoder_layers} layers" in whole.title
    every = [view.trace[f"decoder.{n}.cross.weight"] for n in range(1, settings.decoder_layers + 1)]
    assert np.asarray(whole) == pytest.approx(getattr(np.concatenate(every), over)(axis=0))


def test_rollout_shares_out_one(view):
    encoder = np.asarray(view.attention("encoder.self.rollout", pieces=True))
    assert encoder.sum(axis=1) == pytest.approx(1, abs=1e-5)
    source = np.asarray(view.attention("decoder.cross.rollout", pieces=True))
    prefix = np.asarray(view.attention("decoder.self.rollout", pieces=True))
    assert source.sum(axis=1) + prefix.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert np.triu(prefix, 1).max() == 0


def test_rollout_of_one_layer_is_half_itself(model_of):
    view = model_of("deep decoder").look(TEXT, DECODE)
    mean = view.trace["encoder.1.self.weight"].mean(axis=0)
    expected = (mean + np.eye(len(mean))) / 2
    assert np.asarray(view.attention("encoder.self.rollout", pieces=True)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    "address", ["encoder.self.sum", "encoder.cross.mean", "decoder", "", "encoder.1.self", "encoder.1.self.1.weight"]
)
def test_a_map_that_is_none(model_of, address):
    with pytest.raises(LookError, match=r"there is no map|there is no attention"):
        model_of("pre").look("cat", DECODE).attention(address)


def test_heads_are_listed_in_the_order_of_the_work(model_of):
    view = model_of("deep encoder").look("cat", DECODE)
    assert list(all_heads(view.trace))[:3] == ["encoder.1.self.1", "encoder.1.self.2", "encoder.2.self.1"]
    assert view.heads[-1] == "decoder.1.cross.2"


def test_a_map_as_a_picture_has_every_number_and_no_markup_of_the_text(model_of):
    view = model_of("pre").look('<script>alert("x")</script> </s> & cat', DECODE)
    svg = view.attention("encoder.1.self.1").svg()
    assert "<script" not in svg and "&lt;script&gt;" in svg.replace("\n", "")
    found = view.attention("decoder.1.self.2")
    assert found.svg().count("<title>") == int((~found.masked).sum())
    assert f"{found.values[0, 0]:.4f}</title>" in found.svg()
