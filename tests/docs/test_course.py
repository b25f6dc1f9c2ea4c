"""Every lesson of docs/course prints the output it shows, its pictures and its notebook are those that it yields.

The `python` blocks of a lesson continue each other, also in the answers of its exercises; `text` blocks are their
output. The arithmetic in the prose is evaluated, too.
"""

import importlib
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from regard.cli import main

COURSE = Path(__file__).parents[2] / "docs" / "course"
sys.path.append(str(COURSE))
course_build = importlib.import_module("course_build")
LESSONS: list[Path] = course_build.lessons()

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="the commands are written for a POSIX shell")

# What the prose says of the bundled model, which another model might not do.
CLAIMS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "07-context": lambda lesson: lesson["cosines"][2][-1] < min(lesson["cosines"][1]),
    "13-measured": lambda lesson: (
        lesson["results"][lesson["other"]] > lesson["results"][None] - 0.1 > lesson["results"][lesson["name"]]
    ),
}

# Arithmetic such as "0.5·0.5 + 0 = 0.25" or "e^1.5 / √2 = 3.169": numbers, signs, brackets and functions.
_EQUATION = re.compile(
    r"(?<![\w.^])((?:-?[\d(√π]|-?\d*π|e\^|-?ln |sin |cos )(?:[\d.()√π^·/+ -]|,(?=\d)|e\^|ln |sin |cos )*?)"
    r" = (-?\d[\d,]*(?:\.\d+)?)(?![\d^·/π]|\.\d| [/+·-] )"
)
_DECIMAL = re.compile(r"(?<![\w.,·])-?\d[\d,]*\.\d{3,}(?![\w])")


def prose(page: str) -> str:
    """Return the text of a page without blocks of code, formulas and code in a sentence, as one line."""
    text = re.sub(r"^```\w+\n.*?^```$|^    .*?$", "", page, flags=re.DOTALL | re.MULTILINE)
    return " ".join(re.sub(r"`[^`]*`", "", text).split())


def equations(page: str) -> Iterator[tuple[str, float, str]]:
    """Yield each calculation in the prose of a page with its value and the number that is stated as its result."""
    for calculation, stated in _EQUATION.findall(prose(page)):
        python = re.sub(r"(√|ln |sin |cos )(\d[\d.]*|\()", r"\1(\2)", calculation).replace("(()", "(")
        python = python if python.count("(") == python.count(")") else python.lstrip("(")  # a bracket of the prose
        for sign, name in (("√", "sqrt"), ("ln ", "log"), ("sin ", "sin"), ("cos ", "cos")):
            python = python.replace(sign, name)
        python = re.sub(r"(\d)(?=π)", r"\1*", python).replace("π", "pi").replace("·", "*").replace("^", "**")
        yield calculation, float(eval(python.replace(",", ""), vars(math).copy())), stated


def is_rounded(value: float, stated: str) -> bool:
    """Whether a number is a value, rounded to as many decimals as the number has."""
    return abs(value - float(stated.replace(",", ""))) <= 0.501 * 0.1 ** len(stated.partition(".")[2])


def check_output(page: str) -> dict[str, Any]:
    """Run a page, compare the output that it shows, and return its variables."""
    printed, variables = course_build.run(page)
    assert page == printed, "run: python docs/course/course_build.py"
    return dict(variables)


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.stem)
def test_a_lesson_yields_its_outputs_pictures_and_notebook(lesson: Path) -> None:
    page = lesson.read_text("utf-8")
    variables = check_output(page)
    assert lesson.with_suffix(".ipynb").read_text("utf-8") == course_build.notebook(page)
    pictures = course_build.pictures(lesson, variables)
    assert pictures
    if lesson.stem in CLAIMS:
        assert CLAIMS[lesson.stem](variables), "the prose does not describe this model"
    for path, content in pictures.items():
        assert path.read_text("utf-8") == content, path.name
        assert f"](pictures/{path.name})" in page


def test_a_wrong_number_in_a_lesson_fails() -> None:
    page = LESSONS[1].read_text("utf-8")
    with pytest.raises(AssertionError, match="course_build"):
        check_output(page.replace("[2.45, 6.65]", "[2.45, 6.66]"))


