"""Write PAIRS training pairs that are divided among the domains as in training, for comparisons of shapes.

    python recipes/pilot.py FOLDER FILE=WEIGHT...     # writes FOLDER/pilot.tsv

FOLDER is what `domain_corpora.py` wrote for a direction. The files are shuffled already, or random by themselves.
"""

import sys
from pathlib import Path
from random import Random

PAIRS = 100_000


def main() -> None:
    folder = Path(sys.argv[1])
    weights = dict([*word.split("="), "1"][:2] for word in sys.argv[2:])
    lines = {name: (folder / name).read_text("utf-8").splitlines(keepends=True) for name in weights}
    shares = {name: float(weights[name]) * len(lines[name]) for name in weights}
    counts = {name: round(PAIRS * share / sum(shares.values())) for name, share in shares.items()}
    random = Random(1)
    chosen = [
        line for name, count in counts.items() for line in random.sample(lines[name], min(count, len(lines[name])))
    ]
    random.shuffle(chosen)
    (folder / "pilot.tsv").write_text("".join(chosen), "utf-8")
    print(", ".join(f"{name} {count:,}" for name, count in counts.items()))


if __name__ == "__main__":
    main()
