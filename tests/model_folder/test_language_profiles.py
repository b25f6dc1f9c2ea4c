"""Language profiles in a model folder: saved = loaded, optional, and refused if they are not what Regard writes."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import regard
from regard.errors import FolderError
from regard.language_id import Identification, LanguageProfile
from regard.model_folder import bundled
from regard.model_folder.folder import HASHED
from regard.model_folder.language_profiles import PROFILES_FILE, read_bundled_profiles, read_profiles, write_profiles
from regard.model_folder.loader import open_folder
from regard.model_folder.writer import save_folder
from regard.storage.json_files import read_json
from regard.storage.manifest import write_manifest

PROFILES = {
    "en": LanguageProfile.of(["Where is the station?", "\u2028 odd \x85 spaces"]),
    "fr": LanguageProfile.of(["Où est la gare ?", "l'été"]),
}


@pytest.fixture
def folder(make_model: Callable[..., Path], tmp_path: Path) -> Path:
    """A folder with the profiles of both languages."""
    opened = open_folder(make_model(1, languages=("en", "fr")))
    save_folder(
        tmp_path / "model",
        settings=opened.settings,
        weights=opened.build().state_dict(),
        tokenizer=opened.tokenizer,
        languages=opened.languages,
        card="",
        language_profiles=PROFILES,
    )
    return tmp_path / "model"


def test_saved_profiles_equal_loaded_ones(folder: Path) -> None:
    assert open_folder(folder).language_profiles == PROFILES
    assert PROFILES_FILE in read_json(folder / "manifest.json")


def test_a_changed_file_is_refused(folder: Path) -> None:
    (folder / PROFILES_FILE).write_text("{}", "utf-8")
    with pytest.raises(FolderError, match=rf"{PROFILES_FILE} has 2 bytes instead of "):
        open_folder(folder)


def test_a_file_that_the_manifest_does_not_list_is_not_read(folder: Path) -> None:
    (folder / PROFILES_FILE).write_text("not JSON", "utf-8")
    write_manifest(folder, HASHED)
    assert open_folder(folder).language_profiles == {}


def test_writing_no_profiles_removes_old_ones(folder: Path) -> None:
    write_profiles(folder, {})
    assert not (folder / PROFILES_FILE).exists()


@pytest.mark.parametrize(
    ("contents", "problem"),
    [
        ("not JSON", "invalid JSON"),
        ("[]", "not a JSON object"),
        ("[" * 100_000, "invalid JSON (nested too deeply)"),
        ('{"de": {"a": 1}}', "'de' is not a language of the model"),
        ('{"en": []}', "the profile of en is [], not an object"),
        ('{"en": {}}', "the profile of en is damaged: it has no n-grams"),
        ('{"en": {"a": -1}}', "the profile of en is damaged: the count of 'a' is -1"),
        ('{"en": {"a": NaN}}', "the profile of en is damaged: the count of 'a' is nan"),
        (json.dumps({"en": {"a" * 2**20: 1}}), "bytes, more than any language profiles of Regard"),
    ],
)
def test_hostile_profiles_are_refused(folder: Path, contents: str, problem: str) -> None:
    (folder / PROFILES_FILE).write_text(contents, "utf-8")
    write_manifest(folder, [*HASHED, PROFILES_FILE])
    with pytest.raises(FolderError) as error:
        open_folder(folder)
    assert str(folder / PROFILES_FILE) in str(error.value)
    assert problem in str(error.value)


def test_both_bundled_models_have_the_same_profiles() -> None:
    first, second = (open_folder(bundled.HERE / name).language_profiles for name in ("en-fr", "fr-en"))
    assert first == second == read_bundled_profiles()
    assert first.keys() == {"en", "fr"}


def test_damaged_bundled_profiles_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundled, "HERE", tmp_path)
    (tmp_path / "en-fr").mkdir()
    write_profiles(tmp_path / "en-fr", PROFILES)
    write_manifest(tmp_path / "en-fr", [PROFILES_FILE])
    assert read_bundled_profiles() == PROFILES == read_profiles(tmp_path / "en-fr", ("en", "fr"))
    (tmp_path / "en-fr" / PROFILES_FILE).write_text("{}", "utf-8")
    with pytest.raises(FolderError, match="has 2 bytes instead of"):
        read_bundled_profiles()


def test_identify_uses_the_profiles_of_the_model(folder: Path) -> None:
    model = regard.load(folder, backend="torch")
    assert model.identify("Where is the station?").language == "en"
    assert model.identify("Où est la gare ?").language == "fr"


def test_a_model_without_profiles_identifies_nothing(make_model: Callable[..., Path]) -> None:
    assert regard.load(make_model(1, languages=("en", "fr")), backend="torch").identify("Where?") == Identification(
        None, 0.0, {}
    )
