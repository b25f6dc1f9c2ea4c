"""Model folders: a saved model loads bit for bit, and a damaged or invalid folder is refused with the file at fault."""

import os
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.building import transformer_of
from tests.padded import inputs
from tests.toy_kind import toy_kind
from torch import Tensor

import regard
from regard.errors import FolderError
from regard.model_folder.folder import FORMAT, HASHED
from regard.model_folder.loader import open_folder
from regard.model_folder.verification import HOW_TO_FIX
from regard.model_folder.writer import save_folder
from regard.models.interface import SequenceModel
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
SETTINGS = TransformerSettings(
    source_vocab_size=TOKENIZER.embedding_rows,
    target_vocab_size=TOKENIZER.embedding_rows,
    width=16,
    heads=2,
    feedforward=24,
    encoder_layers=2,
    decoder_layers=1,
    max_positions=64,
)


def make_model() -> Transformer:
    torch.manual_seed(3)
    return Transformer(SETTINGS).eval()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A saved model."""
    path = tmp_path / "somewhere" / "model"
    save_folder(
        path,
        settings=SETTINGS,
        weights=make_model().state_dict(),
        tokenizer=TOKENIZER,
        languages=("en", None),
        card="# A card\n",
    )
    return path


def output(model: SequenceModel) -> Tensor:
    with torch.inference_mode():
        logits: Tensor = model(
            inputs(torch.tensor([[5, 270, 3], [6, 3, 0]])), torch.tensor([[2, 8, 9, 10], [2, 7, 0, 0]])
        )
        return logits


def refused(folder: Path) -> str:
    with pytest.raises(FolderError) as caught:
        open_folder(folder).build()
    return str(caught.value)


def test_a_loaded_model_equals_the_saved_one(folder: Path) -> None:
    opened = open_folder(folder)
    assert opened.path == folder
    assert opened.settings == SETTINGS
    assert opened.languages == ("en", None)
    assert opened.tokenizer.data == TOKENIZER.data
    loaded, model = opened.build(), make_model()
    assert not loaded.training
    assert loaded.state_dict().keys() == model.state_dict().keys()
    assert all(torch.equal(tensor, model.state_dict()[name]) for name, tensor in loaded.state_dict().items())
    assert torch.equal(output(loaded), output(model))


@pytest.mark.parametrize("positions", ["sinusoid", "learned"])
def test_building_a_model_uses_no_random_numbers(tmp_path: Path, positions: Literal["sinusoid", "learned"]) -> None:
    """The parameters come from the file, so random ones would be wasted, and would change the caller's next ones."""
    settings = replace(SETTINGS, positions=positions)
    saved = Transformer(settings).eval()
    weights = saved.state_dict()
    save_folder(tmp_path, settings=settings, weights=weights, tokenizer=TOKENIZER, languages=("en", None), card="")
    before = torch.get_rng_state()
    built = open_folder(tmp_path).build()
    assert torch.equal(torch.get_rng_state(), before)
    tensors, expected = ({**dict(m.named_parameters()), **dict(m.named_buffers())} for m in (built, saved))
    assert tensors.keys() == expected.keys()
    for name, tensor in tensors.items():
        assert tensor.device.type == "cpu"
        assert torch.equal(tensor, expected[name])
        assert tensor.requires_grad == expected[name].requires_grad


def test_changing_a_loaded_model_does_not_change_its_file(folder: Path) -> None:
    before = (folder / "weights.safetensors").read_bytes()
    model = open_folder(folder).build()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1)
    assert (folder / "weights.safetensors").read_bytes() == before


def test_a_folder_has_five_files_and_format_2(folder: Path) -> None:
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["card.md", "manifest.json", "settings.json", "tokenizer.model", "weights.safetensors"]
    assert sorted(read_json(folder / "manifest.json")) == sorted(HASHED)
    contents = read_json(folder / "settings.json")
    assert contents["format"] == FORMAT == 2
    assert contents["directions"] == [["en", None]]
    assert contents["model"]["width"] == 16
    assert contents["tokenizer"] == {"source": "tokenizer.model", "target": "tokenizer.model"}


