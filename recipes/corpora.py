"""Write the training data of the bundled models in both directions: Tatoeba and the synthetic language.

Pairs in which one side is a famous sentence are left out, so that no model has seen these sentences.

    python recipes/corpora.py FOLDER        # writes FOLDER/en-fr/*.tsv and FOLDER/fr-en/*.tsv
"""

import gzip
import os
import sys
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

from regard.data.synthetic import is_famous
from regard.data.synthetic.generator import minimal_pairs, pairs

SHARED = Path(os.environ.get("REGARD_SHARED_DATA", Path(__file__).parents[2] / "shared" / "data"))
TATOEBA = SHARED / "tatoeba" / "en-fr"
SYNTHETIC = {"train": 200_000, "valid": 400}
MINIMAL_PAIRS = {"train": 60_000, "valid": 200}  # of two sentence pairs each

TextPair = tuple[str, str]


def main() -> None:
    folder = Path(sys.argv[1])
    for split in ("train", "val"):
        write(folder, f"tatoeba-{split}.tsv", tatoeba(TATOEBA / f"{split}.tsv.gz"))
    for seed, (split, count) in enumerate(SYNTHETIC.items(), start=1):
        sampled = ((pair.source, pair.target) for pair in pairs(seed, split))
        write(folder, f"language-{split}.tsv", islice(sampled, count))
    for seed, (split, count) in enumerate(MINIMAL_PAIRS.items(), start=3):
        sentences = chain.from_iterable(islice(minimal_pairs(seed, split), count))
        write(folder, f"flips-{split}.tsv", ((pair.source, pair.target) for pair in sentences))


def tatoeba(file: Path) -> Iterator[TextPair]:
    """Yield the English and the French text of every line."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            english, french = line.rstrip("\n").split("\t")[:2]
            yield english, french


def write(folder: Path, name: str, text_pairs: Iterable[TextPair]) -> None:
    """Write both directions of all pairs without a famous sentence."""
    everything = list(text_pairs)
    allowed = [pair for pair in everything if not any(map(is_famous, pair))]
    for direction, step in (("en-fr", 1), ("fr-en", -1)):
        path = folder / direction / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join("\t".join(pair[::step]) + "\n" for pair in allowed), "utf-8")
        check(path)
    print(f"{name}: {len(allowed):,} pairs, {len(everything) - len(allowed)} with a famous sentence left out")


def check(path: Path) -> None:
    """Check that no line of a file has a famous sentence on either side."""
    for line in path.read_text("utf-8").split("\n"):
        assert not any(map(is_famous, line.split("\t"))), f"{path}: {line}"


if __name__ == "__main__":
    main()
