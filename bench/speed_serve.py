"""Measure how fast `regard serve` answers, alone and beside LibreTranslate with the same model.

Every measurement is appended to bench/results/speed_serve.jsonl, and docs/explanation/serving-speed.md is written from
the latest result of each part. Takes about five minutes.

    python bench/speed_serve.py
    python bench/speed_serve.py --parts libretranslate --seconds 5 --rounds 1
    python bench/speed_serve.py --parts                                            # only writes the page
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import psutil
from common.corpora import MULTI30K
from common.environments import CACHE, ROOT, SYSTEMS, python_of, variables
from common.results import append, machine
from common.worker_client import converted_model, run
from pages.serving_speed import write_page

from regard.benchmark.load_client import Answers, run_clients
from regard.benchmark.server_process import Processes, ServerProcess
from regard.data.formats.lines import Lines
from regard.model_folder import bundled

CLIENTS = 64
SERVERS = {
    "regard": {},
    # Its defaults: four threads that translate one text after the other.
    "libretranslate": {},
    # One worker of CTranslate2 for each core, which is faster for a small model.
    "libretranslate, tuned": {"ARGOS_INTER_THREADS": str(os.cpu_count()), "ARGOS_INTRA_THREADS": "1"},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--parts", nargs="*", choices=["capacity", "libretranslate"], default=["capacity", "libretranslate"]
    )
    parser.add_argument("--rounds", type=int, default=3, help="of the comparison")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each server in each round")
    parser.add_argument("--file", type=Path, default=MULTI30K / "train.en.gz", help="lines to translate")
    parser.add_argument(
        "--results", type=Path, default=ROOT / "bench" / "results" / "speed_serve.jsonl", metavar="FILE"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "explanation" / "serving-speed.md")
    options = parser.parse_args()
    if options.parts:
        print(machine(), flush=True)
        lines = list(dict.fromkeys(Lines(options.file)))
    if "capacity" in options.parts:
        append(options.results, part="capacity", lines=options.file.name, **capacity(lines))
    if "libretranslate" in options.parts:
        append(options.results, part="libretranslate", lines=options.file.name, **compare(lines, options))
    write_page(options.results, options.out)
    print(f"wrote {options.out}")


def capacity(lines: Sequence[str]) -> dict[str, Any]:
    """Run `regard bench serve`, and return what it prints."""
    command = [sys.executable, "-m", "regard", "bench", "serve", "--json"]
    done = subprocess.run(
        command,
        check=True,
        env=variables(),
        stdout=subprocess.PIPE,
        input="".join(f"{line}\n" for line in lines).encode(),
    )
    print(done.stdout.decode(), flush=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def compare(lines: Sequence[str], options: argparse.Namespace) -> dict[str, Any]:
    """Put the same load on each server in turn, each time with sentences that it has not had."""
    packages = _packages()
    fresh = iter(lines)
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in SERVERS}
    texts: dict[str, dict[str, str]] = {name: {} for name in SERVERS}
    with _running_all(packages) as servers:
        for number in range(options.rounds):
            sentences = list(islice(fresh, 4_000))
            for name, (address, processes) in servers.items():
                before = processes.cpu_seconds()
                answers = run_clients(*address, ("en", "fr"), sentences, clients=CLIENTS, seconds=options.seconds)
                measured = _measured(answers, processes.cpu_seconds() - before)
                rounds[name].append(measured)
                found = zip(sentences, answers.texts, strict=False)
                texts[name] |= {source: text for source, text in found if text is not None}
                print(f"round {number + 1}, {name}: {measured}", flush=True)
        memory = {name: processes.resident_bytes() / 1e6 for name, (_, processes) in servers.items()}
    common = [source for source in texts["regard"] if all(source in each for each in texts.values())]
    result: dict[str, Any] = {"clients": CLIENTS, "rounds": rounds, "resident_mb": memory, "common": len(common)}
    result["equal"] = {name: sum(each[at] == texts["regard"][at] for at in common) for name, each in texts.items()}
    result["characters"] = {name: statistics.mean(len(each[at]) for at in common) for name, each in texts.items()}
    return result


def _measured(answers: Answers, cpu_seconds: float) -> dict[str, float]:
    times = sorted(time for time, text in zip(answers.milliseconds, answers.texts, strict=True) if text is not None)
    return {
        "sentences": len(times),
        "refused": len(answers.texts) - len(times),
        "per_second": round(len(times) / answers.seconds, 1),
        "per_cpu_second": round(len(times) / cpu_seconds, 1),
        "p50": times[len(times) // 2],
        "p95": times[int(0.95 * len(times))],
        "p99": times[int(0.99 * len(times))],
    }


@contextmanager
def _running_all(packages: Path) -> Iterator[dict[str, tuple[tuple[str, int], Processes]]]:
    """Start all servers; those that are not measured are idle."""
    own = ServerProcess.start([])
    started: list[subprocess.Popen[bytes]] = []
    try:
        servers = {"regard": (own.address, own.processes)}
        with tempfile.TemporaryDirectory() as folder:
            for name, environment in list(SERVERS.items())[1:]:
                process, address = _start_libretranslate(packages, Path(folder) / name.replace(", ", "-"), environment)
                started.append(process)
                servers[name] = (address, Processes(psutil.Process(process.pid)))
            for address, _ in servers.values():  # loads the models
                run_clients(*address, ("en", "fr"), ["Hello.", "How are you?"], clients=1, seconds=60)
            yield servers
    finally:
        own.end()
        for process in started:
            process.terminate()
            process.wait()


def _start_libretranslate(
    packages: Path, folder: Path, environment: dict[str, str]
) -> tuple[subprocess.Popen[bytes], tuple[str, int]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address: tuple[str, int] = free.getsockname()
    # It writes into its working directory and its folders.
    settings = _folders(packages) | {"ARGOS_CHUNK_TYPE": "SPACY"} | environment
    folder.mkdir(parents=True)
    log = CACHE / "logs" / f"{folder.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [str(Path(python_of("libretranslate")).parent / "libretranslate"), "--host", address[0]]
    command += ["--port", str(address[1])]
    with log.open("wb") as out:
        process = subprocess.Popen(command, env=os.environ | settings, cwd=folder, stdout=out, stderr=out)
    for _ in range(600):
        try:
            urllib.request.urlopen(f"http://{address[0]}:{address[1]}/health", timeout=5).close()
        except OSError:
            if process.poll() is not None:
                break
            time.sleep(0.2)
        else:
            return process, address
    raise SystemExit(f"error: LibreTranslate did not start; its output is in {log}")


def _folders(packages: Path) -> dict[str, str]:
    root = packages.parent
    return {
        "ARGOS_PACKAGES_DIR": str(packages),
        "XDG_DATA_HOME": str(root / "data"),
        "XDG_CONFIG_HOME": str(root / "config"),
        "XDG_CACHE_HOME": str(root / "cache"),
    }


def _packages() -> Path:
    """Return a folder of packages of the two bundled models; with only one, LibreTranslate downloads others."""
    root = CACHE / "models" / "libretranslate"
    packages = root / "packages"
    arguments = []
    for name in ("en-fr", "fr-en"):
        arguments += [str(converted_model("ctranslate2", bundled.resolve(Path(name)))), *name.split("-")]
    script = SYSTEMS / "libretranslate_packages.py"
    run([python_of("libretranslate"), str(script), str(packages), str(root / "cache"), *arguments])
    return packages


if __name__ == "__main__":
    main()
