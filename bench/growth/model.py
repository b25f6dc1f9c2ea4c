"""A small model that copies its source, for texts of any wanted length: python -m growth.model FOLDER."""

import sys
import tempfile
from pathlib import Path

from growth import corpus
from peers import copier

from regard.interchange.ctranslate2.export import ensure_export


def main(out: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        sides = [Path(name) / side for side in ("text.en", "text.fr")]
        for path, texts in zip(sides, zip(*corpus.sentences(), strict=True), strict=True):
            path.write_text("".join(f"{text}\n" for text in texts), "utf-8")
        copier.make("tiny", *sides, out)
    ensure_export(out)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
