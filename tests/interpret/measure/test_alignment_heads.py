"""Word alignment by a head: the planted head is chosen and stored, and CTranslate2 gives its weights too."""

import shutil

import ctranslate2
import numpy as np
import pytest
from tests.interpret.planted import planted_model

from regard.api import load
from regard.errors import FolderError, LookError
from regard.evaluation.alignment_error import alignment_error
from regard.inference.alignment import align_words
from regard.interchange.ctranslate2.cache import is_trusted_export
from regard.interchange.ctranslate2.export import ensure_export, export_model
from regard.interpret.annotated_pairs import PairSample, synthetic_sample
from regard.interpret.measure import alignment_baselines
from regard.interpret.measure.alignment_heads import align, align_files, choose_head
from regard.interpret.report.alignment_report import alignment_line, alignment_lines
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
    result = run_to_end(choose_head(model.network, sample))
    assert result.chosen == AlignmentHead("decoder.1.cross.1", "written")
    assert result.error.value == 0 and result.error.count == 20
    errors = result.selection_errors
    assert errors["decoder.1.cross.2, read"] == 0 and errors["decoder.1.cross.1, read"] == 1
    baselines = {name: error.value for name, error in result.baselines.items()}
    assert baselines["best fixed offset"] == pytest.approx(0.5, abs=0.1)
    assert baselines["diagonal"] == 1 and baselines["best head of an untrained model"] > 0.5
    assert baselines["IBM model 1"] < 0.1  # only identical words are compared
    assert result.floor == 0 and result.identical_words_only and result.usable
    assert 0 < result.error.high < 0.2  # not certain, although no link is wrong
    line = next(alignment_lines(result))
    assert line.startswith("decoder.1.cross.1 aligns a target word best, at the position that predicts it: ")


@pytest.mark.parametrize("head", [("decoder.1.cross.1", "written"), ("decoder.1.cross.2", "read")])
def test_planted_heads_align_swapped_neighbours(planted, head):
    model, sample = planted
    for links in run_to_end(align(model.network, sample.pairs, AlignmentHead(*head))):
        assert sorted(links) == [(word, word ^ 1) for word in range(8)]


def test_words_are_aligned_by_their_largest_weight():
    words = (WordSpan("a", 0, 1), WordSpan("bc", 1, 3))
    target = (WordSpan("d", 0, 1), WordSpan("", 1, 1), WordSpan("ef", 1, 3))
    weights = np.array([[0.5, 0.2, 0.2, 0.1], [0.1, 0.4, 0.1, 0.4], [0.2, 0.1, 0.6, 0.1], [0.9, 0.0, 0.0, 0.1]])
    assert list(align_words(weights, words, target, "written")) == [(0, 0), (1, 2)]
    assert list(align_words(weights, words, target, "read")) == [(1, 0), (0, 2)]
    # A text cut off at its limit has no row that read its last token; without words there are no links.
    assert list(align_words(weights[:1], words, target[:1], "read")) == []
    assert list(align_words(weights, (), target, "written")) == []


def test_an_untrained_model_aligns_the_synthetic_language_badly(model_of, monkeypatch):
    monkeypatch.setattr(alignment_baselines, "TRAINING_PAIRS", 1500)
    model = model_of("pre")
    sample = synthetic_sample(model.tokenizer, 12)
    result = run_to_end(choose_head(model.network, sample))
    assert result.chosen.head.startswith("decoder.") and 0.3 < result.error.value <= 1
    assert result.baselines["IBM model 1"].value < result.error.value and not result.usable
    assert 0 < result.floor < 0.2 and not result.identical_words_only
    alignments = run_to_end(align(model.network, sample.pairs, result.chosen))
    gold = [pair.annotations.alignment for pair in sample.pairs if pair.annotations]
    assert alignment_error(alignments[1::2], gold[1::2]) == pytest.approx(result.error.value, abs=0.02)


def test_too_few_identical_words_are_an_error(planted):
    model, sample = planted
    with pytest.raises(LookError, match="fewer than 30 words occur once on both sides"):
        run_to_end(choose_head(model.network, PairSample("two pairs", sample.pairs[:2])))


def test_every_pair_has_a_line_even_if_it_cannot_be_aligned(planted, tmp_path):
    model, sample = planted
    path = tmp_path / "pairs.tsv"
    long = "ant " * 30
    path.write_text(f"{sample.pairs[0].source}\t{sample.pairs[0].target}\n{long.strip()}\tant\n", "utf-8")
    aligned = list(align_files(model.network, model.tokenizer, [path], AlignmentHead("decoder.1.cross.1", "written")))
    assert [alignment_line(*each, as_json=False) for each in aligned] == ["0-1 1-0 2-3 3-2 4-5 5-4 6-7 7-6", ""]
    assert alignment_line(*aligned[0], as_json=True).startswith('{"source": ["')


@pytest.mark.parametrize("shape", ["pre", "deep decoder"])
def test_ctranslate2_gives_the_weights_of_the_stored_head(folder_of, tmp_path, shape):
    folder = tmp_path / "model"
    shutil.copytree(folder_of(shape), folder)
    model = load(folder, backend="torch")
    *_, attention, _ = [one for one in model.network.anatomy().attentions if one.kind == "decoder.cross"]
    chosen = AlignmentHead(attention.head_addresses[-1], "written")  # the last head of the last layer but one
    save_alignment_head(folder, chosen)
    opened = open_folder(folder)  # raises an error if the folder is damaged
    assert opened.alignment == chosen
    export_model(folder, tmp_path / "ctranslate2", "float32")
    view = model.look("the old cat sees a red tree.", DecodeSettings(beam_size=1, max_length_offset=9))
    translator = ctranslate2.Translator(str(tmp_path / "ctranslate2"), device="cpu", intra_threads=1)
    source = opened.tokenizer.tokens(view.trace.source.ids[:-1])
    target = opened.tokenizer.tokens([token for token in view.trace.written.ids if token != EOS])
    (result,) = translator.translate_batch(
        [source], target_prefix=[target], beam_size=1, max_decoding_length=len(target) + 1, return_attention=True
    )
    weights = np.array(result.attention[0])[: len(target)]
    expected = np.asarray(view.trace[f"{chosen.head}.weight"])[: len(target)]
    np.testing.assert_allclose(weights, expected[:, : weights.shape[1]], atol=1e-4)


def test_storing_a_head_twice_changes_neither_files_nor_translations(folder_of, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(folder_of("pre"), folder)
    before = load(folder).translate("the old cat sees it.").text
    identity = open_folder(folder).weights_sha256
    save_alignment_head(folder, AlignmentHead("decoder.1.cross.2", "read"))
    stored = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    save_alignment_head(folder, AlignmentHead("decoder.1.cross.2", "read"))
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == stored
    assert open_folder(folder).weights_sha256 == identity
    assert load(folder).translate("the old cat sees it.").text == before
    ensure_export(folder)
    assert is_trusted_export(folder / "ctranslate2", open_folder(folder))


@pytest.mark.parametrize(
    "head", [AlignmentHead("decoder.9.cross.1", "read"), AlignmentHead("encoder.1.self.1", "read")]
)
def test_a_head_that_cannot_align_is_an_error(folder_of, tmp_path, head):
    folder = tmp_path / "model"
    shutil.copytree(folder_of("pre"), folder)
    save_alignment_head(folder, AlignmentHead(head, "read"))
    with pytest.raises(FolderError) as raised:
        open_folder(folder)
    assert str(raised.value) == (
        f"{folder / 'settings.json'}: alignment_head names a head that the model does not have; run `regard measure "
        "alignment` again"
    )
