"""How good `tiny` gets on Multi30k, English to German, in a given time: the two commands anyone would type.

Needs the corpus in ../shared/data/multi30k (or $REGARD_SHARED_DATA). Prints the machine, the commands, their output.

    python bench/multi30k.py --budget 60m --out /tmp/multi30k
"""

import argparse
import datetime
import os
import platform
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("REGARD_SHARED_DATA", ROOT.parent / "shared" / "data")) / "multi30k"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--budget", default="60m", help="how long to train")
    options.add_argument("--seed", default="1")
    options.add_argument("--out", type=Path, help="where to train; an interrupted run goes on")
    chosen = options.parse_args()
    if not DATA.is_dir():
        print(f"no corpus in {DATA}; nothing measured")
        return
    out = chosen.out or Path(tempfile.mkdtemp()) / "model"
    train, valid, test = (
        [DATA / f"{part}.{side}.gz" for side in ("en", "de")] for part in ("train", "val", "test_2016_flickr")
    )
    print(f"{datetime.date.today()}, {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    regard = [sys.executable, "-m", "regard"]
    asked = ["--size", "tiny", "--budget", chosen.budget, "--set", f"train.seed={chosen.seed}"]
    run([*regard, "train", *train, "--valid", valid[0], "--valid", valid[1], "--out", out, *asked])
    run([*regard, "evaluate", "--model", out, *test])
    run([*regard, "evaluate", "--model", out, *test, "--set", "decode.beams=1"])


def run(command: list[str | Path]) -> None:
    print("$", shlex.join(["regard", *map(str, command[3:])]), flush=True)
    subprocess.run(list(map(str, command)), check=True, stderr=subprocess.STDOUT)


if __name__ == "__main__":
    main()
