"""A small model that copies its source, for texts of any wanted length: python -m growth.model FOLDER."""

import sys
import tempfile
from pathlib import Path

from growth import corpus
from peers import copier

from regard.decoding.convert import make_fast


def main(out: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        sides = [Path(name) / side for side in ("text.en", "text.fr")]
        for path, texts in zip(sides, zip(*corpus.sentences(), strict=True), strict=True):
            path.write_text("".join(f"{text}\n" for text in texts), "utf-8")
        copier.make("tiny", *sides, out)
    make_fast(out)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