def test_saving_a_loaded_model_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    opened = open_folder(folder)
    again = tmp_path / "again"
    save_folder(
        again,
        settings=opened.settings,
        weights=opened.build().state_dict(),
        tokenizer=opened.tokenizer,
        languages=opened.languages,
        card="another card",
    )
    assert (again / "manifest.json").read_bytes() == (folder / "manifest.json").read_bytes()


def test_parameters_in_half_precision_are_loaded_in_single_precision(folder: Path) -> None:
    weights = {name: tensor.half() for name, tensor in load_file(folder / "weights.safetensors").items()}
    save_file(weights, folder / "weights.safetensors")
    write_manifest(folder, HASHED)
    loaded = transformer_of(open_folder(folder))
    assert {tensor.dtype for tensor in loaded.state_dict().values()} == {torch.float32}
    assert torch.equal(loaded.embedding.weight, weights["embedding.weight"].float())


def test_a_moved_folder_translates_the_same(folder: Path, tmp_path: Path) -> None:
    before = regard.load(folder, backend="torch").translate("a few")
    shutil.move(folder, tmp_path / "elsewhere")
    assert regard.load(tmp_path / "elsewhere", backend="torch").translate("a few") == before


def test_a_folder_opens_with_a_changed_or_missing_card(folder: Path) -> None:
    (folder / "card.md").write_text("a licence", "utf-8")
    open_folder(folder)
    (folder / "card.md").unlink()
    open_folder(folder)


# Damaged folders


@pytest.mark.parametrize("name", HASHED)
@pytest.mark.parametrize("position", [0.0, 0.5, 1.0])
def test_a_changed_byte_is_detected(folder: Path, name: str, position: float) -> None:
    data = bytearray((folder / name).read_bytes())
    data[round(position * (len(data) - 1))] ^= 0x10
    (folder / name).write_bytes(data)
    assert refused(folder) == (
        f"{folder / name} was changed after it was written (its SHA-256 differs); "
        "restore the file from a copy or train the model again"
    )


@pytest.mark.parametrize("name", HASHED)
def test_a_truncated_file_is_detected(folder: Path, name: str) -> None:
    size = (folder / name).stat().st_size
    os.truncate(folder / name, size - 1)
    assert refused(folder).startswith(f"{folder / name} has {size - 1:,} bytes instead of {size:,}; restore")


@pytest.mark.parametrize("name", HASHED)
def test_a_missing_file_is_detected(folder: Path, name: str) -> None:
    (folder / name).unlink()
    assert refused(folder) == f"{folder / name} is missing; restore the file from a copy or train the model again"


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]", b'{"settings.json": {}}'])
def test_an_unreadable_manifest_is_refused(folder: Path, content: bytes) -> None:
    (folder / "manifest.json").write_bytes(content)
    assert refused(folder).startswith(f"{folder / 'manifest.json'} is not readable; restore")


@pytest.mark.parametrize("lost", HASHED)
def test_a_manifest_without_a_required_file_is_refused(folder: Path, lost: str) -> None:
    manifest = read_json(folder / "manifest.json")
    del manifest[lost]
    write_json(folder / "manifest.json", manifest)
    assert refused(folder).startswith(f"{folder / 'manifest.json'} does not list {lost}; restore")


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "none"
    assert refused(path) == (
        f"{path}: no such model folder; check the name and the current folder ({Path.cwd()}); `regard train SOURCE "
        f"TARGET --out {path}` trains one; bundled models: en-fr, fr-en"
    )


def test_a_file_is_not_a_model_folder(folder: Path) -> None:
    assert (
        refused(folder / "card.md") == f"{folder / 'card.md'} is a file; a model is a folder, or a .zip archive of one"
    )


def test_a_folder_without_a_manifest_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path) == f"{tmp_path}: not a model folder (it has no manifest.json)"


