"""Run every block of looking-inside.md on a model, and insert its output and pictures.

    python docs/explanation/looking_inside.py [MODEL-FOLDER]

The default model is the bundled one. A `text` block directly after a `sh` or `python` block is its output.
The script works on a copy of the model, because measuring alignment stores the head it finds. It takes samples of text
written by people from ../shared/data (or from $REGARD_SHARED_DATA).
"""

import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

DOCS = Path(__file__).resolve().parent
PAGE = DOCS / "looking-inside.md"
MODEL = "en-fr"  # the name of the copy, as the commands use it
_BUNDLED = DOCS.parents[1] / "src" / "regard" / "model_folder" / "bundled" / MODEL
_DATA = Path(os.environ.get("REGARD_SHARED_DATA", DOCS.parents[2] / "shared" / "data"))
_BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```\n(?:(\n*)```text\n.*?^```\n)?", re.DOTALL | re.MULTILINE)


def blocks(page: str) -> list[tuple[str, str]]:
    """Return the language and the text of each runnable block, in order."""
    return [(match[1], match[2]) for match in _BLOCK.finditer(page)]


def insert_outputs(page: str, run: Callable[[str, str], str]) -> str:
    """Return the page with the output of `run` after each block."""

    def block(match: re.Match[str]) -> str:
        output = "".join(line.rstrip() + "\n" for line in run(match[1], match[2]).splitlines())
        return f"```{match[1]}\n{match[2]}```\n" + (f"```text\n{output}```\n" if output else "")

    return _BLOCK.sub(block, page)


def main(model: Path) -> None:
    """Update the page and its pictures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(model, folder / MODEL, ignore=shutil.ignore_patterns("run"))
        (folder / "pictures").mkdir()
        write_samples(folder)
        page = insert_outputs(PAGE.read_text("utf-8"), lambda language, text: _run(language, text, folder))
        (DOCS / "pictures").mkdir(exist_ok=True)
        for picture in (folder / "pictures").iterdir():
            shutil.copy(picture, DOCS / "pictures" / picture.name)
    PAGE.write_text(page, "utf-8", newline="\n")


def write_samples(folder: Path) -> None:
    """Write two samples of text that the bundled model was not trained on: everyday sentences, and image captions."""
    everyday = _lines("tatoeba/en-fr/test.tsv.gz")
    sides = (_lines(f"multi30k/test_2016_flickr.{language}.gz") for language in ("en", "fr"))
    captions = list(map("\t".join, zip(*sides, strict=True)))
    for name, pairs, every in (("everyday.tsv", everyday, 16), ("captions.tsv", captions, 10)):
        (folder / name).write_text("".join(f"{pair}\n" for pair in pairs[::every]), "utf-8")


def _lines(file: str) -> list[str]:
    return gzip.decompress((_DATA / file).read_bytes()).decode().splitlines()


def _run(language: str, text: str, folder: Path) -> str:
    print(f"$ {text.strip()}", file=sys.stderr)
    shell = [sys.executable, "-c", text] if language == "python" else ["bash", "-euo", "pipefail", "-c", text]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1"}
    pipe = subprocess.PIPE
    return subprocess.run(shell, cwd=folder, env=environment, stdout=pipe, encoding="utf-8", check=True).stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else _BUNDLED)
