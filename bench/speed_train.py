"""Compare the training speed of Regard and other systems: same data, shape and batch size, one machine, one run.

Needs the corpus in ../shared/data/multi30k (or $REGARD_SHARED_DATA). Other systems are installed into virtual
environments in the user's cache folder. Every measurement is appended to bench/results/speed_train.jsonl, and
docs/explanation/benchmarks.md is written from the latest result of each size.

    python bench/speed_train.py --sizes tiny base
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

from common.corpora import MULTI30K
from common.environments import CACHE, ROOT, SYSTEMS, python_of
from common.results import append, describe, machine
from common.tokenized_text import write_tokenized
from common.worker_client import running_worker
from pages.benchmarks import page
from systems.trainers import TRAINERS

from regard.settings.kinds.transformer import SIZES
from regard.settings.sections import assemble
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.vocabulary import train_tokenizer

STEPS = {"tiny": 20, "small": 8, "base": 3, "big": 2}  # per round
BATCH_TOKENS = 4_096
VOCAB_SIZE = 8_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--sizes", nargs="*", choices=list(STEPS), default=["tiny", "base"], help="without a size, only write the page"
    )
    parser.add_argument("--only", nargs="*", choices=list(TRAINERS), default=list(TRAINERS), metavar="SYSTEM")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, help="steps per round; the default depends on the size")
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results", metavar="FOLDER")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "explanation" / "benchmarks.md")
    options = parser.parse_args()
    if not MULTI30K.is_dir():
        print(f"there is no corpus in {MULTI30K}; nothing was measured")
        return
    print(machine(), flush=True)
    for size in options.sizes:
        measure(size, options)
    options.out.write_text(page(options.results), "utf-8")
    print(f"wrote {options.out}")


def measure(size: str, options: argparse.Namespace) -> None:
    """Measure in rounds in which the systems take turns, each time starting with another system."""
    names, steps = options.only, options.steps or STEPS[size]
    systems: dict[str, Any] = {}
    for number in range(options.rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            environment, script = TRAINERS[name]
            # One process at a time: all systems together do not fit into memory for `base`.
            with tempfile.TemporaryDirectory() as scratch:
                job = job_for(size, Path(scratch))
                dropout = json.loads(job.read_text("utf-8"))["dropout"]
                command = [python_of(environment), str(SYSTEMS / script), str(job)]
                with running_worker(command, f"train-{name}") as worker:
                    worker.train(max(2, steps // 2))  # warm up
                    measured = worker.train(steps)
                    about = worker.about
            if name not in systems:
                print(f"{size}, {name}: {describe(about)}", flush=True)
            system = systems.setdefault(name, {"rates": [], "memory": 0, "about": about})
            system["rates"].append(round(rate(measured), 1))
            system["memory"] = max(system["memory"], measured["memory"])
            print(f"  round {number + 1}, {name}: {rate(measured):,.0f} target tokens per second", flush=True)
    for name in names[1:]:
        first_rate, other_rate = (statistics.median(systems[system]["rates"]) for system in (names[0], name))
        print(f"  {names[0]} / {name}: {first_rate / other_rate:.2f}", flush=True)
    facts = {"dropout": dropout, "steps": steps, "tokens": BATCH_TOKENS}
    append(options.results / "speed_train.jsonl", size=size, systems=systems, **facts)


def rate(measured: dict[str, Any]) -> float:
    return measured["tokens"] / measured["seconds"]


def job_for(size: str, scratch: Path) -> Path:
    """Write the job file of a worker; the trainers write their output into the same folder."""
    settings = assemble(SIZES[size])
    data = prepared(settings.tokenizer.kind)
    rows = SentencePieceTokenizer.load(data / "tokenizer.model").embedding_rows
    job = {
        "size": size,
        "shape": asdict(settings.model.with_vocab_size(rows)),
        "dropout": settings.train.dropout,
        "tokens": BATCH_TOKENS,
        "data": str(data),
        "scratch": str(scratch),
    }
    path = scratch / "job.json"
    path.write_text(json.dumps(job), "utf-8")
    return path


def prepared(kind: str) -> Path:
    """Return the folder of the corpus, raw and tokenised; create it on first use."""
    folder = CACHE / "data" / f"multi30k-{kind}-{VOCAB_SIZE}-tokens"
    if not (folder / "ready").exists():
        splits = (("train", "train", -1), ("valid", "val", 100), ("test", "test_2016_flickr", 100))
        texts = {
            f"{split}.{side}": gzip.decompress((MULTI30K / f"{name}.{side}.gz").read_bytes()).decode().split("\n")[:end]
            for split, name, end in splits
            for side in ("en", "de")
        }
        both_sides = chain(texts["train.en"], texts["train.de"])
        write_tokenized(folder, texts, train_tokenizer(both_sides, kind=kind, vocab_size=VOCAB_SIZE))
        (folder / "ready").touch()
    return folder


if __name__ == "__main__":
    main()
