"""Runs every block of looking-inside.md on a model, and puts what it prints and draws in its place.

    python docs/looking_inside.py [MODEL-FOLDER]

Without a folder the model is the bundled one. A `text` block right after a `sh` or `python` block is what that prints.
The model is copied first, because measuring alignment stores what it finds.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

DOCS = Path(__file__).parent
PAGE = DOCS / "looking-inside.md"
MODEL = "en-fr"  # what the commands call it
_BUNDLED = DOCS.parent / "src" / "regard" / "bundled" / MODEL
_BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```\n(?:(\n*)```text\n.*?^```\n)?", re.DOTALL | re.MULTILINE)


def blocks(page: str) -> list[tuple[str, str]]:
    """The language and the text of everything that is run, in order."""
    return [(found[1], found[2]) for found in _BLOCK.finditer(page)]


def filled(page: str, run: Callable[[str, str], str]) -> str:
    """The page with what `run` prints for each block after it."""

    def block(found: re.Match[str]) -> str:
        output = run(found[1], found[2])
        shown = "".join(line.rstrip() + "\n" for line in output.splitlines())
        return f"```{found[1]}\n{found[2]}```\n" + (f"```text\n{shown}```\n" if shown else "")

    return _BLOCK.sub(block, page)


def main(model: Path) -> None:
    """Fill the page, and renew the pictures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(model, folder / MODEL, ignore=shutil.ignore_patterns("run"))
        (folder / "pictures").mkdir()
        page = filled(PAGE.read_text("utf-8"), lambda language, text: _run(language, text, folder))
        (DOCS / "pictures").mkdir(exist_ok=True)
        for picture in (folder / "pictures").iterdir():
            shutil.copy(picture, DOCS / "pictures" / picture.name)
    PAGE.write_text(page, "utf-8", newline="\n")


def _run(language: str, text: str, folder: Path) -> str:
    print(f"$ {text.strip()}", file=sys.stderr)
    shell = [sys.executable, "-c", text] if language == "python" else ["bash", "-euo", "pipefail", "-c", text]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1"}
    pipe = subprocess.PIPE
    return subprocess.run(shell, cwd=folder, env=environment, stdout=pipe, encoding="utf-8", check=True).stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else _BUNDLED)