def test_a_folder_that_hides_a_bundled_model_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("en-fr").mkdir()
    assert refused(Path("en-fr")) == (
        "en-fr: not a model folder (it has no manifest.json); it hides the bundled model of the same name: rename it, "
        "or change to another folder"
    )


def test_a_checkpoint_is_not_a_model_folder(folder: Path) -> None:
    checkpoint = folder / "run" / "checkpoints" / "step-00000150"
    checkpoint.mkdir(parents=True)
    (checkpoint / "manifest.json").write_text("{}")
    assert refused(checkpoint) == (
        f"{checkpoint} is a checkpoint of a run; use the model folder {folder}, or repeat the training command if the "
        "run has not finished"
    )


def test_the_folder_of_an_unfinished_run_says_how_to_continue(folder: Path) -> None:
    (folder / "manifest.json").unlink()
    (folder / "run").mkdir()
    (folder / "run" / "plan.json").touch()
    assert refused(folder) == (
        f"{folder}: the training of this model has not finished; repeat the `regard train` command to continue"
    )


# Intact folders with invalid contents


def rewrite(folder: Path, change: Callable[[dict], object]) -> None:
    """Change the settings and update the hash."""
    contents = read_json(folder / "settings.json")
    change(contents)
    write_json(folder / "settings.json", contents)
    write_manifest(folder, HASHED)


@pytest.mark.parametrize("number", [3, None, "1"])
def test_another_format_is_refused(folder: Path, number: object) -> None:
    rewrite(folder, lambda contents: contents.update(format=number))
    message = refused(folder)
    assert message.startswith(f"{folder / 'settings.json'}: format {number!r}, but this ")
    assert message.endswith("reads the formats 1 to 2")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"widht": 3}, "unknown setting model.widht; did you mean model.width?"),
        ({"width": 17}, "model.width (17) must be a multiple of model.heads (2)"),
        ({"heads": "two"}, "model.heads must be a whole number, got 'two'"),
        ({"width": 1 << 40}, "model.width must be at most 16,384, got 1,099,511,627,776"),
        ({"encoder_layers": 10**9}, "model.encoder_layers must be at most 256, got 1,000,000,000"),
        ({"max_positions": 10**12}, "model.max_positions must be at most 65,536, got 1,000,000,000,000"),
        ({"source_vocab_size": 10**12}, "model.source_vocab_size must be at most 1,048,576, got 1,000,000,000,000"),
    ],
)
def test_invalid_model_settings_are_refused(folder: Path, change: dict, message: str) -> None:
    rewrite(folder, lambda contents: contents["model"].update(change))
    assert refused(folder).startswith(f"{folder / 'settings.json'}: {message}")


