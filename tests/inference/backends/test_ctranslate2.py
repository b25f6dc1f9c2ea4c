"""The engine's road gives the text of torch's, and its files are made where they can be and only when they must."""

import itertools
import math
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard.errors import DataError, FolderError, SettingsError
from regard.inference.backends.ctranslate2 import CTranslate2Backend
from regard.inference.translator_loader import load_translator
from regard.interchange.ctranslate2 import cache as cache_module
from regard.interchange.ctranslate2.export import ensure_export, export_model
from regard.model_folder.loader import open_folder
from regard.model_folder.writer import save_folder
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


def sentences(count: int) -> list[str]:
    chance = random.Random(1)
    texts = [" ".join(chance.choices(WORDS, k=chance.randint(1, 14))) for _ in range(count)]
    return [*texts, "½ naïve  ▁ 中文", "", "  ", texts[0]]


def end_sooner(model: Transformer, strength: float) -> None:
    """Lean the last thing the decoder does towards the end mark."""
    last: Any = model.decoder["norm"] if "norm" in model.decoder else model.decoder.layers()[-1][1].feedforward_norm
    last.bias.add_(strength * model.embedding.weight[EOS])


def write_model(folder: Path, shape: dict[str, Any], precision: torch.dtype = torch.float32) -> Path:
    """A model of random weights that writes texts of many lengths."""
    tokenizer = SentencePieceTokenizer(train_tokenizer(iter(sentences(200)), kind="unigram", vocab_size=330))
    plain = {"width": 32, "heads": 4, "feedforward": 48, "encoder_layers": 2, "decoder_layers": 2, "max_positions": 64}
    settings = TransformerSettings(vocab_size=tokenizer.embedding_rows, **{**plain, **shape})
    torch.manual_seed(3)
    model = Transformer(settings)
    with torch.no_grad():
        model.embedding.weight.mul_(1.5)
        # Sharper, and with an end that comes sooner or later.
        end_sooner(model, 1.2)
    weights = {name: tensor.to(precision) for name, tensor in model.state_dict().items()}
    save_folder(folder, settings=settings, weights=weights, tokenizer=tokenizer, languages=("en", "xx"), card="")
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setattr(cache_module, "user_cache_path", lambda name: tmp_path / "cache" / name)
    return tmp_path / "cache" / "regard" / "fast"


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_model(tmp_path_factory.mktemp("engine") / "model", SHAPES["pre"])
    ensure_export(folder)
    return folder


@pytest.mark.parametrize("shape", SHAPES)
def test_both_roads_write_the_same(tmp_path: Path, shape: str) -> None:
    folder = write_model(tmp_path / "model", SHAPES[shape])
    ensure_export(folder)
    texts = sentences(60)
    for beams, extra in [(1, 50), (4, 50), (4, 2), (3, 1)]:
        decode = DecodeSettings(beam_size=beams, n_best=beams, max_length_offset=extra)
        quick = regard.load(folder).translate_all(texts, decode)
        slow = regard.load(folder, fast=None).translate_all(texts, decode)
        assert [found.text for found in quick] == [found.text for found in slow]
        assert [found.tokens for found in quick] == [found.tokens for found in slow]
        assert [found.score for found in quick] == pytest.approx([found.score for found in slow], abs=1e-4)
        for one, other in zip(quick, slow, strict=True):
            assert [found.text for found in one.alternatives] == [found.text for found in other.alternatives]


