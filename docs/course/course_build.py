"""Build the course from its pages: run the programs, insert their outputs, draw the pictures, write the notebooks.

    python docs/course/course_build.py

The `python` blocks of a lesson continue each other, as the cells of its notebook do. The `text` block directly after a
`python` block is its output. Pictures are drawn from the variables of the program (course_pictures.py).
"""

import io
import json
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from course_pictures import PICTURES

COURSE = Path(__file__).parent
_BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
_ANSWER = "<details><summary>Answer</summary>"


def lessons() -> list[Path]:
    """Return the pages of the lessons, in order."""
    return sorted(COURSE.glob("[0-9][0-9]-*.md"))


def run(page: str) -> tuple[str, dict[str, Any]]:
    """Run the programs of a lesson, and return the page with their outputs, and their variables at the end."""
    variables: dict[str, Any] = {"__name__": "lesson"}

    def with_output(block: re.Match[str]) -> str:
        language, program, _ = block.groups()
        if language == "sh":
            return block[0]
        line = page.count("\n", 0, block.start(2))
        with redirect_stdout(io.StringIO()) as output:
            exec(compile("\n" * line + program, "lesson", "exec"), variables)  # errors name the line of the page
        shown = f"```text\n{output.getvalue()}```\n" if output.getvalue() else ""
        return f"```python\n{program}```\n{shown}"

    return _BLOCK.sub(with_output, page), variables


def pictures(lesson: Path, variables: dict[str, Any]) -> dict[Path, str]:
    """Return the path and the content of each picture of a lesson."""
    return {
        lesson.parent / "pictures" / f"{lesson.stem[3:]}-{name}.svg": draw(variables)
        for name, draw in PICTURES[lesson.stem[3:]].items()
    }


def notebook(page: str) -> str:
    """Return the content of the notebook of a lesson: prose as Markdown cells, `python` and `sh` blocks as code."""
    cells: list[dict[str, Any]] = []
    end = 0
    for block in _BLOCK.finditer(page):
        cells += _prose(page[end : block.start()])
        is_answer = page.rfind(_ANSWER, 0, block.start()) > page.rfind("</details>", 0, block.start())
        cells.append(_code(*block.groups(), is_answer))
        end = block.end()
    cells += _prose(page[end:])
    for number, cell in enumerate(cells, start=1):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    content = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def _prose(text: str) -> Iterator[dict[str, Any]]:
    # An answer may consist of several cells, which an HTML element cannot enclose.
    text = text.replace(_ANSWER, "**Answer**").replace("</details>", "").strip("\n")
    if text:
        yield {"cell_type": "markdown", "metadata": {}, "source": _lines(text)}


def _code(language: str, text: str, output: str | None, is_answer: bool) -> dict[str, Any]:
    outputs = [{"name": "stdout", "output_type": "stream", "text": _lines(output)}] if output else []
    # In a notebook, an exclamation mark starts a shell command. JupyterLab folds the program and output of an answer.
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {"jupyter": {"outputs_hidden": True, "source_hidden": True}} if is_answer else {},
        "outputs": outputs,
        "source": _lines(text.rstrip("\n") if language == "python" else f"!{text}".rstrip("\n")),
    }


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    for lesson in lessons():
        page, variables = run(lesson.read_text("utf-8"))
        files = {lesson: page, lesson.with_suffix(".ipynb"): notebook(page), **pictures(lesson, variables)}
        for path, content in files.items():
            path.write_text(content, "utf-8", newline="\n")
        print(f"{lesson.name}: {len(files) - 2} picture(s)")
