"""Words aligned by a head: the planted one is chosen, stored, and given by the engine too."""

import shutil

import ctranslate2
import numpy as np
import pytest

from regard.data.texts import finished
from regard.data.tokenizer import END
from regard.decoding.convert import convert, make_fast
from regard.decoding.fast import is_ours
from regard.decoding.linking import Word, links_of
from regard.errors import FolderError, LookError
from regard.evaluation.alignment import alignment_error
from regard.folder import AlignmentHead, open_folder, store_alignment
from regard.inside.aligning import align_files, aligned, choose_head
from regard.inside.findings import alignment_lines, link_line
from regard.inside.model import load
from regard.inside.planted import planted_model, planted_sample
from regard.inside.sample import Sample, language_sample
from regard.settings import DecodeSettings


@pytest.fixture(scope="module")
def planted():
    model = planted_model()
    return model, planted_sample(model.pieces, 40)


def test_the_planted_head_is_chosen(planted):
    model, sample = planted
    found = finished(choose_head(model.torch, sample))
    assert found.chosen == AlignmentHead("decoder.1.cross.1", "written")
    assert found.error.value == 0 and found.error.count == 20
    assert found.each["decoder.1.cross.2, read"] == 0 and found.each["decoder.1.cross.1, read"] == 1
    assert found.offset == pytest.approx(0.5, abs=0.1) and found.untrained > 0.5
    assert next(alignment_lines(found)).startswith("decoder.1.cross.1 aligns a target word best, about to write it: ")


@pytest.mark.parametrize("head", [("decoder.1.cross.1", "written"), ("decoder.1.cross.2", "read")])
def test_links_are_the_swap(planted, head):
    model, sample = planted
    for links in finished(aligned(model.torch, sample.items, AlignmentHead(*head))):
        assert sorted(links) == [(at, at ^ 1) for at in range(8)]


def test_links_by_hand():
    words = (Word("a", 0, 1), Word("bc", 1, 3))
    target = (Word("d", 0, 1), Word("", 1, 1), Word("ef", 1, 3))
    weights = np.array([[0.5, 0.2, 0.2, 0.1], [0.1, 0.4, 0.1, 0.4], [0.2, 0.1, 0.6, 0.1], [0.9, 0.0, 0.0, 0.1]])
    assert list(links_of(weights, words, target, "written")) == [(0, 0), (1, 2)]
    assert list(links_of(weights, words, target, "read")) == [(1, 0), (0, 2)]
    # Cut off at its limit, a text has no row that read its last piece; without words there is nothing to link.
    assert list(links_of(weights[:1], words, target[:1], "read")) == []
    assert list(links_of(weights, (), target, "written")) == []


def test_the_error_of_an_untaught_model_on_the_language(model_of):
    model = model_of("pre")
    sample = language_sample(model.pieces, 12)
    found = finished(choose_head(model.torch, sample))
    assert found.chosen.head.startswith("decoder.") and 0.3 < found.error.value <= 1
    links = finished(aligned(model.torch, sample.items, found.chosen))
    truth = [item.truth.alignment for item in sample.items if item.truth]
    assert alignment_error(links[1::2], truth[1::2]) == pytest.approx(found.error.value, abs=0.02)


def test_too_few_words_on_both_sides(planted):
    model, sample = planted
    with pytest.raises(LookError, match="fewer than 30 words stand once on both sides"):
        finished(choose_head(model.torch, Sample("two pairs", sample.items[:2])))


def test_a_line_for_every_pair_even_where_there_is_nothing_to_align(planted, tmp_path):
    model, sample = planted
    path = tmp_path / "pairs.tsv"
    long = "ant " * 30
    path.write_text(f"{sample.items[0].source}\t{sample.items[0].target}\n{long.strip()}\tant\n", "utf-8")
    found = list(align_files(model.torch, model.pieces, [path], AlignmentHead("decoder.1.cross.1", "written")))
    assert [link_line(*one, as_json=False) for one in found] == ["0-1 1-0 2-3 3-2 4-5 5-4 6-7 7-6", ""]
    assert link_line(*found[0], as_json=True).startswith('{"source": ["')


@pytest.mark.parametrize("shape", ["pre", "deep decoder"])
def test_the_engine_gives_the_weights_of_the_stored_head(folder_of, tmp_path, shape):
    folder = tmp_path / "model"
    shutil.copytree(folder_of(shape), folder)
    model = load(folder, fast=None)
    heads = model.torch.settings.heads
    chosen = AlignmentHead(f"decoder.{model.torch.settings.decoder_layers - 1}.cross.{heads}", "written")
    store_alignment(folder, chosen)
    opened = open_folder(folder)  # still whole
    assert opened.alignment == chosen
    convert(folder, tmp_path / "fast", "float32")
    view = model.look("the old cat sees a red tree.", DecodeSettings(beams=1, extra=9))
    engine = ctranslate2.Translator(str(tmp_path / "fast"), device="cpu", intra_threads=1)
    names = opened.tokenizer.pieces(view.trace.source.ids[:-1])
    written = opened.tokenizer.pieces([one for one in view.trace.written.ids if one != END])
    (scored,) = engine.translate_batch(
        [names], target_prefix=[written], beam_size=1, max_decoding_length=len(written) + 1, return_attention=True
    )
    given = np.array(scored.attention[0])[: len(written)]
    expected = np.asarray(view.trace[f"{chosen.head}.weight"])[: len(written)]
    np.testing.assert_allclose(given, expected[:, : given.shape[1]], atol=1e-4)


def test_storing_twice_changes_nothing_and_text_stays_the_same(folder_of, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(folder_of("pre"), folder)
    before = load(folder).translate("the old cat sees it.").text
    hashed = (folder / "manifest.json").read_bytes()
    store_alignment(folder, AlignmentHead("decoder.1.cross.2", "read"))
    stored = (folder / "alignment.json").read_bytes()
    store_alignment(folder, AlignmentHead("decoder.1.cross.2", "read"))
    assert (folder / "alignment.json").read_bytes() == stored
    assert (folder / "manifest.json").read_bytes() == hashed
    assert load(folder).translate("the old cat sees it.").text == before
    make_fast(folder)
    assert is_ours(folder / "fast", open_folder(folder))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"{}", "{path} is not readable"),
        (b"nonsense", "{path} is not readable"),
        (None, "{path} names a head that the model does not have"),
    ],
)
def test_a_damaged_alignment_is_refused(folder_of, tmp_path, content, problem):
    folder = tmp_path / "model"
    shutil.copytree(folder_of("pre"), folder)
    path = folder / "alignment.json"
    if content is None:
        store_alignment(folder, AlignmentHead("decoder.9.cross.1", "read"))
    else:
        path.write_bytes(content)
    with pytest.raises(FolderError) as refused:
        open_folder(folder)
    mend = "; remove it, and find the head again: regard measure alignment"
    assert str(refused.value) == problem.format(path=path) + mend
