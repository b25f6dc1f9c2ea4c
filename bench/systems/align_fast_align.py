"""Aligns sentence pairs with fast_align (in SYSTRAN's package), in the environment of that package.

Arguments: a file with sentence pairs ("source ||| target"), and how many of its first lines to align. Prints one line
of links in the Pharaoh format for each.
"""

import sys
import tempfile
from pathlib import Path

import systran_align


def main() -> None:
    path, count = Path(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        forward, backward = f"{folder}/forward", f"{folder}/backward"
        systran_align.generate_alignment_probabilities(
            str(path), forward, backward, favor_diagonal=True, optimize_tension=True, variational_bayes=True
        )
        aligner = systran_align.Aligner(forward, backward)
        for line in path.read_text("utf-8").splitlines()[:count]:
            source, target = (side.split() for side in line.split(" ||| "))
            print(" ".join(f"{one}-{other}" for one, other in aligner.align(source, target)["alignments"]))


if __name__ == "__main__":
    main()
