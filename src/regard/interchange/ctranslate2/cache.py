"""The exported CTranslate2 files of a model, which are in its folder or in the user's cache.

If they are in neither, they are exported to the cache. An export is valid for one set of parameters, one version of
CTranslate2 and one compute type. These are recorded in `made_for.json`, which is verified before anything is loaded. An
export in a model folder may come from someone else, and CTranslate2 does not check its input. So such an export must
also equal what Regard would write, except for the values of the parameters. The export runs in a child process, because
CTranslate2's converter needs torch and translation does not.
"""

import hashlib
import json
import logging
import math
import shutil
import subprocess
import sys
from pathlib import Path

import ctranslate2
from filelock import FileLock
from platformdirs import user_cache_path
from safetensors import safe_open

from regard.errors import FolderError
from regard.interchange.ctranslate2.model_bin import matches_export
from regard.model_folder.folder import AlignmentHead, ModelFolder
from regard.settings.anatomy import locate_head
from regard.storage.json_files import read_json
from regard.storage.manifest import find_damage, sha256
from regard.tokenizers.sentencepiece import SentencePieceTokenizer

FOLDER = "ctranslate2"  # in a model folder, and in the user's cache

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

_BYTES = {"float32": 4, "int16": 2, "bfloat16": 2, "int8": 1}  # per parameter, by compute type

_log = logging.getLogger(__name__)

_FORMAT = "5"  # version of the exported files; files of another version are not used


def export_key(folder: Path, compute_type: str, alignment: AlignmentHead | None) -> dict[str, str]:
    """Return everything that the exported files depend on: hashes, versions, compute type and alignment head."""
    return {
        "format": _FORMAT,
        "model": sha256(folder / "manifest.json"),
        "alignment": alignment.head if alignment else "",
        "engine": ctranslate2.__version__,
        "compute_type": compute_type,
    }


def cached_export(model: ModelFolder, compute_type: str) -> Path:
    """Return the folder of the CTranslate2 files of a model, and export them first if necessary."""
    key = export_key(model.path, compute_type, model.alignment)
    own = model.path / FOLDER
    if is_intact_export(own, key) and is_trusted_export(own, model):
        return own
    name = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:32]
    cache = user_cache_path("regard") / FOLDER
    cache.mkdir(parents=True, exist_ok=True)
    # If several processes need the same files, one exports them and the others wait.
    with FileLock(cache / f"{name}.lock"):
        if not is_intact_export(cache / name, key):
            _check_free_space(cache, model.path, compute_type)
            _log.info("exporting %s to CTranslate2 in %s; this happens once", model.path.resolve().name, compute_type)
            _export_in_child(model.path, cache / name, compute_type)
    return cache / name


def _check_free_space(cache: Path, model_folder: Path, compute_type: str) -> None:
    # The stored parameters may have another number format, such as float16, so their number counts, not their size.
    needed = _BYTES[compute_type] * _count_parameters(model_folder / "weights.safetensors")
    free = shutil.disk_usage(cache).free
    if free < needed:
        raise FolderError(
            f"{cache}: not enough disk space for the CTranslate2 files of {model_folder}: {needed:,} bytes are needed, "
            f"{free:,} are free; free some space there"
        )


def _count_parameters(path: Path) -> int:
    with safe_open(path, "numpy") as file:
        return sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118 (not a dictionary)


def _export_in_child(model_folder: Path, out: Path, compute_type: str) -> None:
    """Run the export in a child process."""
    # With -P, Python imports nothing from the current folder, which may be untrusted and contain a torch.py.
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
        raise FolderError(f"{model_folder}: cannot be exported to CTranslate2 in {out}: {reason[0]}")


def is_intact_export(folder: Path, key: dict[str, str]) -> bool:
    """Return whether a folder contains undamaged exported files that were made for this key (see `export_key`)."""
    try:
        return find_damage(folder, only=FILES) is None and read_json(folder / "made_for.json") == key
    except ValueError:
        return False


def is_trusted_export(folder: Path, model: ModelFolder) -> bool:
    """Return whether exported files equal what Regard would write for a model, except for the parameter values."""
    try:
        config, names = read_json(folder / "config.json"), read_json(folder / "shared_vocabulary.json")
    except ValueError:
        return False
    others = {path.name for path in folder.iterdir()} - {*FILES, "manifest.json"}
    return (
        not others
        and json.dumps(config, sort_keys=True)
        == json.dumps(_CONFIG, sort_keys=True)  # compared as text, because 0 == False in Python
        and names == token_names(model.tokenizer)
        and matches_export(folder / "model.bin", model.settings, _alignment_layer(model))
    )


def _alignment_layer(model: ModelFolder) -> int | None:
    """Return the number of the layer of the alignment head, counted from 1."""
    if model.alignment is None:
        return None
    attention = model.settings.anatomy().attention(locate_head(model.alignment.head)[0])
    assert attention is not None  # the loader has checked it
    return attention.layer


def token_names(tokenizer: SentencePieceTokenizer) -> list[str]:
    """Return a name for every row of the embedding matrix, including the unused rows at its end."""
    tokens = tokenizer.tokens(range(tokenizer.size))
    return tokens + [f"<row {row}>" for row in range(tokenizer.size, tokenizer.embedding_rows)]
