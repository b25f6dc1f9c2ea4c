"""What the bundled models learn from: Tatoeba's English-French pairs and the built-in language, in both directions.

Pairs in which either side is one of the famous sentences are left out, so that these are always translated unseen.

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
LANGUAGE = {"train": 200_000, "valid": 400}
FLIPS = {"train": 60_000, "valid": 200}  # two sentences each

Sides = tuple[str, str]


def main() -> None:
    folder = Path(sys.argv[1])
    for part in ("train", "val"):
        write(folder, f"tatoeba-{part}.tsv", tatoeba(TATOEBA / f"{part}.tsv.gz"))
    for seed, (split, count) in enumerate(LANGUAGE.items(), start=1):
        made = ((pair.source, pair.target) for pair in pairs(seed, split))
        write(folder, f"language-{split}.tsv", islice(made, count))
    for seed, (split, count) in enumerate(FLIPS.items(), start=3):
        both = chain.from_iterable(islice(minimal_pairs(seed, split), count))
        write(folder, f"flips-{split}.tsv", ((pair.source, pair.target) for pair in both))


def tatoeba(file: Path) -> Iterator[Sides]:
    """The English and French of every line."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            english, french = line.rstrip("\n").split("\t")[:2]
            yield english, french


def write(folder: Path, name: str, found: Iterable[Sides]) -> None:
    """Both directions of what is not famous."""
    everything = list(found)
    kept = [sides for sides in everything if not any(map(is_famous, sides))]
    for direction, step in (("en-fr", 1), ("fr-en", -1)):
        path = folder / direction / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join("\t".join(sides[::step]) + "\n" for sides in kept), "utf-8")
        check(path)
    print(f"{name}: {len(kept):,} pairs, {len(everything) - len(kept)} famous ones left out")


def check(path: Path) -> None:
    """No line of a file may have a famous sentence, on either side."""
    for line in path.read_text("utf-8").split("\n"):
        assert not any(map(is_famous, line.split("\t"))), f"{path}: {line}"


if __name__ == "__main__":
    main()
