"""Maps contain the recorded weights that their titles name, and their rows sum to one."""

import numpy as np
import pytest

from regard.errors import LookError
from regard.settings.decode import DecodeSettings

TEXT = "The unseen cat didn't (again) see the tired dog."
DECODE = DecodeSettings(beam_size=2, max_length_offset=9)


@pytest.fixture
def view(model):
    return model.look(TEXT, DECODE)


def test_the_map_of_a_head_equals_the_recorded_weights(view):
    for head in view.heads:
        found = view.attention(head, tokens=True)
        assert np.array_equal(np.asarray(found), view.trace[f"{head}.weight"])
        with pytest.raises(ValueError, match="read-only"):
            found.values[0, 0] = 1


def test_word_weights_are_sums_over_column_tokens_and_means_over_row_tokens(view):
    source, written, read = view.trace.source, view.trace.written, view.trace.read
    assert len(source.words) < len(source.ids)  # otherwise this tests nothing
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


def test_decoder_rows_name_the_words_read_and_about_to_be_written(view):
    found = view.attention("decoder.1.cross.1", tokens=True)
    assert found.rows[0].description == f"after <s>, predicting {view.trace.written.texts[0]}"
    assert [row.read for row in found.rows] == list(view.trace.read.texts)
    assert [row.text for row in found.rows] == list(view.trace.written.texts)
    words = view.attention("decoder.1.cross.1")
    assert [row.text for row in words.rows] == [word.text for word in view.trace.written.words]
    assert [row.read for row in words.rows][1:] == [word.text for word in view.trace.written.words[:-1]]


def test_only_later_tokens_are_masked(view):
    for head in view.heads:
        found = view.attention(head, tokens=True)
        later = np.triu(np.ones(found.values.shape, dtype=bool), 1)
        assert np.array_equal(found.masked, later if head.startswith("decoder") and ".self" in head else later & False)


@pytest.mark.parametrize("reduction", ["mean", "max"])
def test_the_title_of_a_map_over_heads_names_the_reduction(view, reduction):
    settings = view.trace.settings
    found = view.attention(f"decoder.1.cross.{reduction}", tokens=True)
    assert found.title.startswith(f"{reduction} of the {settings.heads} heads of decoder.1.cross")
    weights = view.trace["decoder.1.cross.weight"]
    assert np.array_equal(found.values, getattr(weights, reduction)(axis=0))
    all_layers = view.attention(f"decoder.cross.{reduction}", tokens=True)
    assert f"{reduction} of {settings.heads} heads in each of {settings.decoder_layers} layers" in all_layers.title
    weights = [view.trace[f"decoder.{n}.cross.weight"] for n in range(1, settings.decoder_layers + 1)]
    assert np.asarray(all_layers) == pytest.approx(getattr(np.concatenate(weights), reduction)(axis=0))


def test_rollout_rows_sum_to_one(view):
    encoder = np.asarray(view.attention("encoder.self.rollout", tokens=True))
    assert encoder.sum(axis=1) == pytest.approx(1, abs=1e-5)
    source = np.asarray(view.attention("decoder.cross.rollout", tokens=True))
    prefix = np.asarray(view.attention("decoder.self.rollout", tokens=True))
    assert source.sum(axis=1) + prefix.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert np.triu(prefix, 1).max() == 0


def test_rollout_of_one_layer_is_half_identity(model_of):
    view = model_of("deep decoder").look(TEXT, DECODE)
    mean = view.trace["encoder.1.self.weight"].mean(axis=0)
    expected = (mean + np.eye(len(mean))) / 2
    assert np.asarray(view.attention("encoder.self.rollout", tokens=True)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    "address", ["encoder.self.sum", "encoder.cross.mean", "decoder", "", "encoder.1.self", "encoder.1.self.1.weight"]
)
def test_an_unknown_map_is_refused(model_of, address):
    with pytest.raises(LookError, match=r"there is no map|there is no attention"):
        model_of("pre").look("cat", DECODE).attention(address)


def test_heads_are_listed_in_the_order_of_computation(model_of):
    view = model_of("deep encoder").look("cat", DECODE)
    assert list(view.trace.anatomy.heads)[:3] == ["encoder.1.self.1", "encoder.1.self.2", "encoder.2.self.1"]
    assert view.heads[-1] == "decoder.1.cross.2"


def test_an_svg_map_has_every_number_and_escapes_the_text(model_of):
    view = model_of("pre").look('<script>alert("x")</script> </s> & cat', DECODE)
    svg = view.attention("encoder.1.self.1").svg()
    assert "<script" not in svg and "&lt;script&gt;" in svg.replace("\n", "")
    found = view.attention("decoder.1.self.2")
    assert found.svg().count("<title>") == int((~found.masked).sum())
    assert f"{found.values[0, 0]:.4f}</title>" in found.svg()
