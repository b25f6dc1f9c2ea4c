"""Measure how cost grows with the length of texts, the number of pairs, the length of outputs and the threads.

Needs nothing but Regard: texts are generated, and the model that translates copies its source (common/copy_model.py).
Every measurement is appended to bench/results/scaling.jsonl, and docs/explanation/growth.md and its plots are written
from the latest result of each part. Takes about ten minutes; ten million pairs take longer, and 8 GB of temporary
files.

    python bench/scaling.py
    python bench/scaling.py --pairs 10000 100000 1000000 10000000 --rounds 5
    python bench/scaling.py --parts            # only writes the page
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from common.child_process import run_workload
from common.environments import ROOT, process_times
from common.results import append, machine
from pages.scaling import BACKENDS, STAGES, write_page
from systems.translation_worker import cores

TOKENS = 8_192  # per batch: two rows at the greatest length
LENGTHS = [32 << doubling for doubling in range(8)]
PAIRS = [10_000, 30_000, 100_000, 300_000, 1_000_000]
OUTPUTS = [16, 32, 64, 128, 256, 512, 1_000]
THREAD_LENGTH, THREAD_SENTENCES = 32, 2_000
SENTENCE = "The cat sat on the mat because it was tired."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--parts",
        nargs="*",
        choices=list(MEASUREMENTS),
        default=list(MEASUREMENTS),
        help="without a part, only write the page",
    )
    parser.add_argument("--lengths", nargs="+", type=int, default=LENGTHS, metavar="TOKENS")
    parser.add_argument("--pairs", nargs="+", type=int, default=PAIRS, metavar="COUNT")
    parser.add_argument("--outputs", nargs="+", type=int, default=OUTPUTS, metavar="TOKENS")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results" / "scaling.jsonl", metavar="FILE")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "explanation" / "growth.md")
    parser.add_argument("--pictures", type=Path, default=ROOT / "docs" / "explanation" / "pictures", metavar="FOLDER")
    options = parser.parse_args()
    if options.parts:
        print(machine(), flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "model"
        if {"outputs", "threads", "start"} & set(options.parts):
            run_workload("common.copy_model", folder)
        for name in options.parts:
            append(options.results, part=name, **MEASUREMENTS[name](folder, options))
    write_page(options.results, options.out, options.pictures)
    print(f"wrote {options.out}")


def lengths(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measure training steps with the same number of tokens on texts of increasing length."""
    points = []
    for length in options.lengths:
        (measured,) = run_workload("workloads.training_steps", length, TOKENS, options.rounds)
        points.append({"length": length} | measured)
        print(
            f"length {length:,}: {statistics.median(measured['seconds']):.2f} s, {measured['peak'] / 1e9:.2f} GB",
            flush=True,
        )
    return {"tokens": TOKENS, "points": points}


def pairs(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measure the preparation of an increasing number of pairs."""
    points = []
    for count in options.pairs:
        stages = run_workload("workloads.preparation", count)
        points.append({"pairs": count, "stages": stages})
        for stage in stages:
            print(
                f"{count:,} pairs, {STAGES[stage['stage']]}: {stage['seconds']} s, own {stage['own'] / 1e6:,.0f} MB",
                flush=True,
            )
    return {"points": points}


def outputs(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measure the translation of single texts of increasing length with both backends."""
    points = []
    for key, backend in BACKENDS.items():
        for length in options.outputs:
            (measured,) = run_workload("workloads.translation", "one", folder, key, length, options.rounds)
            points.append({"road": key} | measured)
            seconds = statistics.median(measured["seconds"])
            print(f"{backend}, {measured['pieces']:,.0f} tokens: {seconds:.3f} s", flush=True)
    return {"points": points}


def threads(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measure training and translation with 1, 2, 4, … threads, up to the number of cores."""
    points = []
    for count in [1 << doubling for doubling in range(cores().bit_length())]:
        (training,) = run_workload("workloads.training_steps", THREAD_LENGTH, TOKENS, options.rounds, threads=count)
        (translation,) = run_workload(
            "workloads.translation", "many", folder, THREAD_SENTENCES, options.rounds, threads=count
        )
        translation["tokens"] = translation["pieces"]
        points.append({"threads": count, "learning": training, "translating": translation})
        for name, result in (("training", training), ("translation", translation)):
            rate = result["tokens"] / statistics.median(result["seconds"])
            print(f"{count} threads, {name}: {rate:,.0f} target tokens per second", flush=True)
    return {"points": points, "of": {"length": THREAD_LENGTH, "tokens": TOKENS, "sentences": THREAD_SENTENCES}}


def start(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Measure processes from start to end."""
    regard = [sys.executable, "-m", "regard"]
    commands = {
        "nothing": [sys.executable, "-c", "pass"],
        "help": [*regard, "--help"],
        "import regard": [sys.executable, "-c", "import regard"],
        "translate": [*regard, "translate", "--model", str(folder), SENTENCE],
        "import torch": [sys.executable, "-c", "import torch"],
    }
    seconds = process_times(commands, options.rounds)
    for name, values in seconds.items():
        print(f"start-up, {name}: {statistics.median(values):.2f} s", flush=True)
    return {"commands": seconds}


MEASUREMENTS = {"lengths": lengths, "pairs": pairs, "outputs": outputs, "threads": threads, "start": start}

if __name__ == "__main__":
    main()
