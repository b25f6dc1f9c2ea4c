"""Writes a model folder, and the alignment head of one that exists."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from regard.model_folder.folder import FORMAT, FORMAT_1_NAMES, HASHED, AlignmentHead, Languages
from regard.settings.kinds.transformer import TransformerSettings
from regard.storage.atomic_files import make_folder, write_atomically
from regard.storage.json_files import write_hashed_json, write_json
from regard.storage.manifest import write_manifest
from regard.tokenizers.sentencepiece import SentencePieceTokenizer

if TYPE_CHECKING:
    from torch import Tensor


def save_folder(
    path: Path,
    *,
    settings: TransformerSettings,
    weights: dict[str, "Tensor"],
    tokenizer: SentencePieceTokenizer,
    languages: Languages,
    card: str,
) -> None:
    """Write a model folder, each file whole or not at all, the manifest last."""
    from safetensors.torch import save

    make_folder(path)
    old_names = {new: old for old, new in FORMAT_1_NAMES.items()}
    facts = {
        "format": FORMAT,
        "languages": list(languages),
        "model": {old_names.get(name, name): value for name, value in asdict(settings).items()},
        "tokenizer": {"pieces": tokenizer.size},
    }
    (path / "manifest.json").unlink(missing_ok=True)
    write_json(path / "settings.json", facts)
    write_atomically(path / "tokenizer.model", tokenizer.data)
    write_atomically(path / "weights.safetensors", save(weights))
    write_atomically(path / "card.md", card)
    write_manifest(path, HASHED)


def save_alignment_head(path: Path, chosen: AlignmentHead) -> None:
    """Write into a whole folder which head aligns; a file of its own, so that the others stay as they are hashed."""
    write_hashed_json(path / "alignment.json", asdict(chosen))
