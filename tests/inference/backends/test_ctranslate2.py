"""CTranslate2 gives the same text as torch, and its files are exported only when necessary."""

import gc
import itertools
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ctranslate2
import pytest
import torch
from tests.building import transformer_of

import regard
from regard.errors import DataError, FolderError, SettingsError, UserError
from regard.inference.backends.core_allocation import CoreAllocation, CoreAllocations
from regard.inference.backends.ctranslate2 import CTranslate2Backend
from regard.inference.backends.fallback import FallbackBackend
from regard.inference.backends.interface import SourceTokens
from regard.inference.translator import Translator
from regard.inference.translator_loader import load_translator
from regard.interchange.ctranslate2 import cache as cache_module
from regard.interchange.ctranslate2.export import ensure_export, export_model
from regard.model_folder.folder import AlignmentHead, ModelFolder
from regard.model_folder.loader import open_folder
from regard.model_folder.writer import save_alignment_head, save_folder
from regard.models.kinds.transformer import Transformer
from regard.settings.decode import DecodeSettings
from regard.settings.kinds.transformer import TransformerSettings
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import EOS
from regard.tokenizers.vocabulary import train_tokenizer

WORDS = [
    "the",
    "a",
    "red",
    "old",
    "cat",
    "dog",
    "house",
    "tree",
    "sees",
    "paints",
    "finds",
    "and",
    "under",
    "with",
    "two",
    "three",
]
SHAPES: dict[str, dict[str, Any]] = {
    "post": {"norm": "post"},
    "pre": {"norm": "pre"},
    "learned": {"norm": "pre", "positions": "learned"},
    "unequal": {"norm": "post", "encoder_layers": 3, "decoder_layers": 1},
}

BACKENDS = ("auto", "torch")  # auto is CTranslate2, with torch for what it does not support


def sentences(count: int) -> list[str]:
    numbers = random.Random(1)
    texts = [" ".join(numbers.choices(WORDS, k=numbers.randint(1, 14))) for _ in range(count)]
    return [*texts, "½ naïve  ▁ 中文", "", "  ", texts[0]]


def end_sooner(model: Transformer, strength: float) -> None:
    """Add to the last bias of the decoder in the direction of EOS."""
    last: Any = model.decoder["norm"] if "norm" in model.decoder else model.decoder.layers()[-1][1].feedforward_norm
    last.bias.add_(strength * model.embedding.weight[EOS])


