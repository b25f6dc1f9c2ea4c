"""Opens a model folder, or a zip archive of one. The hash of every file is checked before the file is read."""

import os
import re
from pathlib import Path
from typing import Any

from filelock import FileLock
from platformdirs import user_cache_path

from regard.data.formats.records import LanguagePair
from regard.errors import FolderError, UserError
from regard.model_folder.bundled import available, resolve
from regard.model_folder.folder import FORMAT, HASHED, TOKENIZER_FILE, UNCALIBRATED, AlignmentHead, ModelFolder
from regard.model_folder.language_profiles import PROFILES_FILE, read_profiles
from regard.model_folder.upgrade import upgrade_settings
from regard.model_folder.verification import HOW_TO_FIX
from regard.settings.decode import DecodeSettings
from regard.settings.kinds import get_kind
from regard.settings.model import ModelSettings
from regard.settings.sections import from_dict
from regard.storage.archives import unpack
from regard.storage.atomic_files import make_folder, new_folder
from regard.storage.json_files import read_hashed_json, read_json
from regard.storage.manifest import find_damage, sha256
from regard.tokenizers.sentencepiece import SentencePieceTokenizer

# The fields of `settings.json`, and their types.
_FIELDS: dict[str, Any] = {
    "kind": str,
    "task": str,
    "directions": list,
    "source": str,
    "model": dict,
    "tokenizer": dict,
    "decode": dict,
    "alignment_head": dict | None,
}

# Fields with a single possible value so far. Other values are for models that this version of Regard cannot run.
_SUPPORTED = {
    "task": "translation",
    "source": "text",
    "tokenizer": {"source": TOKENIZER_FILE, "target": TOKENIZER_FILE},
}

_MIN_TEMPERATURE = 0.1  # of the calibration; the largest one is its reciprocal

_MAX_TOKENIZER_BYTES = 1 << 26  # a larger file is refused; a tokenizer with 37,000 tokens has under 1 MB


def open_folder(path: Path) -> ModelFolder:
    """Verify and open a model folder, a zip archive of one, or a bundled model given by its name."""
    path = resolve(path)
    if path.is_file():
        return open_folder(_unpack_to_cache(path))
    _check_kind(path)
    if problem := find_damage(path):
        raise FolderError(f"{problem}; {HOW_TO_FIX}")
    manifest = read_json(path / "manifest.json")
    for name in HASHED:
        if name not in manifest:
            raise FolderError(f"{path / 'manifest.json'} does not list {name}; {HOW_TO_FIX}")
    if (path / TOKENIZER_FILE).stat().st_size > _MAX_TOKENIZER_BYTES:
        raise FolderError(f"{path / TOKENIZER_FILE} is larger than any tokenizer of Regard; {HOW_TO_FIX}")
    contents = _read_contents(path)
    try:
        settings = _model_settings(contents)
        languages = _languages(contents["directions"])
        decode = _decode_settings(contents["decode"])
        alignment = _alignment_head(contents["alignment_head"], settings)
        temperature = _calibration_temperature(contents.get("calibration_temperature", UNCALIBRATED))
    except UserError as error:
        raise FolderError(f"{path / 'settings.json'}: {error}") from None
    tokenizer = SentencePieceTokenizer.load(path / TOKENIZER_FILE)
    for name in ("source_vocab_size", "target_vocab_size"):
        if tokenizer.embedding_rows != getattr(settings, name):
            raise FolderError(
                f"{path / TOKENIZER_FILE} needs {tokenizer.embedding_rows} embedding rows, but {name} in settings.json "
                f"is {getattr(settings, name)}; use the tokenizer that was saved with the model"
            )
    profiles = read_profiles(path, languages) if PROFILES_FILE in manifest else {}
    return ModelFolder(path, settings, languages, tokenizer, decode, alignment, temperature, profiles)


def _check_kind(path: Path) -> None:
    """Raise a `FolderError` unless the path is a folder that looks like the folder of a trained model."""
    if not path.is_dir():
        raise FolderError(
            f"{path}: no such model folder; check the name and the current folder ({Path.cwd()}); "
            f"`regard train SOURCE TARGET --out {path}` trains one; bundled models: {', '.join(available()) or 'none'}"
        )
    if path.parts[-3:-1] == ("run", "checkpoints"):
        raise FolderError(
            f"{path} is a checkpoint of a run; use the model folder {path.parents[2]}, or repeat the training command "
            "if the run has not finished"
        )
    if (path / "manifest.json").exists():
        return
    if (path / "run" / "plan.json").exists():
        raise FolderError(
            f"{path}: the training of this model has not finished; repeat the `regard train` command to continue"
        )
    hidden = "; it hides the bundled model of the same name: rename it, or change to another folder"
    raise FolderError(
        f"{path}: not a model folder (it has no manifest.json){hidden if str(path) in available() else ''}"
    )


