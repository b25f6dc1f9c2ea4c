"""The structure of a `model.bin` is checked, and a file with another structure is not given to CTranslate2."""

import random
from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard.interchange.ctranslate2 import cache as cache_module
from regard.interchange.ctranslate2.cache import cached_export, is_trusted_export
from regard.interchange.ctranslate2.export import ensure_export
from regard.interchange.ctranslate2.model_bin import matches_export
from regard.model_folder.loader import open_folder
from regard.model_folder.writer import save_folder
from regard.models.kinds.transformer import Transformer
from regard.settings.kinds.transformer import TransformerSettings
from regard.storage.json_files import read_json, write_json
from regard.storage.manifest import write_manifest
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.vocabulary import train_tokenizer

torch.set_num_threads(1)

TOKENIZER = SentencePieceTokenizer(
    train_tokenizer(iter(["a small text", "of a few words"]), kind="unigram", vocab_size=300)
)


def save(path: Path, **changes: Any) -> Path:
    shape = {"width": 16, "heads": 2, "feedforward": 24, "encoder_layers": 2, "decoder_layers": 1, "max_positions": 64}
    settings = TransformerSettings(
        **{
            "source_vocab_size": TOKENIZER.embedding_rows,
            "target_vocab_size": TOKENIZER.embedding_rows,
            **shape,
            **changes,
        }
    )
    torch.manual_seed(3)
    model = Transformer(settings)
    weights = model.state_dict()
    save_folder(path, settings=settings, weights=weights, tokenizer=TOKENIZER, languages=("en", None), card="")
    ensure_export(path)
    return path


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("positions", ["sinusoid", "learned"])
def test_an_export_has_the_expected_structure(tmp_path: Path, norm: str, positions: str) -> None:
    """Also detects a new version of CTranslate2 that writes another format."""
    folder = save(tmp_path / "model", norm=norm, positions=positions, decoder_layers=3)
    assert is_trusted_export(folder / "ctranslate2", open_folder(folder))


@pytest.mark.parametrize(
    "change",
    [
        {"heads": 4},
        {"width": 32},
        {"feedforward": 32},
        {"encoder_layers": 3},
        {"decoder_layers": 2},
        {"max_positions": 32},
    ],
    ids=str,
)
def test_an_export_of_another_shape_is_refused(tmp_path: Path, change: dict[str, int]) -> None:
    first, second = save(tmp_path / "first"), save(tmp_path / "second", **change)
    assert not matches_export(second / "ctranslate2" / "model.bin", open_folder(first).settings)
    assert not matches_export(first / "ctranslate2" / "model.bin", open_folder(second).settings)


def parameter_bytes(data: bytes) -> set[int]:
    """Return the positions of the bytes that are values of a parameter, read independently of `model_bin`.

    The format: version (4 bytes), name and revision of the spec, the number of variables, and for each variable its
    name, shape, type, length in bytes and values. A name is preceded by its length in 2 bytes.
    """
    at, positions = 4, set[int]()
    at += 2 + int.from_bytes(data[at : at + 2], "little") + 4
    count = int.from_bytes(data[at : at + 4], "little")
    at += 4
    for _ in range(count):
        at += 2 + int.from_bytes(data[at : at + 2], "little")
        rank = data[at]
        at += 1 + 4 * rank + 1
        length = int.from_bytes(data[at : at + 4], "little")
        at += 4
        if rank:
            positions.update(range(at, at + length))
        at += length
    return positions


def test_every_change_except_of_parameter_values_is_detected(tmp_path: Path) -> None:
    """Bytes of the structure and of the values are changed, and the file is truncated."""
    folder = save(tmp_path / "model")
    path, settings = folder / "ctranslate2" / "model.bin", open_folder(folder).settings
    original, numbers = path.read_bytes(), random.Random(1)
    values = parameter_bytes(original)
    structure = [position for position in range(len(original)) if position not in values]
    assert len(values) > len(structure) > 1000
    for position in [*numbers.sample(structure, 1000), *numbers.sample(sorted(values), 50)]:
        data = bytearray(original)
        data[position] ^= numbers.randrange(1, 256)
        path.write_bytes(data)
        assert matches_export(path, settings) == (position in values), position
    for position in numbers.sample(range(len(original)), 100):
        path.write_bytes(original[:position])
        assert not matches_export(path, settings)
    path.write_bytes(original + b"x")
    assert not matches_export(path, settings)


def test_manipulated_files_are_not_used_but_exported_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "user_cache_path", lambda name: tmp_path / "cache" / name)
    folder = save(tmp_path / "model")
    expected = regard.load(folder).translate("a few").text
    files, opened = folder / "ctranslate2", open_folder(folder)
    assert cached_export(opened, "float32") == files
    config = read_json(files / "config.json")
    for value in (True, 0):  # only false itself is accepted
        write_json(files / "config.json", {**config, "add_source_bos": value})
        write_manifest(files, cache_module.FILES)
        assert cached_export(opened, "float32").is_relative_to(tmp_path / "cache")
    write_json(files / "config.json", config)
    data = (files / "model.bin").read_bytes()
    (files / "model.bin").write_bytes(data.replace(b"num_heads", b"num_heedz"))
    write_manifest(files, cache_module.FILES)
    assert cached_export(opened, "float32").is_relative_to(tmp_path / "cache")
    assert regard.load(folder).translate("a few").text == expected
    (files / "model.bin").write_bytes(data)
    write_manifest(files, cache_module.FILES)
    assert cached_export(opened, "float32") == files
    (files / "more.bin").touch()
    assert cached_export(opened, "float32").is_relative_to(tmp_path / "cache")


@pytest.mark.parametrize("name", cache_module.FILES)
def test_unreadable_files_are_exported_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(cache_module, "user_cache_path", lambda name: tmp_path / "cache" / name)
    monkeypatch.setattr(cache_module, "_export_in_child", lambda *_: None)
    folder = save(tmp_path / "model")
    (folder / "ctranslate2" / name).write_bytes(b"{")
    write_manifest(folder / "ctranslate2", cache_module.FILES)
    assert cached_export(open_folder(folder), "float32").is_relative_to(tmp_path / "cache")