def test_a_changed_number_changes_the_picture() -> None:
    lesson = LESSONS[1]
    _, variables = course_build.run(lesson.read_text("utf-8").replace("query = [1, 2]", "query = [1, 3]"))
    [(path, content)] = course_build.pictures(lesson, variables).items()
    assert path.read_text("utf-8") != content


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.stem)
def test_the_arithmetic_in_the_prose_is_right(lesson: Path) -> None:
    page = lesson.read_text("utf-8")
    wrong = [found for found in equations(page) if not is_rounded(found[1], found[2])]
    assert wrong == []


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.stem)
def test_numbers_in_the_prose_are_printed_or_calculated(lesson: Path) -> None:
    page = lesson.read_text("utf-8")
    blocks = re.findall(r"^```\w+\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    known = [float(number) for number in re.findall(r"-?\d+\.?\d*", "\n".join(blocks))]
    known += [math.e, *(value for _, value, _ in equations(page))] + [
        float(stated.replace(",", "")) for *_, stated in equations(page)
    ]
    unknown = [
        number
        for number in _DECIMAL.findall(prose(page))
        if not any(is_rounded(sign * value, number) for value in known for sign in (1, -1))
    ]
    assert unknown == []


def test_equations_are_found_and_evaluated() -> None:
    page = "By hand: 0.5·0.5 + 0 = 0.25, then 16.92 / (16.92 + 1 + 1) =\n0.894, √2 = 1.5 and `1 + 1 = 3`."
    found = list(equations(page))
    assert [stated for *_, stated in found] == ["0.25", "0.894", "1.5"]
    assert [is_rounded(value, stated) for _, value, stated in found] == [True, True, False]


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.stem)
def test_a_lesson_has_exercises_with_answers_that_are_computed(lesson: Path) -> None:
    _, _, exercises = lesson.read_text("utf-8").partition("\n## Exercises\n")
    answers = re.findall(r"<details><summary>Answer</summary>\n(.*?)</details>", exercises, re.DOTALL)
    assert len(answers) == len(re.findall(r"^\d\. ", exercises, re.MULTILINE)) >= 3
    assert sum("```python" in answer and "```text" in answer for answer in answers) >= 2


def test_the_course_lists_its_lessons_in_order() -> None:
    listed = re.findall(r"^\d+\. \[.+?\]\((.+?)\)", (COURSE / "README.md").read_text("utf-8"), re.MULTILINE)
    assert listed == [lesson.name for lesson in LESSONS]
    for number, lesson in enumerate(LESSONS, start=1):
        assert lesson.read_text("utf-8").startswith(f"# {number}. ")


def test_lessons_without_a_model_need_only_python() -> None:
    imported = {}
    for lesson in LESSONS:
        sources = "".join(
            "".join(cell["source"]) + "\n"
            for cell in json.loads(lesson.with_suffix(".ipynb").read_text("utf-8"))["cells"]
            if cell["cell_type"] == "code"
        )
        imported[lesson.stem[:2]] = set(re.findall(r"^(?:from|import) (\w+)", sources, re.MULTILINE))
    plain = {number for number, modules in imported.items() if modules <= {"math", "itertools"}}
    assert plain == {"01", "02", "03", "04", "05", "06", "08", "11", "12"}


def test_every_link_and_picture_of_the_course_exists() -> None:
    linked = set()
    for page in COURSE.glob("*.md"):
        for link in re.findall(r"\]\((?!http)([^)#]+)", page.read_text("utf-8")):
            assert (COURSE / link).is_file(), f"{page.name}: {link}"
            linked.add(link)
    assert {link for link in linked if link.startswith("pictures/")} == {
        f"pictures/{path.name}" for path in (COURSE / "pictures").iterdir()
    }


def test_the_commands_of_the_course_parse() -> None:
    pages = "".join(page.read_text("utf-8") for page in COURSE.glob("*.md"))
    commands = re.findall(r"`(regard [^`]+)`", pages)
    assert commands
    for line in commands:
        words = shlex.split(line)[1:]
        command: click.Command = main
        while isinstance(command, click.Group):
            command, words = command.commands[words[0]], words[1:]
        with command.make_context("regard", words, resilient_parsing=line.count(" ") < 3):
            pass


@needs_bash
@pytest.mark.slow
def test_an_lstm_learns_the_alignment_that_the_first_lesson_shows(tmp_path: Path) -> None:
    page = (COURSE.parent / "explanation" / "recurrent.md").read_text("utf-8")
    commands = re.findall(r"^    ((?:regard|cut) .*)$", page, re.MULTILINE)
    assert len(commands) == 5
    output = run_commands(commands, tmp_path)
    attends = re.findall(r"predicting (\S+): (\S+) ", output)
    shown = re.findall(r"^(\S+) +\d\.\d\d of its attention to (\S+)$", LESSONS[0].read_text("utf-8"), re.MULTILINE)
    assert attends[: len(shown)] == shown


def run_commands(commands: list[str], folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    shell = ["bash", "-euo", "pipefail", "-c", "\n".join(commands)]
    done = subprocess.run(shell, cwd=folder, env={**os.environ, "PATH": path}, stdout=subprocess.PIPE, check=True)
    return done.stdout.decode("utf-8")