def write_model(folder: Path, shape: dict[str, Any], precision: torch.dtype = torch.float32) -> Path:
    """Write a model with random parameters that generates texts of many lengths."""
    tokenizer = SentencePieceTokenizer(train_tokenizer(iter(sentences(200)), kind="unigram", vocab_size=330))
    plain = {"width": 32, "heads": 4, "feedforward": 48, "encoder_layers": 2, "decoder_layers": 2, "max_positions": 64}
    settings = TransformerSettings(
        source_vocab_size=tokenizer.embedding_rows, target_vocab_size=tokenizer.embedding_rows, **{**plain, **shape}
    )
    torch.manual_seed(3)
    model = Transformer(settings)
    with torch.no_grad():
        model.embedding.weight.mul_(1.5)
        # Sharper distributions, and an EOS that comes sooner or later.
        end_sooner(model, 1.2)
    weights = {name: tensor.to(precision) for name, tensor in model.state_dict().items()}
    save_folder(folder, settings=settings, weights=weights, tokenizer=tokenizer, languages=("en", "xx"), card="")
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder for each test."""
    monkeypatch.setattr(cache_module, "user_cache_path", lambda name: tmp_path / "cache" / name)
    return tmp_path / "cache" / "regard" / "ctranslate2"


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_model(tmp_path_factory.mktemp("exported") / "model", SHAPES["pre"])
    ensure_export(folder)
    return folder


@pytest.mark.parametrize("shape", SHAPES)
def test_both_backends_give_the_same_text(tmp_path: Path, shape: str) -> None:
    folder = write_model(tmp_path / "model", SHAPES[shape])
    ensure_export(folder)
    texts = sentences(60)
    for beams, offset in [(1, 50), (4, 50), (4, 2), (3, 1)]:
        decode = DecodeSettings(beam_size=beams, n_best=beams, max_length_offset=offset)
        fast = regard.load(folder).translate(texts, decode)
        slow = regard.load(folder, backend="torch").translate(texts, decode)
        assert [each.text for each in fast] == [each.text for each in slow]
        assert [each.tokens for each in fast] == [each.tokens for each in slow]
        assert [each.score for each in fast] == pytest.approx([each.score for each in slow], abs=1e-4)
        for first, second in zip(fast, slow, strict=True):
            assert [each.text for each in first.alternatives] == [each.text for each in second.alternatives]


def test_both_backends_give_the_same_text_with_parameters_in_half_precision(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", SHAPES["pre"], torch.float16)
    ensure_export(folder)
    fast, slow = (load_translator(folder, backend=backend).translate(sentences(60)) for backend in BACKENDS)
    assert [each.tokens for each in fast] == [each.tokens for each in slow]
    assert [each.score for each in fast] == pytest.approx([each.score for each in slow], abs=1e-4)


SETTINGS: list[dict[str, Any]] = [
    {"min_length": 9},
    {"max_length": 5},
    {"min_length": 3, "max_length": 7, "no_repeat_ngram_size": 1},
    {"no_repeat_ngram_size": 1, "beam_size": 1},
    {"no_repeat_ngram_size": 2},
    {"no_repeat_ngram_size": 3, "beam_size": 2},
    {"log_probabilities": True},
    {"log_probabilities": True, "max_length_offset": 2, "length_penalty": 1.0},
    {"log_probabilities": True, "no_repeat_ngram_size": 2, "min_length": 4},
    {"prefix": "the cat"},
    {"prefix": "½", "beam_size": 1, "log_probabilities": True},
    {"temperature": 1.0},
    {"temperature": 0.7, "top_k": 20, "top_p": 0.9, "prefix": "a", "no_repeat_ngram_size": 2},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_both_backends_give_the_same_text_with_every_setting(model_folder: Path, settings: dict[str, Any]) -> None:
    beams = settings.get("beam_size", 4)
    decode = DecodeSettings(**{"beam_size": beams, "n_best": beams, "max_length_offset": 10, **settings})
    texts = sentences(40)
    fast = load_translator(model_folder).translate(texts, decode)
    slow = load_translator(model_folder, backend="torch").translate(texts, decode)
    n_best = [(each, *each.alternatives) for each in fast], [(each, *each.alternatives) for each in slow]
    for pair in zip(*n_best, strict=True):
        for first, second in zip(*pair, strict=True):
            assert (first.text, first.tokens) == (second.text, second.tokens)
            assert first.score == pytest.approx(second.score, abs=1e-4)
            assert first.log_probability == pytest.approx(second.log_probability, abs=1e-4)
            assert first.log_probabilities == pytest.approx(second.log_probabilities, abs=1e-4)
            if decode.log_probabilities:
                assert math.fsum(first.log_probabilities) == pytest.approx(first.log_probability)


def test_the_settings_change_the_translations(model_folder: Path) -> None:
    """Otherwise the test above would prove little."""
    translator, texts = load_translator(model_folder), sentences(40)
    plain = [each.text for each in translator.translate(texts, DecodeSettings(max_length_offset=10))]
    for settings in SETTINGS:
        if "log_probabilities" not in settings:
            decode = DecodeSettings(**{"max_length_offset": 10, **settings})
            assert [each.text for each in translator.translate(texts, decode)] != plain, settings


def test_both_backends_give_the_same_scores(model_folder: Path) -> None:
    numbers = random.Random(2)
    texts = sentences(30)
    pairs = [(text, numbers.choice(texts)) for text in texts]
    assert ("", "") not in pairs
    pairs.append(("", ""))
    fast, slow = (list(load_translator(model_folder, backend=backend).score(pairs)) for backend in BACKENDS)
    for first, second in zip(fast, slow, strict=True):
        assert (first.source, first.text, first.tokens) == (second.source, second.text, second.tokens)
        assert first.log_probabilities == pytest.approx(second.log_probabilities, abs=1e-4)
        assert (first.score, first.log_probability) == pytest.approx((second.score, second.log_probability), abs=1e-4)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_translation_that_fills_all_positions_is_scored(tmp_path: Path, beam_size: int) -> None:
    folder = write_model(tmp_path / "short", {**SHAPES["pre"], "max_positions": 12})
    texts = [text for text in sentences(30) if len(text) < 20]
    decode = DecodeSettings(log_probabilities=True, beam_size=beam_size, protect=False)
    fast, slow = (load_translator(folder, backend=backend).translate(texts, decode) for backend in BACKENDS)
    assert any(len(each.tokens) == 12 for each in fast)
    for first, second in zip(fast, slow, strict=True):
        assert first.tokens == second.tokens
        assert first.log_probabilities == pytest.approx(second.log_probabilities, abs=1e-4)


ODD = ["\x01\x07\x1b[0m\x7f\x85 \0\0", "e\u0301\u0302 o\u0308\u200d\ufeff\u202e", "a\x1fb\u2028c\td\re", "中" * 300]


def test_both_backends_translate_control_and_combining_characters(model_folder: Path) -> None:
    fast, slow = (load_translator(model_folder, backend=backend).translate(ODD) for backend in BACKENDS)
    assert [each.text for each in fast] == [each.text for each in slow]
    assert [each.source for each in fast] == ODD


def test_the_translations_have_many_lengths_and_some_reach_their_limit(model_folder: Path) -> None:
    """Otherwise the test above would prove little."""
    translations = regard.load(model_folder).translate(sentences(60), DecodeSettings(max_length_offset=2))
    assert len({len(each.tokens) for each in translations}) > 5


@pytest.mark.parametrize("size", [1, 2, 8])
def test_a_text_gets_the_same_translation_alone_and_in_any_batch(model_folder: Path, size: int) -> None:
    translator = regard.load(model_folder)
    texts = sentences(60)
    together = [each.text for each in translator.translate(texts)]
    in_groups = [each.text for at in range(0, len(texts), size) for each in translator.translate(texts[at : at + size])]
    assert in_groups == together


def translator_with(folder: Path, cores: CoreAllocations) -> Translator:
    """Load the CTranslate2 backend with an allocation of cores that the machine may not have."""
    opened = open_folder(folder)
    max_positions = opened.settings.max_positions
    backend = CTranslate2Backend(folder / "ctranslate2", opened.tokenizer, max_positions=max_positions, cores=cores)
    return Translator(backend, opened.tokenizer, max_positions=max_positions)


@pytest.mark.parametrize("beams", [1, 4])
def test_the_allocation_of_cores_does_not_change_the_text(model_folder: Path, beams: int) -> None:
    texts = list(dict.fromkeys(sentences(200)))
    decode = DecodeSettings(beam_size=beams, max_length_offset=2)  # so low that some texts are searched again
    plain = regard.load(model_folder).translate(texts, decode)
    for large, small in [((1, 1), (1, 1)), ((1, 2), (1, 2)), ((2, 1), (1, 2)), ((3, 1), (3, 1))]:
        cores = CoreAllocations(large=CoreAllocation(*large), small=CoreAllocation(*small))
        with translator_with(model_folder, cores) as translator:
            translations = list(translator.translate_iterable(texts, decode, batch_tokens=96))
            assert [each.text for each in translations] == [each.text for each in plain]
            assert translator.translate(texts[0], decode).text == plain[0].text


SHARED = CoreAllocations(large=CoreAllocation(4, 1), small=CoreAllocation(2, 2))


def test_only_the_first_model_of_a_process_has_threads_that_share_a_batch(model_folder: Path) -> None:
    """With more such threads than cores, every sentence would take many times as long."""
    first, second = (translator_with(model_folder, SHARED) for _ in range(2))
    assert allocated(first) == SHARED
    assert allocated(second) == CoreAllocations(large=SHARED.large, small=SHARED.large)
    assert first.translate("the cat").text == second.translate("the cat").text
    # When the first model is closed, or deleted, another one may have such threads.
    first.close()
    first.close()
    third = translator_with(model_folder, SHARED)
    assert allocated(third) == SHARED
    assert allocated(translator_with(model_folder, SHARED)) != SHARED
    del third
    gc.collect()
    with translator_with(model_folder, SHARED) as last:
        assert allocated(last) == SHARED


def allocated(translator: Translator) -> CoreAllocations:
    assert isinstance(translator.backend, CTranslate2Backend)
    return translator.backend.cores


def test_a_small_batch_and_a_large_one_get_their_own_allocation(model_folder: Path) -> None:
    with translator_with(model_folder, SHARED) as translator:
        backend = translator.backend
        assert isinstance(backend, CTranslate2Backend)
        assert backend.engine(1, 4).num_translators == backend.engine(8, 1).num_translators == 2
        assert backend.engine(3, 4).num_translators == backend.engine(9, 1).num_translators == 4
        assert backend.batching(DecodeSettings()).workers == 4


def test_the_allocation_is_chosen_for_a_whole_call(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the small batches of a long stream, with a few long lines each, would use more threads than cores."""
    used: list[int] = []
    search = ctranslate2.Translator.translate_batch

    def recorded(self: ctranslate2.Translator, *arguments: Any, **options: Any) -> Any:
        used.append(self.num_translators)
        return search(self, *arguments, **options)

    monkeypatch.setattr(ctranslate2.Translator, "translate_batch", recorded)
    texts = list(dict.fromkeys(text for text in sentences(60) if text.strip()))
    with translator_with(model_folder, SHARED) as translator:

        def translators(texts: list[str], **options: Any) -> set[int]:
            used.clear()
            # The batches are so small that each text is one, and protected spans may need a second search.
            decode = DecodeSettings(protect=False)
            list(translator.translate_iterable(texts, decode, batch_tokens=8, **options))
            return set(used)

        assert translators(texts) == translators(texts, window=10) == {4}
        assert translators(texts[:1]) == translators(texts[:2]) == {2}
        assert translators(texts[:9], window=1) == {2}


