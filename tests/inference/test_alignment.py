"""Word alignments are the same on both backends and equal the recorded attention weights, for any text."""

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
from regard.settings.model import ModelSettings
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
ALIGNED = DecodeSettings(beam_size=3, max_length_offset=9, min_length=8, alignment=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with random parameters that generates words."""
    parent = tmp_path_factory.mktemp("alignment")
    opened = open_folder(write_model(parent / "bytes", {"norm": "pre", "decoder_layers": 3, "heads": 4}))
    weights = opened.build().state_dict()
    weights["embedding.weight"][EOS + 1 : FIRST_SUBWORD] = 0
    save(parent / "model", opened.settings, weights, opened.tokenizer)
    return parent / "model"


def save(folder: Path, settings: ModelSettings, weights: dict[str, Any], tokenizer: SentencePieceTokenizer) -> None:
    save_folder(folder, settings=settings, weights=weights, tokenizer=tokenizer, languages=(None, None), card="")


@pytest.fixture(params=[("decoder.2.cross.3", "written"), ("decoder.3.cross.4", "read")], ids=lambda head: head[1])
def load_aligned(
    request: pytest.FixtureRequest, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Any]:
    """Return a function that loads the model, with this alignment head, on a backend."""
    monkeypatch.setattr(cache_module, "user_cache_path", lambda name: tmp_path / "cache" / name)
    shutil.copytree(folder, tmp_path / "model")
    save_alignment_head(tmp_path / "model", AlignmentHead(*request.param))
    return lambda backend: regard.load(tmp_path / "model", backend=backend)


def assert_same(fast: Translation, slow: Translation) -> None:
    assert (fast.text, fast.alignment) == (slow.text, slow.alignment)
    for pair in zip(fast.alternatives, slow.alternatives, strict=True):
        assert_same(*pair)


def test_both_backends_give_the_same_alignment(load_aligned: Callable[[str], Any]) -> None:
    ctranslate2, torch = load_aligned("ctranslate2"), load_aligned("torch")
    count = 0
    for decode in (
        ALIGNED,
        replace(ALIGNED, min_length=0, n_best=3, log_probabilities=True),
        replace(ALIGNED, beam_size=1, max_length=8),
    ):
        for fast, slow in zip(ctranslate2.translate(TEXTS, decode), torch.translate(TEXTS, decode), strict=True):
            assert_same(fast, slow)
            assert (fast.alignment is None) == (not fast.source)
            links = fast.alignment or ()
            count += len(links)
            words = len(fast.source.split()), len(fast.text.split())
            assert all(link[0] < words[0] and link[1] < words[1] for link in links)
            assert len(set(links)) == len(links)
    assert count > 20
    assert ctranslate2.translate(TEXTS[0]).alignment is None


@pytest.mark.parametrize(
    "head", [("decoder.1.cross.1", "written"), ("decoder.1.cross.2", "read")], ids=lambda head: head[1]
)
@pytest.mark.parametrize("backend", ["ctranslate2", "torch"])
def test_a_planted_head_gives_the_planted_alignment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: tuple[str, str], backend: str
) -> None:
    monkeypatch.setattr(cache_module, "user_cache_path", lambda name: tmp_path / "cache" / name)
    planted = planted_model()
    save(tmp_path / "a", planted.network.settings, planted.network.state_dict(), planted.tokenizer)
    save_alignment_head(tmp_path / "a", AlignmentHead(*head))
    text = planted_sample(planted.tokenizer, 1).pairs[0].source
    translation = regard.load(tmp_path / "a", backend=backend).translate(text, replace(ALIGNED, min_length=0))
    assert translation.alignment == tuple((at ^ 1, at) for at in range(8))


def test_the_alignment_equals_that_of_the_recorded_attention_weights(load_aligned: Callable[[str], Any]) -> None:
    model = load_aligned("torch")
    translation = model.translate(TEXTS[0], ALIGNED)
    view = model.look(TEXTS[0], ALIGNED)
    assert view.text == translation.text
    ids = [
        [token_id for token_id in side.ids if token_id not in (BOS, EOS)]
        for side in (view.trace.source, view.trace.written)
    ]
    source, target = (whitespace_words(side, model.tokenizer) for side in ids)
    weights = view.trace[f"{model.alignment_head.head}.weight"]
    assert translation.alignment == tuple(align_words(weights, source, target, model.alignment_head.row))


def test_the_alignment_of_a_text_in_parts_counts_the_words_of_the_text(load_aligned: Callable[[str], Any]) -> None:
    model = load_aligned("torch")
    lines = TEXTS[5].split("\n")
    parts = [model.translate(line, ALIGNED) for line in lines]
    expected: list[tuple[int, int]] = []
    before = [0, 0]
    for part in parts:
        expected += [(before[0] + source, before[1] + target) for source, target in part.alignment or ()]
        before = [before[0] + len(part.source.split()), before[1] + len(part.text.split())]
    assert list(model.translate(TEXTS[5], ALIGNED).alignment) == expected


def test_a_model_without_an_alignment_head_has_no_alignment(folder: Path) -> None:
    assert regard.load(folder, backend="torch").translate(TEXTS[0], ALIGNED).alignment is None


def test_tokens_that_are_not_valid_utf_8_form_words() -> None:
    plain = SentencePieceTokenizer(train_tokenizer(iter(["the cat sees a tree"] * 9), kind="unigram", vocab_size=290))
    byte = [4 + 0xE2, 4 + 0xFF]
    (cat, sees) = plain.encode(["cat", "sees"])
    words = whitespace_words([*cat, *byte, *sees], plain)
    assert [word.text for word in words] == ["cat\ufffd\ufffd", "sees"]
    assert words[0].end == len(cat) + len(byte) and words[1].end == len(cat) + len(byte) + len(sees)


def test_a_word_that_continues_in_the_next_part_counts_once() -> None:
    words = WordCount()
    for part, first in (("the cat", 0), ("s see ", 1), ("", 3), ("a", 3), ("", 3), ("dog", 3), (" \n", 4), ("!", 4)):
        assert words.before(part) == first, part
        words.add(part)


def test_a_given_translation_gets_the_alignment_of_the_same_translation(load_aligned: Callable[[str], Any]) -> None:
    for backend in ("ctranslate2", "torch"):
        model = load_aligned(backend)
        translated = model.translate(TEXTS[:3], replace(ALIGNED, protect=False))
        pairs = [(each.source, each.text) for each in translated]
        scored = list(model.score(pairs, ALIGNED))
        # A text may be divided into other tokens than those that the model has written.
        same = [one for one, other in zip(scored, translated, strict=True) if one.tokens == other.tokens]
        by_source = {each.source: each.alignment for each in translated}
        assert same and all(each.alignment == by_source[each.source] for each in same)
        assert all(each.alignment is None for each in model.score(pairs))
