"""Writes a model folder, or stores the alignment head or the calibration in an existing one."""

import shutil
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from regard.data.formats.records import LanguagePair
from regard.language_id import LanguageProfile
from regard.model_folder.folder import (
    DEFAULT_DECODE,
    HASHED,
    TOKENIZER_FILE,
    UNCALIBRATED,
    AlignmentHead,
    ModelFolder,
    describe_folder,
)
from regard.model_folder.language_profiles import PROFILES_FILE, write_profiles
from regard.model_folder.loader import open_folder
from regard.settings.decode import DecodeSettings
from regard.settings.model import ModelSettings
from regard.storage.atomic_files import make_folder, write_atomically
from regard.storage.json_files import json_text, write_json
from regard.storage.manifest import replace_file, write_manifest
from regard.tokenizers.sentencepiece import SentencePieceTokenizer

if TYPE_CHECKING:
    from torch import Tensor


def save_folder(
    path: Path,
    *,
    settings: ModelSettings,
    weights: dict[str, "Tensor"],
    tokenizer: SentencePieceTokenizer,
    languages: LanguagePair,
    card: str,
    decode: DecodeSettings = DEFAULT_DECODE,
    language_profiles: Mapping[str, LanguageProfile] = MappingProxyType({}),
) -> None:
    """Write a model folder. Each file is written atomically, and the manifest last."""
    from safetensors.torch import save

    make_folder(path)
    (path / "manifest.json").unlink(missing_ok=True)
    write_json(path / "settings.json", _contents(settings, languages, decode))
    write_atomically(path / TOKENIZER_FILE, tokenizer.data)
    write_atomically(path / "weights.safetensors", save(weights))
    write_atomically(path / "card.md", card)
    write_profiles(path, language_profiles)
    write_manifest(path, [*HASHED, *([PROFILES_FILE] if language_profiles else [])])


def save_alignment_head(path: Path, head: AlignmentHead) -> None:
    """Store the alignment head in the settings of a model folder.

    A folder of an older format is upgraded. What only the older format had is removed: the file with the alignment
    head, and the folder of CTranslate2 files, which is not used any more.
    """
    _replace_settings(replace(open_folder(path), alignment=head))
    (path / "alignment.json").unlink(missing_ok=True)
    shutil.rmtree(path / "fast", ignore_errors=True)


def save_calibration(path: Path, temperature: float) -> None:
    """Store the temperature for reported probabilities in the settings of a model folder of the current format."""
    _replace_settings(replace(open_folder(path), calibration_temperature=temperature))


def _replace_settings(folder: ModelFolder) -> None:
    contents = _contents(
        folder.settings, folder.languages, folder.decode, folder.alignment, folder.calibration_temperature
    )
    replace_file(folder.path, "settings.json", json_text(contents))


def _contents(
    settings: ModelSettings,
    languages: LanguagePair,
    decode: DecodeSettings,
    alignment: AlignmentHead | None = None,
    calibration_temperature: float = UNCALIBRATED,
) -> dict[str, Any]:
    model = asdict(settings)
    return describe_folder(
        kind=model.pop("kind"),
        directions=[list(languages)],
        model=model,
        decode=decode.stored_with_model(),
        alignment_head=asdict(alignment) if alignment else None,
        calibration_temperature=calibration_temperature,
    )