def test_every_translator_gets_the_threads_of_the_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine with 64 cores, which the variable of OpenMP simulates."""
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    folder = write_model(tmp_path / "model", {**SHAPES["pre"], "width": 512})
    ensure_export(folder)
    made: list[tuple[int, int]] = []

    def recorded(files: str, *, inter_threads: int, intra_threads: int, **options: Any) -> Any:
        made.append((inter_threads, intra_threads))
        return SimpleNamespace()

    monkeypatch.setattr(ctranslate2, "Translator", recorded)

    def threads(model: regard.Model) -> list[tuple[int, int]]:
        """Return the workers and the threads of each worker that a sentence and many sentences get."""
        backend = model._translator.backend
        assert isinstance(backend, FallbackBackend)
        found = []
        for sentences in (1, 100):
            made.clear()
            backend._fast._engines.clear()
            backend._fast.engine(sentences, 4)
            found += made
        return found

    with regard.load(folder) as first, regard.load(folder) as second:
        assert threads(first) == [(16, 4), (64, 1)]
        assert threads(second) == [(64, 1), (64, 1)]


@pytest.fixture(scope="module")
def aligned_folder(model_folder: Path) -> Path:
    """A model with an alignment head."""
    folder = model_folder.parent / "aligned"
    shutil.copytree(model_folder, folder)
    save_alignment_head(folder, AlignmentHead("decoder.1.cross.3", "written"))
    ensure_export(folder)
    return folder


def test_alignments_are_computed_in_the_threads_of_the_backend(
    aligned_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise they would be computed one batch at a time."""
    threads: set[str] = set()
    search = ctranslate2.Translator.translate_batch

    def recorded(self: ctranslate2.Translator, *arguments: Any, **options: Any) -> Any:
        if options.get("return_attention"):
            threads.add(threading.current_thread().name.split("_")[0])
        return search(self, *arguments, **options)

    monkeypatch.setattr(ctranslate2.Translator, "translate_batch", recorded)
    decode = DecodeSettings(beam_size=3, n_best=2, alignment=True, protect=False)
    fast, slow = (
        load_translator(aligned_folder, backend=backend).translate(sentences(40), decode) for backend in BACKENDS
    )
    assert threads == {"ctranslate2"}
    assert [(one.text, one.alignment) for one in fast] == [(one.text, one.alignment) for one in slow]
    others = [[each.alignment for one in found for each in one.alternatives] for found in (fast, slow)]
    assert others[0] == others[1]
    assert any(one.alignment for one in fast)