def _read_contents(folder: Path) -> dict[str, Any]:
    """Return the content of `settings.json` in the current format."""
    path = folder / "settings.json"
    try:
        contents = read_json(path)
    except ValueError as error:
        raise FolderError(f"{path}: invalid JSON ({error}); {HOW_TO_FIX}") from None
    if not isinstance(contents, dict):
        raise FolderError(f"{path}: not a JSON object; {HOW_TO_FIX}")
    if contents.get("format") == 1:
        try:
            return upgrade_settings(contents, _read_alignment_file(folder / "alignment.json"))
        except FolderError as error:
            raise FolderError(f"{path}: {error}; {HOW_TO_FIX}") from None
    if contents.get("format") != FORMAT:
        raise FolderError(
            f"{path}: format {contents.get('format')!r:.60}, but this Regard reads the formats 1 to {FORMAT}"
        )
    for name, wanted in _FIELDS.items():
        if name not in contents:
            raise FolderError(f"{path}: {name} is missing; {HOW_TO_FIX}")
        if not isinstance(contents[name], wanted):
            raise FolderError(f"{path}: {name} is {contents[name]!r:.60}; {HOW_TO_FIX}")
    for name, supported in _SUPPORTED.items():
        if contents[name] != supported:
            raise FolderError(f"{path}: {name} is {contents[name]!r:.80}, which needs a newer version of Regard")
    return contents


def _model_settings(contents: dict[str, Any]) -> ModelSettings:
    return from_dict(get_kind(contents["kind"]).settings, {**contents["model"], "kind": contents["kind"]})


def _decode_settings(stored: dict[str, Any]) -> DecodeSettings:
    for name in stored:
        if name in DecodeSettings.per_call:
            raise FolderError(f"decode.{name} is chosen for each call and not stored with a model; {HOW_TO_FIX}")
    return from_dict(DecodeSettings, stored)


def _languages(directions: Any) -> LanguagePair:
    match directions:
        case [[str() | None as source, str() | None as target]]:
            return source, target
    raise FolderError(
        f"directions is {directions!r:.60}, not one pair of languages, each of which may be null; {HOW_TO_FIX}"
    )


def _alignment_head(saved: dict[str, Any] | None, settings: ModelSettings) -> AlignmentHead | None:
    if saved is None:
        return None
    try:
        head = AlignmentHead(**saved)
    except TypeError:
        raise FolderError(f"alignment_head is {saved!r:.80}; {HOW_TO_FIX}") from None
    if head.head not in settings.anatomy().cross_heads or head.row not in ("written", "read"):
        raise FolderError(
            "alignment_head names a head that the model does not have; run `regard measure alignment` again"
        )
    return head


def _calibration_temperature(saved: Any) -> float:
    if isinstance(saved, int | float) and _MIN_TEMPERATURE <= saved <= 1 / _MIN_TEMPERATURE:
        return float(saved)
    raise FolderError(f"calibration_temperature is {saved!r:.60}, not a number from 0.1 to 10; {HOW_TO_FIX}")


def _read_alignment_file(path: Path) -> dict[str, Any] | None:
    """Return the alignment head of a folder of format 1, which has a file of its own."""
    if not path.exists():
        return None
    try:
        return read_hashed_json(path)
    except ValueError as error:
        raise FolderError(f"{error}; remove the file and run `regard measure alignment` again") from None


def _unpack_to_cache(archive: Path) -> Path:
    """Return the folder of an archive in the user's cache, and unpack the archive first if necessary."""
    if archive.suffix.lower() != ".zip":
        raise FolderError(f"{archive} is a file; a model is a folder, or a .zip archive of one")
    # The folder gets the name of the archive, because the name of the folder is also the name of the model.
    name = archive.stem if archive.stem.strip(".") else "model"
    folder = user_cache_path("regard") / "models" / sha256(archive)[:32] / name
    make_folder(folder.parent)
    with FileLock(folder.parent.with_suffix(".lock")):
        if find_damage(folder) is not None:
            with new_folder(folder) as new:
                unpack(archive, new, wanted=_is_model_file)
                if problem := find_damage(new):
                    relative = problem.removeprefix(f"{new}{os.sep}")
                    raise FolderError(f"{archive}: in the archive, {relative}; copy or download it again")
    return folder


def _is_model_file(name: str) -> bool:
    """Return whether a file in an archive belongs to the model. Other files are not unpacked."""
    return (
        name in (*HASHED, PROFILES_FILE, "alignment.json", "card.md", "manifest.json")
        or re.fullmatch(r"ctranslate2/[a-z_]+\.[a-z]+", name) is not None
    )
