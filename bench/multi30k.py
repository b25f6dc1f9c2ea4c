"""How good `tiny` gets on Multi30k, English to German, in a given time: the commands anyone would type.

Needs the corpus in ../shared/data/multi30k (or $REGARD_SHARED_DATA). Prints the machine, the commands, their output.
Every look at the test set is kept in bench/results/multi30k.jsonl. The published figures are on the tokenised form, in
lower case, and count its words as they stand.

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

from peers.results import append

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("REGARD_SHARED_DATA", ROOT.parent / "shared" / "data")) / "multi30k"
FORMS = {"raw": ("", "13a"), "tokenised": ("tokenised_lowercased", "none")}  # their folder, and sacreBLEU's tokenizer
RESULTS = ROOT / "bench" / "results" / "multi30k.jsonl"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--budget", default="60m", help="how long to train")
    options.add_argument("--form", default="raw", choices=list(FORMS), help="of the text")
    options.add_argument("--seed", default="1")
    options.add_argument("--out", type=Path, help="where to train; an interrupted run goes on")
    chosen = options.parse_args()
    if not DATA.is_dir():
        print(f"no corpus in {DATA}; nothing measured")
        return
    out = chosen.out or Path(tempfile.mkdtemp()) / "model"
    folder, tokenize = FORMS[chosen.form]
    train, valid, test = (
        [DATA / folder / f"{part}.{side}.gz" for side in ("en", "de")] for part in ("train", "val", "test_2016_flickr")
    )
    print(f"{datetime.date.today()}, {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    regard = [sys.executable, "-m", "regard"]
    asked = ["--size", "tiny", "--budget", chosen.budget, "--set", f"train.seed={chosen.seed}"]
    run([*regard, "train", *train, "--valid", valid[0], "--valid", valid[1], "--out", out, *asked])
    for beams in ("4", "1"):
        score = [*regard, "evaluate", "--model", out, *test, "--tokenize", tokenize, "--json"]
        found = json.loads(run([*score, "--set", f"decode.beam_size={beams}"], read=True))
        scores = {name: found[name] for name in ("bleu", "chrf", "bleu_signature")}
        print(scores, flush=True)
        append(RESULTS, form=chosen.form, seed=chosen.seed, budget=chosen.budget, beams=beams, **scores)


def run(command: list[str | Path], *, read: bool = False) -> str:
    print("$", shlex.join(["regard", *map(str, command[3:])]), flush=True)
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE if read else None, text=True)
    if done.returncode:
        # It has said why, unless it was killed.
        sys.exit(done.returncode if done.returncode > 0 else f"error: killed by signal {-done.returncode}")
    return done.stdout or ""


if __name__ == "__main__":
    main()
