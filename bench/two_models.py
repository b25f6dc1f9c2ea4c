"""Measure how much longer a sentence takes if two models are loaded in one process and translate in turn.

    python bench/two_models.py [MODEL-FOLDER [MODEL-FOLDER]] [--rounds N] [--checkout FOLDER]

Without folders, the bundled models are measured; with one, it is loaded twice. No environment variable of OpenMP is
set, as in a program that imports Regard. In each round, new processes load the first model alone, the second alone, and
both. A ratio is the median time of a sentence with both models divided by that of the same sentences with one model.

Only the model that is loaded first divides a sentence among several cores. If the models are wide, the ratio of the
second may therefore reach the number of cores that would share a sentence, which is at most four at width 512.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from common.corpora import synthetic_sentences
from common.environments import ROOT

SENTENCES = 30

# A program that translates sentences, each with all models in turn, and prints the median time of each model.
_PROGRAM = """
import json, statistics, sys, time
import regard
names, beams, texts = json.load(sys.stdin)
decode = regard.DecodeSettings(beam_size=beams)
models = [regard.load(name) for name in names]
for model in models:
    model.translate(texts[0], decode)
seconds = [[] for _ in models]
for text in texts:
    for model, times in zip(models, seconds, strict=True):
        began = time.perf_counter()
        model.translate(text, decode)
        times.append(time.perf_counter() - began)
print(json.dumps([statistics.median(times) for times in seconds]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=["en-fr", "fr-en"], metavar="MODEL-FOLDER")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--checkout", type=Path, default=ROOT, help="measure the Regard of this checkout")
    options = parser.parse_args()
    names = (2 * options.models)[:2]
    texts = [source for source, _ in synthetic_sentences()][:SENTENCES]
    for beams in (1, 4):
        ratios = []
        for number in range(options.rounds):
            alone = [times(options.checkout, [name], beams, texts)[0] for name in names]
            both = times(options.checkout, names, beams, texts)
            ratios += [two / one for one, two in zip(alone, both, strict=True)]
            shown = [" and ".join(f"{1000 * each:.1f}" for each in values) for values in (alone, both)]
            print(f"beams {beams}, round {number + 1}: alone {shown[0]} ms, in turn {shown[1]} ms", flush=True)
        print(f"beams {beams}: ratio {statistics.median(ratios):.2f}, from {min(ratios):.2f} to {max(ratios):.2f}")


def times(checkout: Path, names: list[str], beams: int, texts: list[str]) -> list[float]:
    """Return the median time of a sentence with each model, in seconds."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_"))}
    done = subprocess.run(
        [sys.executable, "-P", "-c", _PROGRAM],
        env=kept | {"PYTHONPATH": str(checkout.resolve() / "src")},
        input=json.dumps([names, beams, texts]),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: list[float] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    main()
