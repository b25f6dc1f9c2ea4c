"""Where the engine's files of a model are: in its folder, or in the user's cache, made when they are not there yet.

They fit one set of weights, one version of the engine and one compute type; a manifest says which, and is verified
before anything is loaded. A child process makes them, because the engine's writer needs torch and we do not.
"""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import ctranslate2
from filelock import FileLock
from platformdirs import user_cache_path

from regard.errors import FolderError
from regard.files import damage, read_json, sha256

_FORM = "2"  # of what we write; another number makes old files stale


def made_for(model_folder: Path, compute_type: str) -> dict[str, str]:
    """What the files depend on."""
    return {
        "form": _FORM,
        "model": sha256(model_folder / "manifest.json"),
        "engine": ctranslate2.__version__,
        "compute_type": compute_type,
    }


def engine_files(model_folder: Path, compute_type: str) -> Path:
    """The folder of the engine's files for a model, converted now if need be."""
    wanted = made_for(model_folder, compute_type)
    if usable(model_folder / "fast", wanted):
        return model_folder / "fast"
    key = hashlib.sha256(json.dumps(wanted).encode()).hexdigest()[:32]
    cache = user_cache_path("regard") / "fast"
    cache.mkdir(parents=True, exist_ok=True)
    # Of several processes that need the same files, one makes them and the others wait.
    with FileLock(cache / f"{key}.lock"):
        if not usable(cache / key, wanted):
            _check_room(cache, model_folder)
            _convert_in_child(model_folder, cache / key, compute_type)
    return cache / key


def _check_room(cache: Path, model_folder: Path) -> None:
    needed, free = (model_folder / "weights.safetensors").stat().st_size, shutil.disk_usage(cache).free
    if free < needed:
        raise FolderError(
            f"{cache}: no room for the engine's files of {model_folder}: {needed:,} bytes are needed and {free:,} are "
            "free; make room there"
        )


def _convert_in_child(model_folder: Path, out: Path, compute_type: str) -> None:
    """Make the files in a process of its own."""
    command = [sys.executable, "-m", "regard.decoding.convert", str(model_folder), str(out), compute_type]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise FolderError(f"{model_folder}: cannot be made ready for the engine in {out}: {reason[0]}")


def usable(folder: Path, wanted: dict[str, str]) -> bool:
    """Whether a folder holds the engine's files, whole, and for what is wanted."""
    return damage(folder) is None and read_json(folder / "made_for.json") == wanted
