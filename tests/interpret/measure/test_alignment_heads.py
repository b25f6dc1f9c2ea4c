"""Words aligned by a head: the planted one is chosen, stored, and given by the engine too."""

import shutil

import ctranslate2
import numpy as np
import pytest
from tests.interpret.planted import planted_model

from regard.api import load
from regard.errors import FolderError, LookError
from regard.evaluation.alignment_error import alignment_error
from regard.inference.alignment import align_words
from regard.interchange.ctranslate2.cache import is_ours
from regard.interchange.ctranslate2.export import ensure_export, export_model
from regard.interpret.annotated_pairs import PairSample, synthetic_sample
from regard.interpret.measure.alignment_heads import align_files, aligned, choose_head
from regard.interpret.report.alignment_report import alignment_lines, link_line
from regard.interpret.selftest.planted_model import planted_sample
from regard.model_folder.folder import AlignmentHead
from regard.model_folder.loader import open_folder
from regard.model_folder.writer import save_alignment_head
from regard.progress import run_to_end
from regard.settings.decode import DecodeSettings
from regard.tokenizers.special_ids import EOS
from regard.tokenizers.word_spans import WordSpan


@pytest.fixture(scope="module")
def planted():
    model = planted_model()
    return model, planted_sample(model.tokenizer, 40)


def test_the_planted_head_is_chosen(planted):
    model, sample = planted
    found = run_to_end(choose_head(model.network, sample))
    assert found.chosen == AlignmentHead("decoder.1.cross.1", "written")
    assert found.error.value == 0 and found.error.count == 20
    assert found.each["decoder.1.cross.2, read"] == 0 and found.each["decoder.1.cross.1, read"] == 1
    assert found.offset == pytest.approx(0.5, abs=0.1) and found.untrained > 0.5
    assert next(alignment_lines(found)).startswith("decoder.1.cross.1 aligns a target word best, about to write it: ")


@pytest.mark.parametrize("head", [("decoder.1.cross.1", "written"), ("decoder.1.cross.2", "read")])
def test_links_are_the_swap(planted, head):
    model, sample = planted
    for links in run_to_end(aligned(model.network, sample.pairs, AlignmentHead(*head))):
        assert sorted(links) == [(at, at ^ 1) for at in range(8)]


def test_links_by_hand():
    words = (WordSpan("a", 0, 1), WordSpan("bc", 1, 3))
    target = (WordSpan("d", 0, 1), WordSpan("", 1, 1), WordSpan("ef", 1, 3))
    weights = np.array([[0.5, 0.2, 0.2, 0.1], [0.1, 0.4, 0.1, 0.4], [0.2, 0.1, 0.6, 0.1], [0.9, 0.0, 0.0, 0.1]])
    assert list(align_words(weights, words, target, "written")) == [(0, 0), (1, 2)]
    assert list(align_words(weights, words, target, "read")) == [(1, 0), (0, 2)]
    # Cut off at its limit, a text has no row that read its last piece; without words there is nothing to link.
    assert list(align_words(weights[:1], words, target[:1], "read")) == []
    assert list(align_words(weights, (), target, "written")) == []


def test_the_error_of_an_untaught_model_on_the_language(model_of):
    model = model_of("pre")
    sample = synthetic_sample(model.tokenizer, 12)
    found = run_to_end(choose_head(model.network, sample))
    assert found.chosen.head.startswith("decoder.") and 0.3 < found.error.value <= 1
    links = run_to_end(aligned(model.network, sample.pairs, found.chosen))
    truth = [item.annotations.alignment for item in sample.pairs if item.annotations]
    assert alignment_error(links[1::2], truth[1::2]) == pytest.approx(found.error.value, abs=0.02)


def test_too_few_words_on_both_sides(planted):
    model, sample = planted
    with pytest.raises(LookError, match="fewer than 30 words stand once on both sides"):
        run_to_end(choose_head(model.network, PairSample("two pairs", sample.pairs[:2])))


def test_a_line_for_every_pair_even_where_there_is_nothing_to_align(planted, tmp_path):
    model, sample = planted
    path = tmp_path / "pairs.tsv"
    long = "ant " * 30
    path.write_text(f"{sample.pairs[0].source}\t{sample.pairs[0].target}\n{long.strip()}\tant\n", "utf-8")
    found = list(align_files(model.network, model.tokenizer, [path], AlignmentHead("decoder.1.cross.1", "written")))
    assert [link_line(*one, as_json=False) for one in found] == ["0-1 1-0 2-3 3-2 4-5 5-4 6-7 7-6", ""]
    assert link_line(*found[0], as_json=True).startswith('{"source": ["')


@pytest.mark.parametrize("shape", ["pre", "deep decoder"])
def test_the_engine_gives_the_weights_of_the_stored_head(folder_of, tmp_path, shape):
    folder = tmp_path / "model"
    shutil.copytree(folder_of(shape), folder)
    model = load(folder, fast=None)
    heads = model.network.settings.heads
    chosen = AlignmentHead(f"decoder.{model.network.settings.decoder_layers - 1}.cross.{heads}", "written")
    save_alignment_head(folder, chosen)
    opened = open_folder(folder)  # still whole
    assert opened.alignment == chosen
    export_model(folder, tmp_path / "fast", "float32")
    view = model.look("the old cat sees a red tree.", DecodeSettings(beam_size=1, max_length_offset=9))
    engine = ctranslate2.Translator(str(tmp_path / "fast"), device="cpu", intra_threads=1)
    names = opened.tokenizer.tokens(view.trace.source.ids[:-1])
    written = opened.tokenizer.tokens([one for one in view.trace.written.ids if one != EOS])
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
    save_alignment_head(folder, AlignmentHead("decoder.1.cross.2", "read"))
    stored = (folder / "alignment.json").read_bytes()
    save_alignment_head(folder, AlignmentHead("decoder.1.cross.2", "read"))
    assert (folder / "alignment.json").read_bytes() == stored
    assert (folder / "manifest.json").read_bytes() == hashed
    assert load(folder).translate("the old cat sees it.").text == before
    ensure_export(folder)
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
        save_alignment_head(folder, AlignmentHead("decoder.9.cross.1", "read"))
    else:
        path.write_bytes(content)
    with pytest.raises(FolderError) as refused:
        open_folder(folder)
    mend = "; remove it, and find the head again: regard measure alignment"
    assert str(refused.value) == problem.format(path=path) + mend
