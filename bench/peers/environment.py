"""Where the peers live: each in a virtual environment of its own, made when first needed, outside the checkout.

They are in the user's cache folder (or $REGARD_BENCH_CACHE), with what is converted for them and what they print.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from platformdirs import user_cache_path

CACHE = Path(os.environ.get("REGARD_BENCH_CACHE", user_cache_path("regard-bench")))
ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent

TORCH = "torch==2.13.0"
# What each is made of: the arguments of `pip install`, one call after the other.
PEERS: dict[str, list[list[str]]] = {
    "ctranslate2": [["ctranslate2==4.8.4", "sentencepiece==0.2.2"]],
    "transformers": [[TORCH, "transformers==5.22.2", "sentencepiece==0.2.2", "safetensors"]],
    # It pins torch below 2.3; without that pin it runs with today's. The list is what it imports.
    "opennmt": [
        [TORCH, "sentencepiece==0.2.2", "safetensors", "configargparse", "pyonmttok", "pyyaml", "six", "rapidfuzz"],
        ["pyahocorasick", "sacrebleu", "ctranslate2==4.8.4", "spacy", "fasttext-wheel"],
        ["--no-deps", "OpenNMT-py==3.5.1"],
    ],
    # It wants an older sentencepiece, and forgets to say that it imports importlib_metadata.
    "joeynmt": [[TORCH, "joeynmt==2.3.0", "sentencepiece<0.2", "importlib_metadata"]],
    # It forgets to say that it imports aiohttp.
    "eole": [[TORCH, "eole==0.6.4", "aiohttp"]],
}


def python_of(peer: str) -> str:
    """The interpreter of a peer's environment. Any name that is no peer's is Regard's own, this one."""
    if peer not in PEERS:
        return sys.executable
    folder = CACHE / peer
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    ready = folder / "made_of.json"
    if ready.exists() and json.loads(ready.read_text("utf-8")) == PEERS[peer]:
        return str(python)
    print(f"making {folder}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    for packages in PEERS[peer]:
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
    ready.write_text(json.dumps(PEERS[peer]), "utf-8")
    return str(python)


def variables() -> dict[str, str]:
    """Environment variables for every process: Regard is the one of this checkout."""
    return os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "ignore"}


def start_ups(commands: dict[str, list[str]], rounds: int) -> dict[str, list[float]]:
    """Seconds of processes from their start to their end, taking turns."""
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(1 + rounds):
        for name, command in commands.items():
            began = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True, env=variables())
            if number:  # the first brings the files into memory
                seconds[name].append(round(time.perf_counter() - began, 4))
    return seconds
