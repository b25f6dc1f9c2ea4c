"""Links between words: the same on both roads, from the weights that the lens sees, in texts of any form."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.interpret.planted import planted_model
from tests.interpret.small_models import write_model

import regard
from regard.inference.alignment import WordCount, align_words
from regard.inference.result import Translation
from regard.interchange.ctranslate2 import cache as cache_module
from regard.interpret.selftest.planted_model import planted_sample
from regard.model_folder.folder import AlignmentHead
from regard.model_folder.loader import open_folder
from regard.model_folder.writer import save_alignment_head, save_folder
from regard.settings.decode import DecodeSettings
from regard.settings.kinds.transformer import TransformerSettings
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import BOS, EOS, FIRST_SUBWORD
from regard.tokenizers.vocabulary import train_tokenizer
from regard.tokenizers.word_spans import whitespace_words

TEXTS = [
    "the old cat sees a red tree.",
    "two dogs",
    "it was tired and under the house, with three cats and a dog.",
    "",
    "½ naïve  ▁ 中文 the\u00a0cat",
    "the cat\n\n  a dog sees it\nwith two trees",
    " ".join(["the old cat sees a red tree and it was tired,"] * 12),
    "cat" * 150,
]
LINKS = DecodeSettings(beam_size=3, max_length_offset=9, min_length=8, alignment=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of random weights that writes words."""
    made = tmp_path_factory.mktemp("links")
    opened = open_folder(write_model(made / "bytes", {"norm": "pre", "decoder_layers": 3, "heads": 4}))
    weights = opened.build().state_dict()
    weights["embedding.weight"][EOS + 1 : FIRST_SUBWORD] = 0
    save(made / "model", opened.settings, weights, opened.tokenizer)
    return made / "model"


def save(
    folder: Path, settings: TransformerSettings, weights: dict[str, Any], tokenizer: SentencePieceTokenizer
) -> None:
    save_folder(folder, settings=settings, weights=weights, tokenizer=tokenizer, languages=(None, None), card="")


@pytest.fixture(params=[("decoder.2.cross.3", "written"), ("decoder.3.cross.4", "read")], ids=lambda head: head[1])
def aligning(
    request: pytest.FixtureRequest, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str | None], Any]:
    """The model with that head stored, on either road."""
    monkeypatch.setattr(cache_module, "user_cache_path", lambda name: tmp_path / "cache" / name)
    shutil.copytree(folder, tmp_path / "model")
    save_alignment_head(tmp_path / "model", AlignmentHead(*request.param))
    return lambda road: regard.load(tmp_path / "model", fast=road)


def same(one: Translation, other: Translation) -> None:
    assert (one.text, one.alignment) == (other.text, other.alignment)
    for its, others in zip(one.alternatives, other.alternatives, strict=True):
        same(its, others)


def test_both_roads_give_the_same_links(aligning: Callable[[str | None], Any]) -> None:
    engine, torch = aligning("float32"), aligning(None)
    count = 0
    for decode in (
        LINKS,
        replace(LINKS, min_length=0, n_best=3, log_probabilities=True),
        replace(LINKS, beam_size=1, max_length=8),
    ):
        for one, other in zip(engine.translate_all(TEXTS, decode), torch.translate_all(TEXTS, decode), strict=True):
            same(one, other)
            assert (one.alignment is None) == (not one.source)
            count += len(one.alignment or ())
            words = len(one.source.split()), len(one.text.split())
            assert all(link[0] < words[0] and link[1] < words[1] for link in one.alignment or ())
            assert len(set(one.alignment or ())) == len(one.alignment or ())
    assert count > 20
    assert engine.translate(TEXTS[0]).alignment is None


@pytest.mark.parametrize(
    "head", [("decoder.1.cross.1", "written"), ("decoder.1.cross.2", "read")], ids=lambda it: it[1]
)
@pytest.mark.parametrize("road", ["float32", None])
def test_a_planted_head_links_what_it_carries_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: tuple[str, str], road: str | None
) -> None:
    monkeypatch.setattr(cache_module, "user_cache_path", lambda name: tmp_path / "cache" / name)
    made = planted_model()
    save(tmp_path / "a", made.network.settings, made.network.state_dict(), made.tokenizer)
    save_alignment_head(tmp_path / "a", AlignmentHead(*head))
    text = planted_sample(made.tokenizer, 1).pairs[0].source
    found = regard.load(tmp_path / "a", fast=road).translate(text, replace(LINKS, min_length=0))
    assert found.alignment == tuple((at ^ 1, at) for at in range(8))


def test_links_are_those_of_the_recorded_weights(aligning: Callable[[str | None], Any]) -> None:
    model = aligning(None)
    found = model.translate(TEXTS[0], LINKS)
    view = model.look(TEXTS[0], LINKS)
    assert view.text == found.text
    ids = [[one for one in side.ids if one not in (BOS, EOS)] for side in (view.trace.source, view.trace.written)]
    source, target = (whitespace_words(side, model.tokenizer) for side in ids)
    weights = view.trace[f"{model.alignment_head.head}.weight"]
    assert found.alignment == tuple(align_words(weights, source, target, model.alignment_head.row))


def test_links_of_a_text_in_parts_count_its_words(aligning: Callable[[str | None], Any]) -> None:
    model = aligning(None)
    lines = TEXTS[5].split("\n")
    each = [model.translate(line, LINKS) for line in lines]
    expected: list[tuple[int, int]] = []
    before = [0, 0]
    for one in each:
        expected += [(before[0] + source, before[1] + target) for source, target in one.alignment or ()]
        before = [before[0] + len(one.source.split()), before[1] + len(one.text.split())]
    assert list(model.translate(TEXTS[5], LINKS).alignment) == expected


def test_a_model_that_knows_no_head_has_no_links(folder: Path) -> None:
    assert regard.load(folder, fast=None).translate(TEXTS[0], LINKS).alignment is None


def test_words_of_pieces_that_are_no_text() -> None:
    plain = SentencePieceTokenizer(train_tokenizer(iter(["the cat sees a tree"] * 9), kind="unigram", vocab_size=290))
    byte = [4 + 0xE2, 4 + 0xFF]
    (cat, sees) = plain.encode(["cat", "sees"])
    words = whitespace_words([*cat, *byte, *sees], plain)
    assert [word.text for word in words] == ["cat\ufffd\ufffd", "sees"]
    assert words[0].end == len(cat) + len(byte) and words[1].end == len(cat) + len(byte) + len(sees)


def test_words_that_go_on_in_the_next_part_count_once() -> None:
    words = WordCount()
    for part, first in (("the cat", 0), ("s see ", 1), ("", 3), ("a", 3), ("", 3), ("dog", 3), (" \n", 4), ("!", 4)):
        assert words.before(part) == first, part
        words.add(part)
