"""How well does the best head of a model align words, beside fast_align and simpler baselines?

All are measured on the same held-out pairs of the synthetic language, whose alignment is known. fast_align and IBM
model 1 learn from the pairs and from further ones, as many as `--pairs`; the model has seen far more in training.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from common.environments import SYSTEMS, python_of

import regard
from regard.interpret.annotated_pairs import synthetic_sample
from regard.interpret.measure import alignment_baselines
from regard.interpret.measure.alignment_heads import choose_head, error_estimate
from regard.interpret.report.alignment_report import alignment_lines
from regard.progress import run_to_end

COUNT = 500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", default="en-fr")
    parser.add_argument("--pairs", type=int, default=alignment_baselines.TRAINING_PAIRS)
    arguments = parser.parse_args()
    alignment_baselines.TRAINING_PAIRS = arguments.pairs
    model = regard.load(arguments.model, backend="torch")
    sample = synthetic_sample(model.tokenizer, COUNT)
    print("\n".join(alignment_lines(run_to_end(choose_head(model.network, sample)))))
    words = [alignment_baselines.words_of(pair) for pair in sample.pairs]
    lines = [" ||| ".join(map(" ".join, pair)) for pair in [*words, *alignment_baselines.training_words(sample)]]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs"
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        command = [python_of("fast_align"), SYSTEMS / "align_fast_align.py", path, str(COUNT)]
        printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=sys.stderr, text=True).stdout
    links = [
        tuple((int(source), int(target)) for source, target in (link.split("-") for link in line.split()))
        for line in printed.splitlines()
    ]
    gold = [pair.annotations.alignment for pair in sample.pairs if pair.annotations]
    print(f"  fast_align: {error_estimate(links[1::2], gold[1::2]):.3f}")


if __name__ == "__main__":
    main()
