"""A model on disk: what was saved is what is loaded, bit for bit, and a folder that is not whole is refused by name."""

import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

import regard
from regard.errors import FolderError
from regard.model_folder.folder import FORMAT, HASHED
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
SETTINGS = TransformerSettings(
    vocab_size=TOKENIZER.embedding_rows,
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


def output(model: Transformer) -> Tensor:
    with torch.inference_mode():
        return model.forward(torch.tensor([[5, 270, 3], [6, 3, 0]]), torch.tensor([[2, 8, 9, 10], [2, 7, 0, 0]]))


def refused(folder: Path) -> str:
    with pytest.raises(FolderError) as caught:
        open_folder(folder).build()
    return str(caught.value)


def test_what_was_saved_is_what_is_loaded(folder: Path) -> None:
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


def test_what_is_in_the_folder(folder: Path) -> None:
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["card.md", "manifest.json", "settings.json", "tokenizer.model", "weights.safetensors"]
    assert sorted(read_json(folder / "manifest.json")) == sorted(HASHED)
    facts = read_json(folder / "settings.json")
    assert facts["format"] == FORMAT == 1
    assert facts["languages"] == ["en", None]
    assert facts["model"]["width"] == 16
    assert facts["tokenizer"] == {"pieces": TOKENIZER.size}


def test_saving_twice_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
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


def test_weights_in_half_precision_are_read_as_single(folder: Path) -> None:
    weights = {name: tensor.half() for name, tensor in load_file(folder / "weights.safetensors").items()}
    save_file(weights, folder / "weights.safetensors")
    write_manifest(folder, HASHED)
    loaded = open_folder(folder).build()
    assert {tensor.dtype for tensor in loaded.state_dict().values()} == {torch.float32}
    assert torch.equal(loaded.embedding.weight, weights["embedding.weight"].float())


def test_a_folder_may_be_moved(folder: Path, tmp_path: Path) -> None:
    before = regard.load(folder, fast=None).translate("a few")
    shutil.move(folder, tmp_path / "elsewhere")
    assert regard.load(tmp_path / "elsewhere", fast=None).translate("a few") == before


def test_the_card_may_be_edited_or_lost(folder: Path) -> None:
    (folder / "card.md").write_text("a licence", "utf-8")
    open_folder(folder)
    (folder / "card.md").unlink()
    open_folder(folder)


# Folders that are not whole


@pytest.mark.parametrize("name", HASHED)
@pytest.mark.parametrize("place", [0.0, 0.5, 1.0])
def test_a_flipped_byte_is_found(folder: Path, name: str, place: float) -> None:
    data = bytearray((folder / name).read_bytes())
    data[round(place * (len(data) - 1))] ^= 0x10
    (folder / name).write_bytes(data)
    assert refused(folder) == (
        f"{folder / name} was changed after it was written (its SHA-256 differs); "
        "restore the file from a copy or train the model again"
    )


@pytest.mark.parametrize("name", HASHED)
def test_a_file_cut_off_is_found(folder: Path, name: str) -> None:
    size = (folder / name).stat().st_size
    os.truncate(folder / name, size - 1)
    assert refused(folder).startswith(f"{folder / name} has {size - 1:,} bytes instead of {size:,}; restore")


@pytest.mark.parametrize("name", HASHED)
def test_a_missing_file_is_found(folder: Path, name: str) -> None:
    (folder / name).unlink()
    assert refused(folder) == f"{folder / name} is missing; restore the file from a copy or train the model again"


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]", b'{"settings.json": {}}'])
def test_a_manifest_that_is_not_one(folder: Path, content: bytes) -> None:
    (folder / "manifest.json").write_bytes(content)
    assert refused(folder).startswith(f"{folder / 'manifest.json'} is not readable; restore")


@pytest.mark.parametrize("lost", HASHED)
def test_a_manifest_that_names_too_little(folder: Path, lost: str) -> None:
    manifest = read_json(folder / "manifest.json")
    del manifest[lost]
    write_json(folder / "manifest.json", manifest)
    assert refused(folder).startswith(f"{folder / 'manifest.json'} does not name {lost}; restore")


