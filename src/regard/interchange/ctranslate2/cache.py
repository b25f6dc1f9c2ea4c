"""Where the engine's files of a model are: in its folder, or in the user's cache, made when they are not there yet.

They fit one set of weights, one version of the engine and one compute type; a manifest says which, and is verified
before anything is loaded. What came with a folder must also be what we would write, but for the weights' values: the
engine believes whatever it is given. A child process makes them, because the engine's writer needs torch and we do not.
"""

import hashlib
import json
import logging
import shutil
import subprocess
import sys
from pathlib import Path

import ctranslate2
from filelock import FileLock
from platformdirs import user_cache_path

from regard.errors import FolderError
from regard.interchange.ctranslate2.model_bin import matches_export
from regard.model_folder.folder import ModelFolder
from regard.storage.json_files import read_json
from regard.storage.manifest import find_damage, sha256
from regard.tokenizers.sentencepiece import SentencePieceTokenizer

FILES = ["config.json", "made_for.json", "model.bin", "shared_vocabulary.json"]

_CONFIG = {
    "add_source_bos": False,
    "add_source_eos": True,
    "bos_token": "<s>",
    "decoder_start_token": "<s>",
    "eos_token": "</s>",
    "layer_norm_epsilon": None,
    "multi_query_attention": False,
    "unk_token": "<unk>",
}

_log = logging.getLogger(__name__)

_FORM = "3"  # of what we write; another number makes old files stale


def export_key(model_folder: Path, compute_type: str) -> dict[str, str]:
    """What the files depend on."""
    alignment = model_folder / "alignment.json"
    return {
        "form": _FORM,
        "model": sha256(model_folder / "manifest.json"),
        "alignment": sha256(alignment) if alignment.exists() else "",
        "engine": ctranslate2.__version__,
        "compute_type": compute_type,
    }


def cached_export(model: ModelFolder, compute_type: str) -> Path:
    """The folder of the engine's files for a model, converted now if need be."""
    wanted = export_key(model.path, compute_type)
    if usable(model.path / "fast", wanted) and is_ours(model.path / "fast", model):
        return model.path / "fast"
    key = hashlib.sha256(json.dumps(wanted).encode()).hexdigest()[:32]
    cache = user_cache_path("regard") / "fast"
    cache.mkdir(parents=True, exist_ok=True)
    # Of several processes that need the same files, one makes them and the others wait.
    with FileLock(cache / f"{key}.lock"):
        if not usable(cache / key, wanted):
            _check_free_space(cache, model.path)
            _log.info("making %s ready in %s, once: it takes some seconds", model.path.resolve().name, compute_type)
            _export_in_child(model.path, cache / key, compute_type)
    return cache / key


def _check_free_space(cache: Path, model_folder: Path) -> None:
    needed, free = (model_folder / "weights.safetensors").stat().st_size, shutil.disk_usage(cache).free
    if free < needed:
        raise FolderError(
            f"{cache}: no room for the engine's files of {model_folder}: {needed:,} bytes are needed and {free:,} are "
            "free; make room there"
        )


def _export_in_child(model_folder: Path, out: Path, compute_type: str) -> None:
    """Make the files in a process of its own."""
    # -P: the current folder may be a stranger's, with a torch.py in it.
    command = [
        sys.executable,
        "-P",
        "-m",
        "regard.interchange.ctranslate2.export",
        str(model_folder),
        str(out),
        compute_type,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise FolderError(f"{model_folder}: cannot be made ready for the engine in {out}: {reason[0]}")


def usable(folder: Path, wanted: dict[str, str]) -> bool:
    """Whether a folder holds the engine's files, whole, and for what is wanted."""
    try:
        return find_damage(folder, only=FILES) is None and read_json(folder / "made_for.json") == wanted
    except ValueError:
        return False


def is_ours(folder: Path, model: ModelFolder) -> bool:
    """Whether the engine's files are those that we would write for a model, whatever the values of its weights."""
    try:
        config, names = read_json(folder / "config.json"), read_json(folder / "shared_vocabulary.json")
    except ValueError:
        return False
    others = {path.name for path in folder.iterdir()} - {*FILES, "manifest.json"}
    return (
        not others
        and json.dumps(config, sort_keys=True) == json.dumps(_CONFIG, sort_keys=True)  # to Python, 0 is False
        and names == token_names(model.tokenizer)
        and matches_export(folder / "model.bin", model.settings, model.alignment.layer if model.alignment else None)
    )


def token_names(tokenizer: SentencePieceTokenizer) -> list[str]:
    """A name for every row of the embedding, those of no piece included."""
    pieces = tokenizer.tokens(range(tokenizer.size))
    return pieces + [f"<row {row}>" for row in range(tokenizer.size, tokenizer.embedding_rows)]
