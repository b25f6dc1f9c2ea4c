"""How fast Regard learns beside its peers: the same data, shape and size of batches, one machine, one run.

Needs the corpus in ../shared/data/multi30k (or $REGARD_SHARED_DATA). Peers are installed into environments of their own
in the user's cache folder. Every measurement is added to bench/results/train.jsonl, and docs/benchmarks.md is written
from the newest of each size.

    python bench/train.py --sizes tiny base
"""

import argparse
import gzip
import json
import statistics
import tempfile
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

from multi30k import DATA
from peers.driver import working
from peers.environment import CACHE, HERE, ROOT, python_of
from peers.page import page
from peers.pieces import cut
from peers.results import append, machine, plain

from regard.settings.sections import assemble
from regard.settings.sizes import SIZES
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.vocabulary import train_tokenizer

# What is measured: its environment and its script.
SYSTEMS = {
    "regard": ("regard", "train_regard.py"),
    "opennmt": ("opennmt", "train_opennmt.py"),
    "joeynmt": ("joeynmt", "train_joeynmt.py"),
    "eole": ("eole", "train_eole.py"),
    "marian": ("transformers", "train_transformers.py"),
    "torch": ("transformers", "train_torch.py"),
}
STEPS = {"tiny": 20, "small": 8, "base": 3, "big": 2}  # in a round
TOKENS = 4_096
PIECES = 8_000


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument(
        "--sizes", nargs="*", choices=list(STEPS), default=["tiny", "base"], help="none: the page only"
    )
    options.add_argument("--only", nargs="*", choices=list(SYSTEMS), default=list(SYSTEMS), metavar="SYSTEM")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--steps", type=int, help="in a round; else by size")
    options.add_argument("--results", type=Path, default=ROOT / "bench" / "results", metavar="FOLDER")
    options.add_argument("--out", type=Path, default=ROOT / "docs" / "benchmarks.md")
    asked = options.parse_args()
    if not DATA.is_dir():
        print(f"no corpus in {DATA}; nothing measured")
        return
    print(machine(), flush=True)
    for size in asked.sizes:
        measure(size, asked)
    asked.out.write_text(page(asked.results), "utf-8")
    print(f"wrote {asked.out}")


def measure(size: str, asked: argparse.Namespace) -> None:
    """Rounds in which the systems take turns, another one first each time."""
    names, steps = asked.only, asked.steps or STEPS[size]
    systems: dict[str, Any] = {}
    for number in range(asked.rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            environment, script = SYSTEMS[name]
            # One at a time, from its start to its end: together, those of `base` do not fit into memory.
            with tempfile.TemporaryDirectory() as scratch:
                job = job_for(size, Path(scratch))
                dropout = json.loads(job.read_text("utf-8"))["dropout"]
                command = [python_of(environment), str(HERE / script), str(job)]
                with working(command, f"train-{name}") as worker:
                    worker.train(max(2, steps // 2))  # warm up
                    one = worker.train(steps)
                    about = worker.about
            if name not in systems:
                print(f"{size}, {name}: {plain(about)}", flush=True)
            its = systems.setdefault(name, {"rates": [], "memory": 0, "about": about})
            its["rates"].append(round(rate(one), 1))
            its["memory"] = max(its["memory"], one["memory"])
            print(f"  round {number + 1}, {name}: {rate(one):,.0f} target pieces a second", flush=True)
    for name in names[1:]:
        ours, theirs = (statistics.median(systems[one]["rates"]) for one in (names[0], name))
        print(f"  {names[0]} / {name}: {ours / theirs:.2f}", flush=True)
    facts = {"dropout": dropout, "steps": steps, "tokens": TOKENS}
    append(asked.results / "train.jsonl", size=size, systems=systems, **facts)


def rate(one: dict[str, Any]) -> float:
    return one["tokens"] / one["seconds"]


def job_for(size: str, scratch: Path) -> Path:
    """The file that tells a worker what to do; the trainers leave what they write beside it."""
    settings = assemble(SIZES[size])
    data = prepared(settings.tokenizer.kind)
    rows = SentencePieceTokenizer.load(data / "tokenizer.model").embedding_rows
    job = {
        "size": size,
        "shape": asdict(settings.model) | {"vocab_size": rows},
        "dropout": settings.train.dropout,
        "tokens": TOKENS,
        "data": str(data),
        "scratch": str(scratch),
    }
    path = scratch / "job.json"
    path.write_text(json.dumps(job), "utf-8")
    return path


def prepared(kind: str) -> Path:
    """The corpus as text and cut into pieces, made once."""
    folder = CACHE / "data" / f"multi30k-{kind}-{PIECES}-pieces"
    if not (folder / "ready").exists():
        parts = (("train", "train", -1), ("valid", "val", 100), ("test", "test_2016_flickr", 100))
        texts = {
            f"{part}.{side}": gzip.decompress((DATA / f"{name}.{side}.gz").read_bytes()).decode().split("\n")[:most]
            for part, name, most in parts
            for side in ("en", "de")
        }
        cut(folder, texts, train_tokenizer(chain(texts["train.en"], texts["train.de"]), kind=kind, vocab_size=PIECES))
        (folder / "ready").touch()
    return folder


if __name__ == "__main__":
    main()
