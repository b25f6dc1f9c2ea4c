"""How cost grows: learning over the length of texts, preparing over pairs, translating over the output; threads; start.

Needs nothing but Regard: texts are generated, and the model that translates is made by hand (see peers/copier.py).
Every run adds its measurements to bench/results/grow.jsonl, and docs/growth.md and its pictures are written from the
newest of each part. About ten minutes; with ten million pairs, longer, and about 8 GB of temporary files.

    python bench/grow.py
    python bench/grow.py --pairs 10000 100000 1000000 10000000 --rounds 5
    python bench/grow.py --parts            # writes the page only
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from growth import page
from growth.child import ask
from peers.environment import ROOT, start_ups
from peers.results import append, machine
from peers.worker import cores

TOKENS = 8_192  # in a batch: two rows at the greatest length
LENGTHS = [32 << doubling for doubling in range(8)]
PAIRS = [10_000, 30_000, 100_000, 300_000, 1_000_000]
OUTPUTS = [16, 32, 64, 128, 256, 512, 1_000]
ROADS = ["engine", "torch"]
THREAD_LENGTH, THREAD_SENTENCES = 32, 2_000
SENTENCE = "The cat sat on the mat because it was tired."


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--parts", nargs="*", choices=list(PARTS), default=list(PARTS), help="none: the page only")
    options.add_argument("--lengths", nargs="+", type=int, default=LENGTHS, metavar="PIECES")
    options.add_argument("--pairs", nargs="+", type=int, default=PAIRS, metavar="COUNT")
    options.add_argument("--outputs", nargs="+", type=int, default=OUTPUTS, metavar="PIECES")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--results", type=Path, default=ROOT / "bench" / "results" / "grow.jsonl", metavar="FILE")
    options.add_argument("--out", type=Path, default=ROOT / "docs" / "growth.md")
    options.add_argument("--pictures", type=Path, default=ROOT / "docs" / "pictures", metavar="FOLDER")
    asked = options.parse_args()
    if asked.parts:
        print(machine(), flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "model"
        if {"outputs", "threads", "start"} & set(asked.parts):
            ask("model", folder)
        for part in asked.parts:
            append(asked.results, part=part, **PARTS[part](folder, asked))
    page.write(asked.results, asked.out, asked.pictures)
    print(f"wrote {asked.out}")


def lengths(folder: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """Steps of learning, as many pieces in each, in texts of ever greater length."""
    points = []
    for length in asked.lengths:
        (found,) = ask("steps", length, TOKENS, asked.rounds)
        points.append({"length": length} | found)
        print(
            f"length {length:,}: {statistics.median(found['seconds']):.2f} s, {found['peak'] / 1e9:.2f} GB", flush=True
        )
    return {"tokens": TOKENS, "points": points}


def pairs(folder: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """Preparing ever more pairs."""
    points = []
    for count in asked.pairs:
        stages = ask("preparing", count)
        points.append({"pairs": count, "stages": stages})
        for stage in stages:
            print(
                f"{count:,} pairs, {stage['stage']}: {stage['seconds']} s, own {stage['own'] / 1e6:,.0f} MB", flush=True
            )
    return {"points": points}


def outputs(folder: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """Translating texts of ever greater length, one by one, on both roads."""
    points = []
    for road in ROADS:
        for length in asked.outputs:
            (found,) = ask("translating", "alone", folder, road, length, asked.rounds)
            points.append({"road": road} | found)
            print(f"{road}, {found['pieces']:,.0f} pieces: {statistics.median(found['seconds']):.3f} s", flush=True)
    return {"points": points}


def threads(folder: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """Learning and translating with one thread, and with twice as many as long as there are cores."""
    points = []
    for count in [1 << doubling for doubling in range(cores().bit_length())]:
        (learning,) = ask("steps", THREAD_LENGTH, TOKENS, asked.rounds, threads=count)
        (translating,) = ask("translating", "together", folder, THREAD_SENTENCES, asked.rounds, threads=count)
        translating["tokens"] = translating["pieces"]
        points.append({"threads": count, "learning": learning, "translating": translating})
        for name, one in (("learning", learning), ("translating", translating)):
            rate = one["tokens"] / statistics.median(one["seconds"])
            print(f"{count} threads, {name}: {rate:,.0f} target pieces a second", flush=True)
    return {"points": points, "of": {"length": THREAD_LENGTH, "tokens": TOKENS, "sentences": THREAD_SENTENCES}}


def start(folder: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """Processes from their start to their end, taking turns."""
    regard = [sys.executable, "-m", "regard"]
    commands = {
        "nothing": [sys.executable, "-c", "pass"],
        "help": [*regard, "--help"],
        "import regard": [sys.executable, "-c", "import regard"],
        "translate": [*regard, "translate", "--model", str(folder), SENTENCE],
        "import torch": [sys.executable, "-c", "import torch"],
    }
    seconds = start_ups(commands, asked.rounds)
    for name, values in seconds.items():
        print(f"start-up, {name}: {statistics.median(values):.2f} s", flush=True)
    return {"commands": seconds}


PARTS = {"lengths": lengths, "pairs": pairs, "outputs": outputs, "threads": threads, "start": start}

if __name__ == "__main__":
    main()