def test_no_such_folder(tmp_path: Path) -> None:
    path = tmp_path / "none"
    assert refused(path) == (
        f"{path}: no such model folder; check the name and the current folder ({Path.cwd()}); `regard train SOURCE "
        f"TARGET --out {path}` makes one; with Regard come en-fr, fr-en"
    )


def test_a_file_is_not_a_model_folder(folder: Path) -> None:
    assert refused(folder / "card.md") == f"{folder / 'card.md'} is a file, and a model is a folder, or a .zip of one"


def test_some_other_folder(tmp_path: Path) -> None:
    assert refused(tmp_path) == f"{tmp_path}: not a model folder (it has no manifest.json)"


def test_a_half_finished_folder_says_to_give_the_same_command(folder: Path) -> None:
    (folder / "manifest.json").unlink()
    (folder / "run").mkdir()
    (folder / "run" / "plan.json").touch()
    assert refused(folder) == (
        f"{folder}: the training of this model has not finished; give the same `regard train` command again to go on"
    )


# Folders that are whole but say what cannot be


def rewrite(folder: Path, change: Callable[[dict], object]) -> None:
    """Change the settings, as someone might on purpose, hash included."""
    facts = read_json(folder / "settings.json")
    change(facts)
    write_json(folder / "settings.json", facts)
    write_manifest(folder, HASHED)


@pytest.mark.parametrize("number", [2, None, "1"])
def test_another_format_is_refused(folder: Path, number: object) -> None:
    rewrite(folder, lambda facts: facts.update(format=number))
    message = refused(folder)
    assert message.startswith(f"{folder / 'settings.json'}: format {number!r}, but this ")
    assert message.endswith("reads format 1")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"widht": 3}, "unknown setting model.widht; did you mean model.width?"),
        ({"width": 17}, "model.width (17) must be a multiple of model.heads (2)"),
        ({"heads": "two"}, "model.heads must be int, got 'two'"),
        ({"kind": "oracle"}, "model.kind must be one of "),
        ({"width": 1 << 40}, "model.width must be at most 16,384, got 1,099,511,627,776"),
        ({"encoder_layers": 10**9}, "model.encoder_layers must be at most 256, got 1,000,000,000"),
        ({"longest": 10**12}, "model.max_positions must be at most 65,536, got 1,000,000,000,000"),
        ({"vocabulary": 10**12}, "model.vocab_size must be at most 1,048,576, got 1,000,000,000,000"),
    ],
)
def test_settings_that_make_no_model(folder: Path, change: dict, message: str) -> None:
    rewrite(folder, lambda facts: facts["model"].update(change))
    assert refused(folder).startswith(f"{folder / 'settings.json'}: {message}")


@pytest.mark.parametrize("lost", ["model", "languages"])
def test_settings_that_lack_a_part(folder: Path, lost: str) -> None:
    rewrite(folder, lambda facts: facts.pop(lost))
    assert refused(folder) == f"{folder / 'settings.json'}: {lost} is missing"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": [1]}, "model is [1]; restore"),
        ({"languages": "en"}, "languages is 'en'; restore"),
        ({"languages": ["en", 5]}, "languages is ['en', 5], but there are two, each a name or null; restore"),
        ({"languages": ["en"]}, "languages is ['en'], but there are two, each a name or null; restore"),
    ],
)
def test_settings_of_another_kind(folder: Path, change: dict, message: str) -> None:
    rewrite(folder, lambda facts: facts.update(change))
    assert refused(folder).startswith(f"{folder / 'settings.json'}: {message}")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "not an object of settings; restore"),
        ("[" * 100_000, "not JSON that can be read (nested too deeply); restore"),
        ("{", "not JSON that can be read ("),
    ],
)
def test_settings_that_are_none(folder: Path, content: str, message: str) -> None:
    (folder / "settings.json").write_text(content)
    write_manifest(folder, HASHED)
    assert refused(folder).startswith(f"{folder / 'settings.json'}: {message}")


