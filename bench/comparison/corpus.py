"""The data for both checkouts: excerpts of real corpora, and some unusual texts.

The corpora are in `../shared/data` (or $REGARD_SHARED_DATA): Multi30k is used for training, Tatoeba for everything
else. The excerpts are written to a folder beside the folders of the checkouts, so that both checkouts use the same
relative paths.
"""

import gzip
import os
from dataclasses import dataclass
from pathlib import Path

SHARED_DATA = Path(os.environ.get("REGARD_SHARED_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
TRAINING_PAIRS = 2_000
VALIDATION_PAIRS = 30
TEST_PAIRS = 80
CHECKED_PAIRS = 300

# Lines of a TSV file in which `regard check` finds something to report.
_UNUSUAL_LINES = (
    "This line has no target.\t",
    "\tCette ligne n'a pas de source.",
    "This line has no tab.",
    "OK\tOK",
    "Yes.\tOui, et ensuite une phrase beaucoup plus longue que sa source, qui ne finit pas avant la fin de la ligne.",
    "Good morning.\tДоброе утро.",
    "A bell\x07 rings.\tUne cloche\x07 sonne.",
    "A lost \ufffd character.\tUn caractère \ufffd perdu.",
    "Turned \u202earound.\t\u202eRetourné.",
    "A mark \ufeffinside.\tUne marque \ufeffau milieu.",
    "One line\u2028or two.\tUne ligne\u2028ou deux.",
)


@dataclass(frozen=True)
class Corpus:
    """The folder of the files, and the sentences to translate for each language."""

    folder: Path
    sentences: dict[str, list[str]]

    def path(self, name: str) -> str:
        """Return the path of a file relative to the folder of a checkout, in which its commands run."""
        return f"../{self.folder.name}/{name}"


def write_corpus(folder: Path) -> Corpus:
    """Write all files of the corpus to a new folder."""
    folder.mkdir()
    for side in ("en", "fr"):
        _write(folder / f"train.{side}", _lines(f"multi30k/train.{side}.gz")[:TRAINING_PAIRS])
        _write(folder / f"valid.{side}", _lines(f"multi30k/val.{side}.gz")[:VALIDATION_PAIRS])
    pairs = _lines("tatoeba/en-fr/test.tsv.gz")
    checked = spread(_lines("tatoeba/en-fr/val.tsv.gz"), CHECKED_PAIRS)
    long = " ".join(line.partition("\t")[0] for line in checked)
    _write(folder / "test.tsv", spread(pairs, TEST_PAIRS))
    _write(folder / "checked.tsv", [*checked, checked[0], *_UNUSUAL_LINES, f"{long}\t{long}"])
    _write(folder / "checked-valid.tsv", [*pairs[-50:], *checked[50:55]])
    sentences = [list(dict.fromkeys(line.split("\t")[side] for line in pairs)) for side in (0, 1)]
    return Corpus(folder, dict(zip(("en", "fr"), sentences, strict=True)))


def spread(lines: list[str], count: int) -> list[str]:
    """Return `count` evenly spaced lines. The corpora are sorted by length, so the first lines would all be short."""
    count = min(count, len(lines))
    return [lines[number * len(lines) // count] for number in range(count)]


def _lines(name: str) -> list[str]:
    return gzip.decompress((SHARED_DATA / name).read_bytes()).decode("utf-8").removesuffix("\n").split("\n")


def _write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(line + "\n" for line in lines), "utf-8", newline="\n")
