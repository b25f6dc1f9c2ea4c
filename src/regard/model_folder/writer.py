"""Writes a model folder, or adds the alignment head to an existing one."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from regard.data.formats.records import LanguagePair
from regard.model_folder.folder import FORMAT, FORMAT_1_NAMES, HASHED, AlignmentHead
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
    languages: LanguagePair,
    card: str,
) -> None:
    """Write a model folder. Each file is written atomically, and the manifest last."""
    from safetensors.torch import save

    make_folder(path)
    disk_names = {name: disk_name for disk_name, name in FORMAT_1_NAMES.items()}
    contents = {
        "format": FORMAT,
        "languages": list(languages),
        "model": {disk_names.get(name, name): value for name, value in asdict(settings).items()},
        "tokenizer": {"pieces": tokenizer.size},
    }
    (path / "manifest.json").unlink(missing_ok=True)
    write_json(path / "settings.json", contents)
    write_atomically(path / "tokenizer.model", tokenizer.data)
    write_atomically(path / "weights.safetensors", save(weights))
    write_atomically(path / "card.md", card)
    write_manifest(path, HASHED)


def save_alignment_head(path: Path, head: AlignmentHead) -> None:
    """Write the alignment head to its own file in a model folder, so that the hashes of the other files stay valid."""
    write_hashed_json(path / "alignment.json", asdict(head))
