"""Virtual environments of the other systems, created on first use outside the checkout.

They are in the user's cache folder (or $REGARD_BENCH_CACHE), with converted models and logs.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from platformdirs import user_cache_path

CACHE = Path(os.environ.get("REGARD_BENCH_CACHE", user_cache_path("regard-bench"))).resolve()
ROOT = Path(__file__).parents[2]
SYSTEMS = ROOT / "bench" / "systems"

TORCH = "torch==2.13.0"
# The arguments of each `pip install` call that an environment needs.
ENVIRONMENTS: dict[str, list[list[str]]] = {
    "ctranslate2": [["ctranslate2==4.8.4", "sentencepiece==0.2.2"]],
    "transformers": [[TORCH, "transformers==5.22.2", "sentencepiece==0.2.2", "safetensors"]],
    # OpenNMT-py pins torch below 2.3, but runs with newer versions. The other packages are its imports.
    "opennmt": [
        [TORCH, "sentencepiece==0.2.2", "safetensors", "configargparse", "pyonmttok", "pyyaml", "six", "rapidfuzz"],
        ["pyahocorasick", "sacrebleu", "ctranslate2==4.8.4", "spacy", "fasttext-wheel"],
        ["--no-deps", "OpenNMT-py==3.5.1"],
    ],
    # JoeyNMT needs an older sentencepiece and does not declare importlib_metadata.
    "joeynmt": [[TORCH, "joeynmt==2.3.0", "sentencepiece<0.2", "importlib_metadata"]],
    "fast_align": [["systran-align==3.5.0"]],
    # EOLE does not declare aiohttp.
    "eole": [[TORCH, "eole==0.6.4", "aiohttp"]],
    "libretranslate": [["libretranslate==1.9.6", "ctranslate2==4.8.4", "sentencepiece==0.2.2", "spacy==3.8.18"]],
}


def python_of(environment: str) -> str:
    """Return the interpreter of an environment; for a name without an environment, this interpreter."""
    if environment not in ENVIRONMENTS:
        return sys.executable
    folder = CACHE / environment
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    installed = folder / "made_of.json"
    if installed.exists() and json.loads(installed.read_text("utf-8")) == ENVIRONMENTS[environment]:
        return str(python)
    print(f"creating {folder}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    for packages in ENVIRONMENTS[environment]:
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
    installed.write_text(json.dumps(ENVIRONMENTS[environment]), "utf-8")
    return str(python)


def variables() -> dict[str, str]:
    """Return the environment variables of every child process, which uses the Regard of this checkout."""
    return os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "ignore"}


def process_times(commands: dict[str, list[str]], rounds: int) -> dict[str, list[float]]:
    """Return the seconds that each command takes from start to end, in rounds in which the commands take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(1 + rounds):
        for name, command in commands.items():
            began = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True, env=variables())
            if number:  # the first round only fills the file cache
                seconds[name].append(round(time.perf_counter() - began, 4))
    return seconds
