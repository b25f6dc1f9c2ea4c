"""Makes a notebook of each lesson beside it: prose stays prose, `python` and `sh` blocks become cells.

    python docs/course/notebooks.py

A `text` block right after a `python` block is what that prints, and so becomes the cell's output.
"""

import json
import re
from pathlib import Path
from typing import Any

COURSE = Path(__file__).parent
_BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)


def lessons() -> list[Path]:
    """The pages that are lessons, in order."""
    return sorted(COURSE.glob("[0-9]-*.md"))


def notebook(page: str) -> str:
    """The notebook of a lesson, as a file has it."""
    cells: list[dict[str, Any]] = []
    end = 0
    for block in _BLOCK.finditer(page):
        cells += _prose(page[end : block.start()])
        language, text, output = block.groups()
        # What a notebook takes for a command begins with an exclamation mark.
        cells.append(_code(text if language == "python" else f"!{text}", output))
        end = block.end()
    cells += _prose(page[end:])
    for number, cell in enumerate(cells, start=1):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    made = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(made, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def _prose(text: str) -> list[dict[str, Any]]:
    text = text.strip("\n")
    return [{"cell_type": "markdown", "metadata": {}, "source": _lines(text)}] if text else []


def _code(text: str, output: str | None) -> dict[str, Any]:
    outputs = [{"name": "stdout", "output_type": "stream", "text": _lines(output)}] if output else []
    source = _lines(text.rstrip("\n"))
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": outputs, "source": source}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    for lesson in lessons():
        lesson.with_suffix(".ipynb").write_text(notebook(lesson.read_text("utf-8")), "utf-8", newline="\n")