@pytest.mark.parametrize(
    "lost", ["kind", "task", "directions", "source", "model", "tokenizer", "decode", "alignment_head"]
)
def test_a_missing_entry_of_the_settings_is_named(folder: Path, lost: str) -> None:
    rewrite(folder, lambda contents: contents.pop(lost))
    assert refused(folder) == f"{folder / 'settings.json'}: {lost} is missing; {HOW_TO_FIX}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": [1]}, "model is [1]; restore"),
        ({"directions": "en"}, "directions is 'en'; restore"),
        (
            {"directions": [["en", 5]]},
            "directions is [['en', 5]], not one pair of languages, each of which may be null",
        ),
        ({"directions": [["en"]]}, "directions is [['en']], not one pair of languages, each of which may be null"),
        ({"kind": "oracle"}, "unknown kind 'oracle'; the kinds are "),
        ({"task": "painting"}, "task is 'painting', which needs a newer version of Regard"),
        ({"source": "sound"}, "source is 'sound', which needs a newer version of Regard"),
        ({"tokenizer": {"source": "a", "target": "b"}}, "tokenizer is {'source': 'a', 'target': 'b'}, which needs"),
        ({"decode": {"beams": 3}}, "decode.beams is now decode.beam_size"),
        ({"decode": {"beam_size": 10**9}}, "decode.beam_size must be at most 1,024, got 1,000,000,000"),
        ({"decode": {"max_length": 10**9}}, "decode.max_length must be at most 65,536, got 1,000,000,000"),
        *(
            ({"decode": {name: value}}, f"decode.{name} is chosen for each call and not stored with a model; restore")
            for name, value in {"prefix": "Buy ", "scores": False, "n_best": 2, "seed": 2, "alignment": True}.items()
        ),
        (
            {"alignment_head": {"head": "decoder.9.cross.1", "row": "read"}},
            "alignment_head names a head that the model",
        ),
        ({"alignment_head": {"head": 3}}, "alignment_head is {'head': 3}; restore"),
        ({"calibration_temperature": "warm"}, "calibration_temperature is 'warm', not a number from 0.1 to 10"),
        ({"calibration_temperature": 0}, "calibration_temperature is 0, not a number from 0.1 to 10"),
    ],
)
def test_entries_of_the_wrong_type_are_refused(folder: Path, change: dict, message: str) -> None:
    rewrite(folder, lambda contents: contents.update(change))
    assert refused(folder).startswith(f"{folder / 'settings.json'}: {message}")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "not a JSON object; restore"),
        ("[" * 100_000, "invalid JSON (nested too deeply); restore"),
        ("{", "invalid JSON ("),
    ],
)
def test_settings_that_are_not_a_json_object_are_refused(folder: Path, content: str, message: str) -> None:
    (folder / "settings.json").write_text(content)
    write_manifest(folder, HASHED)
    assert refused(folder).startswith(f"{folder / 'settings.json'}: {message}")


def test_settings_that_do_not_match_the_parameters_are_refused_before_memory_is_allocated(folder: Path) -> None:
    """The settings are within all bounds, but would take a terabyte."""
    rewrite(folder, lambda contents: contents["model"].update(width=1 << 14, feedforward=1 << 17, encoder_layers=256))
    message = refused(folder)
    assert message.startswith(f"{folder / 'weights.safetensors'} does not match settings.json: ")
    assert "embedding.weight has the shape (" in message


def rewrite_parameters(folder: Path, change: Callable[[dict[str, Tensor]], object]) -> str:
    weights = load_file(folder / "weights.safetensors")
    change(weights)
    save_file(weights, folder / "weights.safetensors")
    write_manifest(folder, HASHED)
    return f"{folder / 'weights.safetensors'} does not match settings.json: "


def test_all_missing_extra_and_misshapen_parameters_are_named(folder: Path) -> None:
    def change(weights: dict[str, Tensor]) -> None:
        del weights["encoder.2.self.query.weight"]
        weights["encoder.3.self.query.weight"] = torch.zeros(16, 16)
        weights["decoder.1.cross.output.bias"] = torch.zeros(15)

    start = rewrite_parameters(folder, change)
    assert refused(folder) == start + (
        "decoder.1.cross.output.bias has the shape (15,) instead of (16,); "
        "encoder.2.self.query.weight is missing; "
        "encoder.3.self.query.weight is not part of the model"
    )


@pytest.mark.parametrize("dtype", [torch.int8, torch.float64])
def test_parameters_of_another_type_are_refused(folder: Path, dtype: torch.dtype) -> None:
    start = rewrite_parameters(
        folder, lambda weights: weights.update({"encoder.1.self.key.bias": torch.zeros(16).to(dtype)})
    )
    name = {torch.int8: "I8", torch.float64: "F64"}[dtype]
    assert refused(folder) == start + f"encoder.1.self.key.bias has the type {name} instead of F32, F16, BF16"


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), 1e7])
def test_parameter_values_that_training_cannot_produce_are_refused(folder: Path, value: float) -> None:
    rewrite_parameters(folder, lambda weights: weights["encoder.1.self.key.bias"][1:2].fill_(value))
    assert refused(folder) == (
        f"{folder / 'weights.safetensors'}: encoder.1.self.key.bias has values that training cannot produce; restore "
        "the file from a copy or train the model again"
    )


