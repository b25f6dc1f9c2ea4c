"""Folders of format 1: read as they are, upgraded when something is stored in them, and translating the same."""

import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from regard.api import load
from regard.errors import FolderError
from regard.model_folder.folder import HASHED, AlignmentHead
from regard.model_folder.loader import open_folder
from regard.model_folder.upgrade import upgrade_settings
from regard.model_folder.writer import save_alignment_head
from regard.storage.json_files import read_json, write_hashed_json, write_json
from regard.storage.manifest import write_manifest

GOLDEN = Path(__file__).parents[1] / "golden"
TEXTS = ["the cat eats", "a dog sleeps", "the the dog", "a"]
HEAD = AlignmentHead("decoder.1.cross.2", "read")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A copy of the golden folder of format 1."""
    return Path(shutil.copytree(GOLDEN / "format-1", tmp_path / "old"))


def test_the_settings_of_format_1_are_complete() -> None:
    contents = read_json(GOLDEN / "format-1" / "settings.json")
    assert upgrade_settings(contents, asdict(HEAD)) == {
        "format": 2,
        "kind": "transformer",
        "task": "translation",
        "directions": [["en", "fr"]],
        "source": "text",
        "model": {
            "source_vocab_size": 296,
            "target_vocab_size": 296,
            "width": 8,
            "heads": 2,
            "feedforward": 16,
            "encoder_layers": 1,
            "decoder_layers": 1,
            "norm": "pre",
            "positions": "sinusoid",
            "max_positions": 32,
        },
        "tokenizer": {"source": "tokenizer.model", "target": "tokenizer.model"},
        "decode": {},
        "alignment_head": {"head": "decoder.1.cross.2", "row": "read"},
    }


def test_a_folder_of_format_1_with_an_alignment_head_opens(old: Path) -> None:
    assert open_folder(old).alignment is None
    write_hashed_json(old / "alignment.json", asdict(HEAD))
    assert open_folder(old).alignment == HEAD


def test_an_upgraded_folder_translates_as_before(old: Path) -> None:
    before = open_folder(old)
    (old / "fast").mkdir()
    (old / "fast" / "model.bin").write_text("files of an older CTranslate2 export")
    translations = load(old, backend="torch").translate(TEXTS)
    save_alignment_head(old, HEAD)
    after = open_folder(old)
    assert read_json(old / "settings.json")["format"] == 2
    assert not (old / "fast").exists()
    assert (after.settings, after.languages) == (before.settings, before.languages)
    assert after.weights_sha256 == before.weights_sha256
    assert load(old, backend="torch").translate(TEXTS) == translations


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_positions": 32}, "format 1 has no setting max_positions; restore"),
        ({"longest": 0}, "model.max_positions must be at least 8, got 0"),
        ({"kind": "oracle"}, "unknown kind 'oracle'"),
    ],
)
def test_wrong_settings_of_format_1_are_refused(old: Path, change: dict[str, Any], message: str) -> None:
    contents = read_json(old / "settings.json")
    contents["model"].update(change)
    write_json(old / "settings.json", contents)
    write_manifest(old, HASHED)
    with pytest.raises(FolderError) as caught:
        open_folder(old)
    assert str(caught.value).startswith(f"{old / 'settings.json'}: {message}")


@pytest.mark.parametrize("lost", ["model", "languages"])
def test_an_entry_that_format_1_must_have_is_named(old: Path, lost: str) -> None:
    contents = read_json(old / "settings.json")
    del contents[lost]
    write_json(old / "settings.json", contents)
    write_manifest(old, HASHED)
    with pytest.raises(FolderError, match=f"settings.json: {lost} is missing; restore"):
        open_folder(old)


@pytest.mark.parametrize("content", [b"{}", b"nonsense"])
def test_a_damaged_alignment_file_is_an_error(old: Path, content: bytes) -> None:
    path = old / "alignment.json"
    path.write_bytes(content)
    with pytest.raises(FolderError, match=r"alignment\.json is not readable; remove the file and run `regard measure"):
        open_folder(old)
