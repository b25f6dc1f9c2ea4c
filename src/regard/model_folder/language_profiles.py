"""The file of a model folder with the profiles of its languages. The file is optional: older folders do not have it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.data.formats.records import LanguagePair
from regard.errors import FolderError
from regard.language_id import LanguageProfile
from regard.model_folder import bundled
from regard.model_folder.verification import HOW_TO_FIX
from regard.storage.atomic_files import write_atomically
from regard.storage.json_files import read_json
from regard.storage.manifest import find_damage

PROFILES_FILE = "language_profiles.json"

_MAX_BYTES = 1 << 20  # a larger file is refused; two profiles have about 110 KB


def write_profiles(folder: Path, profiles: Mapping[str, LanguageProfile]) -> None:
    """Write the profiles of the languages of a model folder, or remove the file if there are none."""
    path = folder / PROFILES_FILE
    if not profiles:
        path.unlink(missing_ok=True)
        return
    contents = {language: dict(profile.counts) for language, profile in profiles.items()}
    write_atomically(path, json.dumps(contents, ensure_ascii=False, separators=(",", ":")) + "\n")


def read_profiles(folder: Path, languages: LanguagePair) -> dict[str, LanguageProfile]:
    """Return the profiles in a model folder of these languages. The caller has checked the hash of the file."""
    path = folder / PROFILES_FILE
    if (size := path.stat().st_size) > _MAX_BYTES:
        raise FolderError(f"{path} has {size:,} bytes, more than any language profiles of Regard; {HOW_TO_FIX}")
    try:
        contents = read_json(path)
    except ValueError as error:
        raise FolderError(f"{path}: invalid JSON ({error}); {HOW_TO_FIX}") from None
    if not isinstance(contents, dict):
        raise FolderError(f"{path}: not a JSON object; {HOW_TO_FIX}")
    return {language: _profile(path, language, counts, languages) for language, counts in contents.items()}


def read_bundled_profiles() -> dict[str, LanguageProfile]:
    """Verify and return the language profiles of the bundled models, without opening the models."""
    profiles: dict[str, LanguageProfile] = {}
    for name in bundled.available():
        folder, (source, target) = bundled.HERE / name, name.split("-")
        if profiles.keys() >= {source, target} or PROFILES_FILE not in read_json(folder / "manifest.json"):
            continue
        if problem := find_damage(folder, only=[PROFILES_FILE]):
            raise FolderError(f"{problem}; {HOW_TO_FIX}")
        profiles |= read_profiles(folder, (source, target))
    return profiles


def _profile(path: Path, language: str, counts: Any, languages: LanguagePair) -> LanguageProfile:
    if language not in languages:
        raise FolderError(f"{path}: {language!r:.40} is not a language of the model; {HOW_TO_FIX}")
    if not isinstance(counts, dict):
        raise FolderError(f"{path}: the profile of {language} is {counts!r:.40}, not an object; {HOW_TO_FIX}")
    profile = LanguageProfile(counts)
    if problem := profile.problem():
        raise FolderError(f"{path}: the profile of {language} is damaged: {problem}; {HOW_TO_FIX}")
    return profile