def test_an_oversized_tokenizer_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.model_folder.loader._MAX_TOKENIZER_BYTES", 100)
    assert refused(folder).startswith(f"{folder / 'tokenizer.model'} is larger than any tokenizer of Regard; restore")


def test_a_weights_file_that_is_not_safetensors_is_refused(folder: Path) -> None:
    (folder / "weights.safetensors").write_bytes(b"no tensors here")
    write_manifest(folder, HASHED)
    assert refused(folder).startswith(f"{folder / 'weights.safetensors'}: not a safetensors file (")


def test_a_file_that_is_not_a_tokenizer_is_refused(folder: Path) -> None:
    (folder / "tokenizer.model").write_bytes(b"no tokens here")
    write_manifest(folder, HASHED)
    assert refused(folder).startswith(f"{folder / 'tokenizer.model'}: ")


def test_the_tokenizer_of_another_model_is_refused(folder: Path) -> None:
    other = train_tokenizer(iter(["entirely other words, many of them"] * 3), kind="bpe", vocab_size=320)
    assert SentencePieceTokenizer(other).embedding_rows != TOKENIZER.embedding_rows
    (folder / "tokenizer.model").write_bytes(other)
    write_manifest(folder, HASHED)
    assert refused(folder) == (
        f"{folder / 'tokenizer.model'} needs {SentencePieceTokenizer(other).embedding_rows} embedding rows, "
        f"but source_vocab_size in settings.json is {TOKENIZER.embedding_rows}; use the tokenizer that was saved with "
        "the model"
    )


def test_a_target_vocabulary_of_another_size_is_refused(folder: Path) -> None:
    def of_toy_kind(contents: dict[str, Any]) -> None:
        contents["kind"] = "toy"  # unlike a transformer, it may have two sizes
        contents["model"] = {"source_vocab_size": TOKENIZER.embedding_rows, "target_vocab_size": 8, "width": 16}

    with toy_kind():
        rewrite(folder, of_toy_kind)
        message = refused(folder)
    assert message == (
        f"{folder / 'tokenizer.model'} needs {TOKENIZER.embedding_rows} embedding rows, but target_vocab_size in "
        "settings.json is 8; use the tokenizer that was saved with the model"
    )


# Zip archives of folders


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("regard.model_folder.loader.user_cache_path", lambda name: tmp_path / "cache" / name)
    return tmp_path / "cache" / "regard" / "models"