def test_both_roads_write_the_same_of_weights_in_half_precision(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", SHAPES["pre"], torch.float16)
    ensure_export(folder)
    quick, slow = (load_translator(folder, fast=road).translate_all(sentences(60)) for road in ("float32", None))
    assert [found.tokens for found in quick] == [found.tokens for found in slow]
    assert [found.score for found in quick] == pytest.approx([found.score for found in slow], abs=1e-4)


RULES: list[dict[str, Any]] = [
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


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_both_roads_write_the_same_under_every_rule(model_folder: Path, rules: dict[str, Any]) -> None:
    beams = rules.get("beam_size", 4)
    decode = DecodeSettings(**{"beam_size": beams, "n_best": beams, "max_length_offset": 10, **rules})
    texts = sentences(40)
    quick = load_translator(model_folder).translate_all(texts, decode)
    slow = load_translator(model_folder, fast=None).translate_all(texts, decode)
    several = [(one, *one.alternatives) for one in quick], [(one, *one.alternatives) for one in slow]
    for ones, others in zip(*several, strict=True):
        for one, other in zip(ones, others, strict=True):
            assert (one.text, one.tokens) == (other.text, other.tokens)
            assert one.score == pytest.approx(other.score, abs=1e-4)
            assert one.log_probability == pytest.approx(other.log_probability, abs=1e-4)
            assert one.log_probabilities == pytest.approx(other.log_probabilities, abs=1e-4)
            if decode.log_probabilities:
                assert math.fsum(one.log_probabilities) == pytest.approx(one.log_probability)


def test_the_rules_change_something(model_folder: Path) -> None:
    """Else the test above would prove little."""
    translator, texts = load_translator(model_folder), sentences(40)
    plain = [found.text for found in translator.translate_all(texts, DecodeSettings(max_length_offset=10))]
    for rules in RULES:
        if "log_probabilities" not in rules:
            decode = DecodeSettings(**{"max_length_offset": 10, **rules})
            assert [found.text for found in translator.translate_all(texts, decode)] != plain, rules


def test_both_roads_score_the_same(model_folder: Path) -> None:
    chance = random.Random(2)
    texts = sentences(30)
    pairs = [(text, chance.choice(texts)) for text in texts]
    assert ("", "") not in pairs
    pairs.append(("", ""))
    quick, slow = (list(load_translator(model_folder, fast=fast).score(pairs)) for fast in ("float32", None))
    for one, other in zip(quick, slow, strict=True):
        assert (one.source, one.text, one.tokens) == (other.source, other.text, other.tokens)
        assert one.log_probabilities == pytest.approx(other.log_probabilities, abs=1e-4)
        assert (one.score, one.log_probability) == pytest.approx((other.score, other.log_probability), abs=1e-4)


ODD = ["\x01\x07\x1b[0m\x7f\x85 \0\0", "e\u0301\u0302 o\u0308\u200d\ufeff\u202e", "a\x1fb\u2028c\td\re", "中" * 300]


def test_control_and_combining_characters_are_no_matter_on_either_road(model_folder: Path) -> None:
    quick, slow = (load_translator(model_folder, fast=fast).translate_all(ODD) for fast in ("float32", None))
    assert [one.text for one in quick] == [one.text for one in slow]
    assert [one.source for one in quick] == ODD


def test_the_texts_are_of_many_lengths_and_some_reach_their_limit(model_folder: Path) -> None:
    """Else the test above would prove little."""
    found = regard.load(model_folder).translate_all(sentences(60), DecodeSettings(max_length_offset=2))
    assert len({len(one.tokens) for one in found}) > 5


@pytest.mark.parametrize("size", [1, 2, 8])
def test_alone_or_in_company_a_text_is_the_same(model_folder: Path, size: int) -> None:
    translator = regard.load(model_folder)
    texts = sentences(60)
    together = [found.text for found in translator.translate_all(texts)]
    in_groups = [
        found.text for at in range(0, len(texts), size) for found in translator.translate_all(texts[at : at + size])
    ]
    assert in_groups == together


def test_the_cores_are_divided_on_the_first_batches_and_the_text_is_the_same(model_folder: Path) -> None:
    texts = list(dict.fromkeys(sentences(200)))
    decode = DecodeSettings(beam_size=2, max_length_offset=2)  # so few that some batches are searched again
    plain = regard.load(model_folder).translate_all(texts, decode)
    for cores in (1, 2):
        translator = load_translator(model_folder)
        assert isinstance(translator, CTranslate2Backend)
        translator._cores = cores
        # Small batches, so that there are enough to try on; and a second time, when it is known.
        for _ in range(2):
            found = list(translator.translate_iterable(texts, decode, batch_tokens=96))
            assert [one.text for one in found] == [one.text for one in plain]
            assert translator.workers(decode) in {cores, 1}
        assert list(translator._best) == ([decode.beam_size] if cores > 1 else [])  # another search is tried by itself


@pytest.mark.parametrize("fast", ["float32", None])
@pytest.mark.parametrize("beams", [1, 3])
def test_without_scores_the_text_is_the_same(model_folder: Path, fast: str | None, beams: int) -> None:
    translator, texts = regard.load(model_folder, fast=fast), [text for text in sentences(60) if text.strip()]
    # So few pieces that some texts reach their limit, which is another for every length.
    ways = (DecodeSettings(beam_size=beams, max_length_offset=2, scores=each) for each in (True, False))
    scored, bare = (translator.translate_all(texts, decode) for decode in ways)
    assert [one.tokens for one in bare] == [one.tokens for one in scored]
    limits = [len(ids) + 2 for ids in translator.tokenizer.encode(texts)]
    assert any(len(one.tokens) == limit for one, limit in zip(bare, limits, strict=True))
    assert all(math.isnan(one.score) and math.isnan(one.log_probability) for one in bare)
    assert not any(math.isnan(one.score) or math.isnan(one.log_probability) for one in scored)


def count_searches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many texts were in each batch that the engine searched."""
    searches: list[int] = []
    search = CTranslate2Backend._search

    def counted(self: CTranslate2Backend, engine: Any, batch: Any, decode: DecodeSettings) -> Any:
        searches.append(len(batch))
        return search(self, engine, batch, decode)

    monkeypatch.setattr(CTranslate2Backend, "_search", counted)
    return searches


def test_a_greedy_text_without_a_score_is_searched_once_and_cut(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches = count_searches(monkeypatch)
    translator, texts = load_translator(model_folder), [text for text in sentences(60) if text.strip()]
    told = {}
    for scores in (True, False):
        decode = DecodeSettings(beam_size=1, max_length_offset=2, scores=scores, log_probabilities=True)
        searches.clear()
        told[scores] = [(one.tokens, one.log_probabilities) for one in translator.translate_all(texts, decode)]
        assert (sum(searches) > len(set(texts))) == scores
    assert told[False] == told[True]
    bare = DecodeSettings(beam_size=1, scores=False)
    [[found]] = next(translator._generate([[translator._source([270], [], bare)]], bare))
    assert math.isnan(found.score)  # the engine was not asked


@pytest.mark.parametrize("cores", [1, 2])
def test_few_batches_are_begun_before_they_are_wanted(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    """Or whoever has enough, or interrupts, would wait for all that were."""
    searched = count_searches(monkeypatch)
    translator = load_translator(model_folder)
    assert isinstance(translator, CTranslate2Backend)
    translator._cores = cores
    translator._best = {1: cores}
    translator._engines[cores] = translator._open(cores)
    texts, greedy = list(dict.fromkeys(sentences(400))), DecodeSettings(beam_size=1)
    assert len(texts) > 100
    stream = translator.translate_iterable(texts, greedy, window=10, batch_tokens=8)
    for _ in range(30):
        next(stream)
    # Windows of ten, each text a batch, and at their ends none.
    assert 30 <= len(searched) <= 33 + 3 * cores + 1
    for translator._best in ({1: cores}, {}):  # tried before, or not
        repeated = translator.translate_iterable(itertools.repeat(texts[0]), greedy, window=3)
        assert len({next(repeated).text for _ in range(60)}) == 1


def test_a_batch_of_short_texts_is_bounded_too(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine holds the scores of all pieces for each of them."""
    searches = count_searches(monkeypatch)
    regard.load(model_folder).translate_all(
        [f"{number}" for number in range(1200)], DecodeSettings(beam_size=1, max_length=1)
    )
    assert sum(searches) >= 1200
    assert max(searches) <= 4096 // 8


def test_the_windows_before_an_untranslatable_text_are_translated(model_folder: Path) -> None:
    translator = load_translator(model_folder)
    texts = [text for text in sentences(40) if text.strip()][:9]
    stream = translator.translate_iterable([*texts, "\udcff"], window=3)
    assert [next(stream).text for _ in texts] == [one.text for one in translator.translate_all(texts)]
    with pytest.raises(DataError, match="surrogate"):
        next(stream)


def test_what_is_scored_at_once_is_bounded_by_the_longer_side(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = load_translator(model_folder)
    assert isinstance(translator, CTranslate2Backend)
    pairs = [([5], [6 + number % 9] * (40 if number % 50 == 0 else 1)) for number in range(200)]
    apart = [translator._score_tokens([pair])[0] for pair in pairs]
    sizes: list[int] = []

    class Counting:
        def score_batch(self, sources: list[list[str]], targets: list[list[str]], **options: Any) -> Any:
            sizes.append(len(targets) * (max(map(len, targets)) + 1))
            return engine.score_batch(sources, targets, **options)

    engine = translator._engines[1]
    monkeypatch.setitem(translator._engines, 1, Counting())
    for one, alone in zip(translator._score_tokens(pairs), apart, strict=True):
        assert one == pytest.approx(alone, abs=1e-4)
    assert len(sizes) > 1
    assert max(sizes) <= 2048


def test_what_may_not_be_written_is_not(model_folder: Path) -> None:
    opened = open_folder(model_folder)
    model = opened.build()
    unwritable = [number for number, may in enumerate(opened.tokenizer.generable) if not may]
    with torch.no_grad():
        model.embedding.weight[unwritable] = 3 * model.embedding.weight[20]
    folder = model_folder.parent / "tempting"
    save_folder(
        folder,
        settings=opened.settings,
        weights=model.state_dict(),
        tokenizer=opened.tokenizer,
        languages=("en", "xx"),
        card="",
    )
    names = set(opened.tokenizer.tokens(range(EOS)))
    for found in regard.load(folder).translate_all(sentences(20)):
        assert not names & set(found.tokens)


def test_files_in_the_folder_are_used(model_folder: Path, cache: Path) -> None:
    regard.load(model_folder).translate("the cat")
    assert not cache.exists()


@pytest.mark.parametrize("harm", ["missing", "damaged", "of other weights"])
def test_without_usable_files_they_are_made_in_the_cache(tmp_path: Path, cache: Path, harm: str) -> None:
    folder = write_model(tmp_path / "model", SHAPES["post"])
    if harm != "missing":
        ensure_export(folder)
    if harm == "damaged":
        path = folder / "fast" / "model.bin"
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    if harm == "of other weights":
        (folder / "manifest.json").write_text((folder / "manifest.json").read_text() + "\n")
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    wanted = regard.load(folder, fast=None).translate("the old tree").text
    assert regard.load(folder).translate("the old tree").text == wanted
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
    [made] = [path for path in cache.iterdir() if path.is_dir()]
    again = made.stat().st_mtime_ns
    regard.load(folder)
    assert made.stat().st_mtime_ns == again


def test_a_conversion_that_fails_names_folder_and_reason(model_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where a folder should be")
    with pytest.raises((FolderError, OSError), match="cache"):
        regard.load(model_folder, fast="int8")


@contextmanager
def disk(at: Path, options: str) -> Iterator[Path]:
    """A real file system of its own."""
    at.mkdir(parents=True, exist_ok=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(at)], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("only root may mount a disk to fill")
    try:
        yield at
    finally:
        subprocess.run(["umount", str(at)], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a tmpfs")
def test_a_full_disk_is_told_before_and_while_it_fills(tmp_path: Path, cache: Path) -> None:
    folder = write_model(tmp_path / "model", SHAPES["post"])
    needed = (folder / "weights.safetensors").stat().st_size
    with disk(cache, f"size={needed // 2}"):
        with pytest.raises(FolderError) as refused:
            regard.load(folder)
        assert str(refused.value) == (
            f"{cache}: no room for the engine's files of {folder}: {needed:,} bytes are needed and "
            f"{shutil.disk_usage(cache).free:,} are free; make room there"
        )
        # Room for the weights, but not for all: it shows while they are written.
        resize = ["mount", "-o", f"remount,size={needed + 8192}", str(cache)]
        subprocess.run(resize, check=True)
        with pytest.raises(FolderError, match=r"cannot be made ready for the engine in .*: the disk is full: "):
            regard.load(folder)
        assert [path.name for path in cache.iterdir() if path.suffix != ".lock"] == []
        subprocess.run([*resize[:2], "remount,size=100m", str(cache)], check=True)
        assert regard.load(folder).translate("the cat").text == regard.load(folder, fast=None).translate("the cat").text


def test_nothing_in_the_current_folder_is_run(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", SHAPES["post"])
    for name in ("torch.py", "numpy.py", "ctranslate2.py", "regard.py"):
        (folder / name).write_text("raise SystemExit('it was run')")
    command = [sys.executable, "-P", "-m", "regard", "translate", "--model", ".", "the cat"]
    variables = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "making model ready in float32, once: it takes some seconds\n")


@pytest.mark.parametrize("setting", [{"prefix": "a"}, {"temperature": 1.0}])
def test_what_is_left_to_torch_is_not_quietly_more_precise(tmp_path: Path, setting: dict[str, Any]) -> None:
    translator = regard.load(write_model(tmp_path / "model", SHAPES["post"]), fast="int8")
    with pytest.raises(SettingsError, match="are computed in float32, not in int8; leave --fast out"):
        translator.translate("the cat", DecodeSettings(**setting))


def test_another_device_is_not_quietly_more_precise(model_folder: Path) -> None:
    with pytest.raises(SettingsError, match="on cuda a model is computed in float32, not in int8; leave --fast out"):
        regard.load(model_folder, fast="int8", device="cuda")


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a tmpfs")
def test_a_folder_that_cannot_be_written_is_translated_with(tmp_path: Path) -> None:
    with disk(tmp_path / "disk", "size=100m") as at:
        folder = write_model(at / "model", SHAPES["post"])
        subprocess.run(["mount", "-o", "remount,ro", str(at)], check=True)
        with pytest.raises(OSError, match="Read-only"):
            (folder / "mark").write_text("")
        assert regard.load(folder).translate("the cat").text == regard.load(folder, fast=None).translate("the cat").text


def test_a_type_the_processor_lacks_is_named(model_folder: Path) -> None:
    with pytest.raises(SettingsError, match=r"this processor does not compute in float8; it can in .*float32"):
        regard.load(model_folder, fast="float8")


def test_the_process_that_translates_never_imports_torch(model_folder: Path) -> None:
    program = (
        "import sys, regard\n"
        f"regard.load({str(model_folder)!r}).translate('the cat sees a tree')\n"
        "assert not {'torch', 'transformers'} & set(sys.modules), 'torch was imported'\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_processes_that_need_the_same_files_make_them_once(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", SHAPES["post"])
    program = f"import regard; print(regard.load({str(folder)!r}).translate('the old tree').text)"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "shared")}
    several = [
        subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE) for _ in range(2)
    ]
    said = {process.communicate()[0] for process in several}
    assert [process.returncode for process in several] == [0, 0]
    assert len(said) == 1


def test_an_empty_translation_is_a_translation(model_folder: Path, tmp_path: Path) -> None:
    opened = open_folder(model_folder)
    model = opened.build()
    with torch.no_grad():
        end_sooner(model, 20.0)
    folder = tmp_path / "silent"
    save_folder(
        folder,
        settings=opened.settings,
        weights=model.state_dict(),
        tokenizer=opened.tokenizer,
        languages=("a", "b"),
        card="",
    )
    export_model(folder, folder / "fast", "float32")
    quick, slow = load_translator(folder).translate("the cat"), regard.load(folder, fast=None).translate("the cat")
    assert quick.text == slow.text == ""
    assert quick.score == pytest.approx(slow.score, abs=1e-4)
