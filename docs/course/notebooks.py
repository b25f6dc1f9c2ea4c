"""Convert each lesson to a notebook: prose becomes Markdown cells, `python` and `sh` blocks become code cells.

    python docs/course/notebooks.py

A `text` block directly after a `python` block is its output, and becomes the output of the cell.
"""

import json
import re
from pathlib import Path
from typing import Any

COURSE = Path(__file__).parent
_BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)


def lessons() -> list[Path]:
    """Return the pages of the lessons, in order."""
    return sorted(COURSE.glob("[0-9]-*.md"))


def notebook(page: str) -> str:
    """Return the content of the notebook file of a lesson."""
    cells: list[dict[str, Any]] = []
    end = 0
    for block in _BLOCK.finditer(page):
        cells += _prose(page[end : block.start()])
        language, text, output = block.groups()
        # In a notebook, an exclamation mark starts a shell command.
        cells.append(_code(text if language == "python" else f"!{text}", output))
        end = block.end()
    cells += _prose(page[end:])
    for number, cell in enumerate(cells, start=1):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    content = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


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