def zipped(folder: Path, top: str = "") -> Path:
    path = folder.with_name("my-model.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for inner in sorted(folder.rglob("*")):
            archive.write(inner, f"{top}{inner.relative_to(folder)}")
    return path


@pytest.mark.parametrize("top", ["", "anything/"])
def test_an_archive_opens_like_its_folder(folder: Path, cache: Path, top: str) -> None:
    (folder / "run").mkdir()
    (folder / "run" / "plan.json").write_text("not needed to translate")
    opened = open_folder(zipped(folder, top))
    assert opened.path.name == "my-model"
    assert opened.path.is_relative_to(cache)
    assert (opened.settings, opened.languages) == (SETTINGS, ("en", None))
    assert torch.equal(output(opened.build()), output(make_model()))
    assert sorted(path.name for path in opened.path.iterdir()) == [
        "card.md", "manifest.json", "settings.json", "tokenizer.model", "weights.safetensors",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["...zip", "lock.zip"])
def test_an_archive_with_an_unusual_name_opens(folder: Path, cache: Path, name: str) -> None:
    kept = cache / "kept"
    kept.mkdir(parents=True)
    archive = zipped(folder)
    assert open_folder(archive.rename(archive.with_name(name))).settings == open_folder(folder).settings
    assert kept.is_dir()


def test_an_archive_is_unpacked_once_and_again_if_the_cache_is_damaged(folder: Path, cache: Path) -> None:
    archive = zipped(folder)
    path = open_folder(archive).path / "weights.safetensors"
    before = path.stat().st_mtime_ns
    assert open_folder(archive).path == path.parent
    assert path.stat().st_mtime_ns == before
    path.write_bytes(b"damaged")
    assert torch.equal(output(open_folder(archive).build()), output(make_model()))


def test_archives_of_the_same_name_are_told_apart(folder: Path, cache: Path) -> None:
    archive = zipped(folder)
    first = open_folder(archive)
    rewrite(folder, lambda contents: contents.update(directions=[["de", "fr"]]))
    second = open_folder(zipped(folder))
    assert first.path != second.path
    assert second.languages == ("de", "fr")


def test_an_archive_loads_wherever_a_folder_does(folder: Path, cache: Path) -> None:
    expected = regard.load(folder, backend="torch").translate("a few").text
    assert regard.load(zipped(folder), backend="torch").translate("a few").text == expected
    assert regard.load(str(zipped(folder))).translate("a few").text == expected


def test_an_archive_of_a_damaged_folder_is_refused_and_leaves_no_files(folder: Path, cache: Path) -> None:
    os.truncate(folder / "weights.safetensors", 99)
    size = read_json(folder / "manifest.json")["weights.safetensors"]["bytes"]
    archive = zipped(folder)
    message = (
        f"{archive}: in the archive, weights.safetensors has 99 bytes instead of {size:,}; copy or download it again"
    )
    assert refused(archive) == message
    assert [path.suffix for path in cache.rglob("*") if path.is_file()] == [".lock"]


def test_an_archive_without_a_model_is_refused(folder: Path, cache: Path) -> None:
    (folder / "manifest.json").unlink()
    archive = zipped(folder)
    assert refused(archive) == f"{archive}: in the archive, manifest.json is missing; copy or download it again"


# One folder of each released format


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parents[1] / "golden").glob("format-*")), ids=lambda path: path.name
)
@pytest.mark.parametrize("backend", ["torch", "auto"])
def test_a_golden_folder_still_translates(
    path: Path, backend: str, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    monkeypatch.setattr("regard.interchange.ctranslate2.cache.user_cache_path", lambda name: cache / name)
    translator = regard.load(path, backend=backend)
    texts = [each.text for each in translator.translate(["the cat eats", "a dog sleeps", "a cat sleeps"])]
    assert texts == ["le chat mange", "un chien dort", "un chat dort"]
    assert open_folder(path).languages == ("en", "fr")


# Interrupted saves


def test_the_manifest_is_written_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    replace = Path.replace

    def record(self: Path, target: Path) -> Path:
        order.append(Path(target).name)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", record)
    save_folder(
        tmp_path / "model",
        settings=SETTINGS,
        weights=make_model().state_dict(),
        tokenizer=TOKENIZER,
        languages=(None, None),
        card="",
    )
    assert order == ["settings.json", "tokenizer.model", "weights.safetensors", "card.md", "manifest.json"]


@pytest.mark.parametrize("renames", range(5))
def test_a_folder_of_an_interrupted_save_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, renames: int
) -> None:
    """The save goes over an older model: a mixture of the two must not be loaded."""
    left = renames
    replace = Path.replace

    def interrupted_replace(self: Path, target: Path) -> Path:
        nonlocal left
        if not left:
            raise KeyboardInterrupt
        left -= 1
        return replace(self, target)

    other = {name: tensor + 1 for name, tensor in make_model().state_dict().items()}
    monkeypatch.setattr(Path, "replace", interrupted_replace)
    with pytest.raises(KeyboardInterrupt):
        save_folder(folder, settings=SETTINGS, weights=other, tokenizer=TOKENIZER, languages=(None, None), card="")
    (folder / "run").mkdir()
    (folder / "run" / "plan.json").touch()
    assert "has not finished" in refused(folder)
