"""Measure the BLEU that `tiny` reaches on Multi30k, English to German, in a given time with the command line.

Needs the corpus in ../shared/data/multi30k (or $REGARD_SHARED_DATA). Prints the machine, the commands and their output.
Every evaluation on the test set is appended to bench/results/multi30k.jsonl. Published results use the tokenised form
in lower case without further tokenisation.

    python bench/multi30k.py --budget 60m --form tokenised --out /tmp/multi30k
"""

import argparse
import datetime
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from common.corpora import MULTI30K
from common.environments import ROOT
from common.results import append

FORMS = {
    "raw": ("", "13a"),
    "tokenised": ("tokenised_lowercased", "none"),
}  # the folder, and the tokenizer of sacreBLEU
RESULTS = ROOT / "bench" / "results" / "multi30k.jsonl"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budget", default="60m", help="training time")
    parser.add_argument("--form", default="raw", choices=list(FORMS), help="of the text")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--out", type=Path, help="model folder; the same folder resumes an interrupted run")
    options = parser.parse_args()
    if not MULTI30K.is_dir():
        print(f"there is no corpus in {MULTI30K}; nothing was measured")
        return
    out = options.out or Path(tempfile.mkdtemp()) / "model"
    folder, tokenize = FORMS[options.form]
    train, valid, test = (
        [MULTI30K / folder / f"{name}.{side}.gz" for side in ("en", "de")]
        for name in ("train", "val", "test_2016_flickr")
    )
    print(f"{datetime.date.today()}, {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    regard = [sys.executable, "-m", "regard"]
    arguments = ["--size", "tiny", "--budget", options.budget, "--set", f"train.seed={options.seed}"]
    run([*regard, "train", *train, "--valid", valid[0], "--valid", valid[1], "--out", out, *arguments])
    for beams in ("4", "1"):
        score = [*regard, "evaluate", "--model", out, *test, "--tokenize", tokenize, "--json"]
        report = json.loads(run([*score, "--set", f"decode.beam_size={beams}"], read=True))
        scores = {name: report[name] for name in ("bleu", "chrf", "bleu_signature")}
        print(scores, flush=True)
        append(RESULTS, form=options.form, seed=options.seed, budget=options.budget, beams=beams, **scores)


def run(command: list[str | Path], *, read: bool = False) -> str:
    print("$", shlex.join(["regard", *map(str, command[3:])]), flush=True)
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE if read else None, text=True)
    if done.returncode:
        # The command has printed its error, unless it was killed.
        sys.exit(done.returncode if done.returncode > 0 else f"error: killed by signal {-done.returncode}")
    return done.stdout or ""


if __name__ == "__main__":
    main()