def test_settings_that_do_not_fit_the_weights_are_refused_before_anything_is_allocated(folder: Path) -> None:
    """Settings within all bounds, that would take a terabyte."""
    rewrite(folder, lambda facts: facts["model"].update(width=1 << 14, feedforward=1 << 17, encoder_layers=256))
    message = refused(folder)
    assert message.startswith(f"{folder / 'weights.safetensors'} does not fit settings.json: ")
    assert "embedding.weight is (" in message


def rewrite_weights(folder: Path, change: Callable[[dict[str, Tensor]], object]) -> str:
    weights = load_file(folder / "weights.safetensors")
    change(weights)
    save_file(weights, folder / "weights.safetensors")
    write_manifest(folder, HASHED)
    return f"{folder / 'weights.safetensors'} does not fit settings.json: "


def test_missing_extra_and_misshapen_weights_are_all_named(folder: Path) -> None:
    def change(weights: dict[str, Tensor]) -> None:
        del weights["encoder.2.self.query.weight"]
        weights["encoder.3.self.query.weight"] = torch.zeros(16, 16)
        weights["decoder.1.cross.output.bias"] = torch.zeros(15)

    start = rewrite_weights(folder, change)
    assert refused(folder) == start + (
        "decoder.1.cross.output.bias is (15,) instead of (16,); "
        "encoder.2.self.query.weight is missing; "
        "encoder.3.self.query.weight is not part of the model"
    )


@pytest.mark.parametrize("kind", [torch.int8, torch.float64])
def test_weights_of_another_type(folder: Path, kind: torch.dtype) -> None:
    start = rewrite_weights(
        folder, lambda weights: weights.update({"encoder.1.self.key.bias": torch.zeros(16).to(kind)})
    )
    name = {torch.int8: "I8", torch.float64: "F64"}[kind]
    assert refused(folder) == start + f"encoder.1.self.key.bias is of type {name} instead of F32, F16, BF16"


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), 1e7])
def test_weights_that_no_training_gives(folder: Path, value: float) -> None:
    rewrite_weights(folder, lambda weights: weights["encoder.1.self.key.bias"][1:2].fill_(value))
    assert refused(folder) == (
        f"{folder / 'weights.safetensors'}: encoder.1.self.key.bias has numbers that no training gives; restore the "
        "file from a copy or train the model again"
    )