def test_a_model_without_an_alignment_head_can_be_asked_for_alignments(model_folder: Path) -> None:
    for backend in BACKENDS:
        model = regard.load(model_folder, backend=backend)
        assert model.translate("the cat", DecodeSettings(alignment=True)).alignment is None
        assert model.look("the cat", DecodeSettings(alignment=True)).text == model.translate("the cat").text


def test_two_threads_make_one_torch_model() -> None:
    both_make = threading.Barrier(2)
    made: list[Any] = []

    def make() -> Any:
        with suppress(threading.BrokenBarrierError):
            both_make.wait(0.5)
        made.append(SimpleNamespace(batching=lambda decode: None))
        return made[-1]

    fast: Any = None
    backend = FallbackBackend(fast, make)
    threads = [threading.Thread(target=backend.batching, args=(DecodeSettings(temperature=1.0),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1


def test_looking_and_sampling_use_one_torch_model(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[ModelFolder] = []
    build = ModelFolder.build

    def counted(self: ModelFolder) -> Any:
        built.append(self)
        return build(self)

    monkeypatch.setattr(ModelFolder, "build", counted)
    model = regard.load(model_folder)
    assert model.translate("the cat").text
    assert built == []
    model.translate("the cat", DecodeSettings(temperature=1.0))
    model.look("the cat")
    assert len(built) == 1


def test_a_closed_model_frees_its_threads_and_refuses_to_translate(model_folder: Path) -> None:
    with regard.load(model_folder) as model:
        assert model.translate("the cat").text
        assert any(thread.name.startswith("ctranslate2") for thread in threading.enumerate())
    model.close()  # a second time, without effect
    gc.collect()
    assert not any(thread.name.startswith("ctranslate2") for thread in threading.enumerate())
    for use in (
        lambda: model.translate("the cat"),
        lambda: next(model.score([("the cat", "the cat")])),
        lambda: model.look("the cat"),
        lambda: model.look("the cat", target="the cat"),
        lambda: model.network,
        lambda: model.measure_heads([("the cat", "the cat")]),
    ):
        with pytest.raises(UserError, match=r"^the model is closed; load it again$"):
            use()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("beams", [1, 3])
def test_the_text_is_the_same_without_scores(model_folder: Path, backend: str, beams: int) -> None:
    translator, texts = regard.load(model_folder, backend=backend), [text for text in sentences(60) if text.strip()]
    # The offset is so low that some texts reach their limit, which depends on the length of the source.
    decodes = (DecodeSettings(beam_size=beams, max_length_offset=2, scores=scores) for scores in (True, False))
    scored, bare = (translator.translate(texts, decode) for decode in decodes)
    assert [each.tokens for each in bare] == [each.tokens for each in scored]
    limits = [len(ids) + 2 for ids in translator.tokenizer.encode(texts)]
    assert any(len(each.tokens) == limit for each, limit in zip(bare, limits, strict=True))
    assert all(each.score is None and each.log_probability is None for each in bare)
    assert all(json.loads(json.dumps(each.to_dict()))["score"] < 0 for each in scored)


def count_searches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which every search of CTranslate2 adds the size of its batch."""
    searches: list[int] = []
    search = ctranslate2.Translator.translate_batch

    def counted(self: ctranslate2.Translator, source: list[list[str]], *arguments: Any, **options: Any) -> Any:
        searches.append(len(source))
        return search(self, source, *arguments, **options)

    monkeypatch.setattr(ctranslate2.Translator, "translate_batch", counted)
    return searches


def test_a_greedy_text_without_a_score_is_searched_once_and_truncated(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches = count_searches(monkeypatch)
    translator, texts = load_translator(model_folder), [text for text in sentences(60) if text.strip()]
    results = {}
    for scores in (True, False):
        # Protected spans may need a second search.
        decode = DecodeSettings(beam_size=1, max_length_offset=2, scores=scores, log_probabilities=True, protect=False)
        searches.clear()
        results[scores] = [(each.tokens, each.log_probabilities) for each in translator.translate(texts, decode)]
        assert (sum(searches) > len(set(texts))) == scores
    assert results[False] == results[True]
    bare = DecodeSettings(beam_size=1, scores=False)
    [[hypothesis]] = translator.backend.generate([SourceTokens((270,), 9)], bare).result()
    assert math.isnan(hypothesis.score)  # CTranslate2 did not compute it


@pytest.mark.parametrize("workers", [1, 2])
def test_few_batches_are_submitted_ahead(model_folder: Path, monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    """Otherwise a caller that stops early would wait for all submitted batches."""
    searches = count_searches(monkeypatch)
    cores = CoreAllocations(large=CoreAllocation(workers, 1), small=CoreAllocation(workers, 1))
    texts, greedy = list(dict.fromkeys(sentences(400))), DecodeSettings(beam_size=1)
    assert len(texts) > 100
    with translator_with(model_folder, cores) as translator:
        stream = translator.translate_iterable(texts, greedy, window=10, batch_tokens=8)
        for _ in range(30):
            next(stream)
        stream.close()  # type: ignore[attr-defined]
    # In windows of ten, each text is a batch.
    assert 30 <= len(searches) <= 40 + 3 * workers
    with translator_with(model_folder, cores) as translator:
        repeated = translator.translate_iterable(itertools.repeat(texts[0]), greedy, window=3)
        assert len({next(repeated).text for _ in range(60)}) == 1


def test_the_size_of_a_batch_of_short_texts_is_bounded(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CTranslate2 holds the logits of the vocabulary for each text."""
    searches = count_searches(monkeypatch)
    regard.load(model_folder).translate(
        [f"{number}" for number in range(1200)], DecodeSettings(beam_size=1, max_length=1)
    )
    assert sum(searches) >= 1200
    assert max(searches) <= 4096 // 8


def test_windows_before_an_untranslatable_text_are_translated(model_folder: Path) -> None:
    translator = load_translator(model_folder)
    texts = [text for text in sentences(40) if text.strip()][:9]
    stream = translator.translate_iterable([*texts, "a \udcff"], window=3)
    assert [next(stream).text for _ in texts] == [each.text for each in translator.translate(texts)]
    with pytest.raises(DataError, match="surrogate"):
        next(stream)


def test_the_size_of_a_scored_batch_is_bounded_by_the_longer_side(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = load_translator(model_folder, backend="ctranslate2").backend
    pairs = [([5], [6 + number % 9] * (40 if number % 50 == 0 else 1)) for number in range(200)]
    separately = [backend.score([pair])[0] for pair in pairs]
    sizes: list[int] = []
    score = ctranslate2.Translator.score_batch

    def counted(self: Any, sources: list[list[str]], targets: list[list[str]], **options: Any) -> Any:
        sizes.append(len(targets) * (max(map(len, targets)) + 1))
        return score(self, sources, targets, **options)

    monkeypatch.setattr(ctranslate2.Translator, "score_batch", counted)
    for together, alone in zip(backend.score(pairs), separately, strict=True):
        assert together == pytest.approx(alone, abs=1e-4)
    assert len(sizes) > 1
    assert max(sizes) <= 2048


def test_forbidden_tokens_are_never_generated(model_folder: Path) -> None:
    opened = open_folder(model_folder)
    model = transformer_of(opened)
    forbidden = [token_id for token_id, allowed in enumerate(opened.tokenizer.generable) if not allowed]
    with torch.no_grad():
        model.embedding.weight[forbidden] = 3 * model.embedding.weight[20]
    folder = model_folder.parent / "forbidden"
    save_folder(
        folder,
        settings=opened.settings,
        weights=model.state_dict(),
        tokenizer=opened.tokenizer,
        languages=("en", "xx"),
        card="",
    )
    names = set(opened.tokenizer.tokens(range(EOS)))
    for translation in regard.load(folder).translate(sentences(20)):
        assert not names & set(translation.tokens)


def test_exported_files_in_the_folder_are_used(model_folder: Path, cache: Path) -> None:
    regard.load(model_folder).translate("the cat")
    assert not cache.exists()


@pytest.mark.parametrize("problem", ["missing", "damaged", "of other parameters"])
def test_files_are_exported_to_the_cache_if_necessary(tmp_path: Path, cache: Path, problem: str) -> None:
    folder = write_model(tmp_path / "model", SHAPES["post"])
    if problem != "missing":
        ensure_export(folder)
    if problem == "damaged":
        path = folder / "ctranslate2" / "model.bin"
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    if problem == "of other parameters":
        (folder / "manifest.json").write_text((folder / "manifest.json").read_text() + "\n")
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    expected = regard.load(folder, backend="torch").translate("the old tree").text
    assert regard.load(folder).translate("the old tree").text == expected
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
    [export] = [path for path in cache.iterdir() if path.is_dir()]
    exported_at = export.stat().st_mtime_ns
    regard.load(folder)
    assert export.stat().st_mtime_ns == exported_at


def test_a_failed_export_names_the_folder_and_the_reason(
    model_folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The export itself fails: its child process cannot read the model any more."""
    check_free_space = cache_module._check_free_space

    def damaged_meanwhile(*arguments: Any) -> None:
        check_free_space(*arguments)
        weights.write_bytes(weights.read_bytes()[:-1])

    folder = cache.parents[2] / "copy"
    shutil.copytree(model_folder, folder)
    weights = folder / "weights.safetensors"
    monkeypatch.setattr(cache_module, "_check_free_space", damaged_meanwhile)
    with pytest.raises(FolderError) as refused:
        regard.load(folder, compute_type="int8")
    assert re.fullmatch(
        rf"{folder}: cannot be exported to CTranslate2 in {cache}/[0-9a-f]{{32}}: {folder}/weights.safetensors has "
        r"201,815 bytes instead of 201,816; .*",
        str(refused.value),
    )
    assert [path.name for path in cache.iterdir() if path.suffix != ".lock"] == []


@pytest.mark.parametrize(
    ("precision", "compute_type", "bytes_each"),
    [(torch.float32, "float32", 4), (torch.float16, "float32", 4), (torch.float16, "int8", 1)],
)
def test_the_disk_space_for_an_export_depends_on_the_compute_type(
    tmp_path: Path,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    precision: torch.dtype,
    compute_type: str,
    bytes_each: int,
) -> None:
    """Half-precision parameters need twice their space in float32."""
    folder = write_model(tmp_path / "model", SHAPES["post"], precision)
    parameters = sum(tensor.numel() for tensor in open_folder(folder).build().state_dict().values())
    needed = parameters * bytes_each
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=needed - 1))
    with pytest.raises(FolderError) as refused:
        regard.load(folder, compute_type=compute_type)
    assert f"{needed:,} bytes are needed, {needed - 1:,} are free" in str(refused.value)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=needed))
    regard.load(folder, compute_type=compute_type)
    [export] = [path for path in cache.iterdir() if path.is_dir()]
    assert (export / "model.bin").stat().st_size >= needed


@contextmanager
def disk(at: Path, options: str) -> Iterator[Path]:
    """Mount a separate file system."""
    at.mkdir(parents=True, exist_ok=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(at)], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("only root may mount a file system")
    try:
        yield at
    finally:
        subprocess.run(["umount", str(at)], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a tmpfs")
def test_a_full_disk_is_reported_before_and_during_the_export(tmp_path: Path, cache: Path) -> None:
    folder = write_model(tmp_path / "model", SHAPES["post"])
    needed = 4 * sum(tensor.numel() for tensor in open_folder(folder).build().state_dict().values())
    with disk(cache, f"size={needed // 2}"):
        with pytest.raises(FolderError) as refused:
            regard.load(folder)
        assert str(refused.value) == (
            f"{cache}: not enough disk space for the CTranslate2 files of {folder}: {needed:,} bytes are needed, "
            f"{shutil.disk_usage(cache).free:,} are free; free some space there"
        )
        # Enough space for the parameters, but not for all files: the error occurs while they are written.
        resize = ["mount", "-o", f"remount,size={needed + 8192}", str(cache)]
        subprocess.run(resize, check=True)
        with pytest.raises(FolderError, match=r"cannot be exported to CTranslate2 in .*: the disk is full: "):
            regard.load(folder)
        assert [path.name for path in cache.iterdir() if path.suffix != ".lock"] == []
        subprocess.run([*resize[:2], "remount,size=100m", str(cache)], check=True)
        assert (
            regard.load(folder).translate("the cat").text
            == regard.load(folder, backend="torch").translate("the cat").text
        )


def test_code_in_the_current_folder_is_not_run(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", SHAPES["post"])
    for name in ("torch.py", "numpy.py", "ctranslate2.py", "regard.py"):
        (folder / name).write_text("raise SystemExit('it was run')")
    command = [sys.executable, "-P", "-m", "regard", "translate", "--model", ".", "the cat"]
    variables = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    exporting, *_ = done.stderr.splitlines()  # then warnings about the text of this random model
    assert (done.returncode, exporting) == (0, "exporting model to CTranslate2 in float32; this happens once")


@pytest.mark.parametrize("setting", [{"prefix": "a"}, {"temperature": 1.0}])
def test_a_setting_that_needs_torch_is_refused_with_another_compute_type(
    tmp_path: Path, setting: dict[str, Any]
) -> None:
    translator = regard.load(write_model(tmp_path / "model", SHAPES["post"]), compute_type="int8")
    with pytest.raises(
        SettingsError,
        match=r"CTranslate2 does not support decode\.temperature, .* leave --backend and --compute-type out",
    ):
        translator.translate("the cat", DecodeSettings(**setting))


def test_a_device_that_needs_torch_is_refused_with_another_compute_type(model_folder: Path) -> None:
    with pytest.raises(
        SettingsError,
        match="torch computes in float32, not in int8, and only torch supports the device cuda; leave --compute-t",
    ):
        regard.load(model_folder, compute_type="int8", device="cuda")


@pytest.mark.parametrize("setting", [{"prefix": "a"}, {"temperature": 1.0}], ids=str)
def test_the_ctranslate2_backend_refuses_settings_that_need_torch(model_folder: Path, setting: dict[str, Any]) -> None:
    translator = regard.load(model_folder, backend="ctranslate2")
    assert translator.translate("the cat").text == regard.load(model_folder).translate("the cat").text
    with pytest.raises(
        SettingsError, match=r"CTranslate2 does not support decode\.temperature, .* leave --backend and"
    ):
        translator.translate("the cat", DecodeSettings(**setting))


def test_backends_that_do_not_fit_the_request_are_refused(model_folder: Path) -> None:
    with pytest.raises(SettingsError, match="CTranslate2 does not support the device cuda; leave --backend out, or"):
        regard.load(model_folder, backend="ctranslate2", device="cuda")
    with pytest.raises(SettingsError, match="CTranslate2 does not support several models; leave --backend out, or"):
        regard.load(model_folder, model_folder, backend="ctranslate2")
    with pytest.raises(SettingsError, match="torch computes in float32, not in int8; leave --compute-type out"):
        regard.load(model_folder, backend="torch", compute_type="int8")
    with pytest.raises(SettingsError, match="--backend is one of auto, ctranslate2, torch, not 'onnx'"):
        regard.load(model_folder, backend="onnx")


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a tmpfs")
def test_a_read_only_folder_can_be_used(tmp_path: Path) -> None:
    with disk(tmp_path / "disk", "size=100m") as at:
        folder = write_model(at / "model", SHAPES["post"])
        subprocess.run(["mount", "-o", "remount,ro", str(at)], check=True)
        with pytest.raises(OSError, match="Read-only"):
            (folder / "file").write_text("")
        assert (
            regard.load(folder).translate("the cat").text
            == regard.load(folder, backend="torch").translate("the cat").text
        )


def test_a_compute_type_that_the_cpu_does_not_support_is_refused(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        SettingsError, match=r"^'int4' is not a compute type; choose one of float32, int8, int16, bfloat"
    ):
        regard.load(model_folder, compute_type="int4")
    monkeypatch.setattr("ctranslate2.get_supported_compute_types", lambda _: {"float32", "int8", "float16"})
    with pytest.raises(
        SettingsError, match=r"^this CPU does not support --compute-type int16; it supports float32, int8$"
    ):
        regard.load(model_folder, compute_type="int16")


def test_translating_does_not_import_torch(model_folder: Path) -> None:
    program = (
        "import sys, regard\n"
        f"regard.load({str(model_folder)!r}).translate('the cat sees a tree')\n"
        "assert not {'torch', 'transformers'} & set(sys.modules), 'torch was imported'\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_processes_that_export_at_the_same_time_agree(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", SHAPES["post"])
    program = f"import regard; print(regard.load({str(folder)!r}).translate('the old tree').text)"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "shared")}
    processes = [
        subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE) for _ in range(2)
    ]
    outputs = {process.communicate()[0] for process in processes}
    assert [process.returncode for process in processes] == [0, 0]
    assert len(outputs) == 1


def test_both_backends_give_an_empty_translation(model_folder: Path, tmp_path: Path) -> None:
    opened = open_folder(model_folder)
    model = transformer_of(opened)
    with torch.no_grad():
        end_sooner(model, 20.0)
    folder = tmp_path / "empty"
    save_folder(
        folder,
        settings=opened.settings,
        weights=model.state_dict(),
        tokenizer=opened.tokenizer,
        languages=("a", "b"),
        card="",
    )
    export_model(folder, folder / "ctranslate2", "float32")
    fast, slow = (
        load_translator(folder).translate("the cat"),
        regard.load(folder, backend="torch").translate("the cat"),
    )
    assert fast.text == slow.text == ""
    assert fast.score == pytest.approx(slow.score, abs=1e-4)