def test_a_tokenizer_beyond_all_measure(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.model_folder.loader._MAX_TOKENIZER_BYTES", 100)
    assert refused(folder).startswith(f"{folder / 'tokenizer.model'} is larger than any tokenizer of ours; restore")


def test_weights_that_are_not_safetensors(folder: Path) -> None:
    (folder / "weights.safetensors").write_bytes(b"no tensors here")
    write_manifest(folder, HASHED)
    assert refused(folder).startswith(f"{folder / 'weights.safetensors'}: not safetensors (")


def test_a_tokenizer_that_is_none(folder: Path) -> None:
    (folder / "tokenizer.model").write_bytes(b"no pieces here")
    write_manifest(folder, HASHED)
    assert refused(folder).startswith(f"{folder / 'tokenizer.model'}: ")


def test_a_tokenizer_of_another_model(folder: Path) -> None:
    other = train_tokenizer(iter(["entirely other words, many of them"] * 3), kind="bpe", vocab_size=320)
    assert SentencePieceTokenizer(other).embedding_rows != TOKENIZER.embedding_rows
    (folder / "tokenizer.model").write_bytes(other)
    write_manifest(folder, HASHED)
    assert refused(folder) == (
        f"{folder / 'tokenizer.model'} has {SentencePieceTokenizer(other).embedding_rows} rows of pieces, "
        f"but settings.json says {TOKENIZER.embedding_rows}; use the one that was written with the model"
    )


# Folders in a .zip


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
def test_a_zip_of_a_folder_is_that_folder(folder: Path, cache: Path, top: str) -> None:
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
def test_a_zip_of_an_odd_name_is_a_zip(folder: Path, cache: Path, name: str) -> None:
    kept = cache / "kept"
    kept.mkdir(parents=True)
    archive = zipped(folder)
    assert open_folder(archive.rename(archive.with_name(name))).settings == open_folder(folder).settings
    assert kept.is_dir()


def test_a_zip_is_unpacked_once_and_again_if_the_cache_was_damaged(folder: Path, cache: Path) -> None:
    archive = zipped(folder)
    path = open_folder(archive).path / "weights.safetensors"
    before = path.stat().st_mtime_ns
    assert open_folder(archive).path == path.parent
    assert path.stat().st_mtime_ns == before
    path.write_bytes(b"damaged")
    assert torch.equal(output(open_folder(archive).build()), output(make_model()))


def test_another_zip_of_the_same_name_is_another_model(folder: Path, cache: Path) -> None:
    archive = zipped(folder)
    first = open_folder(archive)
    rewrite(folder, lambda facts: facts.update(languages=["de", "fr"]))
    second = open_folder(zipped(folder))
    assert first.path != second.path
    assert second.languages == ("de", "fr")


def test_a_zip_loads_wherever_a_folder_does(folder: Path, cache: Path) -> None:
    wanted = regard.load(folder, fast=None).translate("a few").text
    assert regard.load(zipped(folder), fast=None).translate("a few").text == wanted
    assert regard.load(str(zipped(folder))).translate("a few").text == wanted


def test_a_zip_of_a_damaged_folder_is_refused_and_nothing_of_it_stays(folder: Path, cache: Path) -> None:
    os.truncate(folder / "weights.safetensors", 99)
    size = read_json(folder / "manifest.json")["weights.safetensors"]["bytes"]
    archive = zipped(folder)
    message = f"{archive}: in it, weights.safetensors has 99 bytes instead of {size:,}; copy or download it again"
    assert refused(archive) == message
    assert [path.suffix for path in cache.rglob("*") if path.is_file()] == [".lock"]


def test_a_zip_of_something_else(folder: Path, cache: Path) -> None:
    (folder / "manifest.json").unlink()
    archive = zipped(folder)
    assert refused(archive) == f"{archive}: in it, manifest.json is missing; copy or download it again"


# A folder of each released format


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parents[1] / "golden").glob("format-*")), ids=lambda path: path.name
)
@pytest.mark.parametrize("fast", [None, "float32"])
def test_a_golden_folder_still_translates(
    path: Path, fast: str | None, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    monkeypatch.setattr("regard.interchange.ctranslate2.cache.user_cache_path", lambda name: cache / name)
    translator = regard.load(path, fast=fast)
    found = [each.text for each in translator.translate_all(["the cat eats", "a dog sleeps", "a cat sleeps"])]
    assert found == ["le chat mange", "un chien dort", "un chat dort"]
    assert open_folder(path).languages == ("en", "fr")


# A save that is interrupted


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
def test_a_save_cut_short_is_never_taken_for_a_model(
    folder: Path, monkeypatch: pytest.MonkeyPatch, renames: int
) -> None:
    """Also over an older model: half of each is neither."""
    left = renames
    replace = Path.replace

    def dying(self: Path, target: Path) -> Path:
        nonlocal left
        if not left:
            raise KeyboardInterrupt
        left -= 1
        return replace(self, target)

    other = {name: tensor + 1 for name, tensor in make_model().state_dict().items()}
    monkeypatch.setattr(Path, "replace", dying)
    with pytest.raises(KeyboardInterrupt):
        save_folder(folder, settings=SETTINGS, weights=other, tokenizer=TOKENIZER, languages=(None, None), card="")
    (folder / "run").mkdir()
    (folder / "run" / "plan.json").touch()
    assert "has not finished" in refused(folder)
