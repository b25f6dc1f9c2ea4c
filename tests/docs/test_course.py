"""Every lesson of docs/course runs and prints the output it shows, and its notebook is generated from it.

The `python` blocks of a lesson continue each other, as the cells of its notebook do; `text` blocks are their output.
After the heading "Question" there is one command, with its output if that depends on no model.
"""

import json
import re
import runpy
import shutil
from pathlib import Path

import pytest
from tests.docs.test_readme import Step, check, steps

COURSE = Path(__file__).parents[2] / "docs" / "course"
LESSONS = sorted(COURSE.glob("[0-9]-*.md"))
NOTEBOOKS = runpy.run_path(str(COURSE / "notebooks.py"))
FIRST_WITH_MODEL = 4  # the first lesson that needs a model

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="the commands are written for a POSIX shell")


def body_and_question(lesson: Path) -> tuple[str, str]:
    """Return the text before the question, and the question."""
    body, _, question = lesson.read_text("utf-8").partition("\n## Question\n")
    return body, question


def program(page: str) -> str:
    return "\n\n".join(step.text for step in steps(page) if step.language == "python")


def shown_output(page: str) -> str:
    """Return the output that a page shows."""
    return "".join(re.findall(r"^```text\n(.*?)^```$", page, re.DOTALL | re.MULTILINE))


def lesson_number(lesson: Path) -> int:
    return int(lesson.name[0])


def run(lesson: Path, folder: Path) -> None:
    body, question = body_and_question(lesson)
    assert check(Step(1, "python", program(body)), folder, lesson.name) == shown_output(body)
    (command,) = steps(question)
    answer = check(command, folder, lesson.name)
    if lesson_number(lesson) < FIRST_WITH_MODEL:
        assert answer == shown_output(question)
    else:
        assert answer and not shown_output(question)


def test_the_course_lists_its_six_lessons():
    assert [lesson_number(lesson) for lesson in LESSONS] == [1, 2, 3, 4, 5, 6]
    listed = re.findall(r"^\d\. \[.+?\]\((.+?)\)", (COURSE / "README.md").read_text("utf-8"), re.MULTILINE)
    assert listed == [lesson.name for lesson in LESSONS]


@needs_bash
@pytest.mark.parametrize("lesson", LESSONS[: FIRST_WITH_MODEL - 1], ids=lambda lesson: lesson.stem)
def test_a_lesson_in_plain_python_prints_what_it_shows(lesson, tmp_path):
    assert "regard" not in program(body_and_question(lesson)[0])
    run(lesson, tmp_path)


@needs_bash
@pytest.mark.parametrize("lesson", LESSONS[FIRST_WITH_MODEL - 1 :], ids=lambda lesson: lesson.stem)
def test_a_lesson_with_the_bundled_model_prints_what_it_shows(lesson, tmp_path):
    run(lesson, tmp_path)


def test_a_wrong_number_in_a_lesson_fails(tmp_path):
    lesson = tmp_path / LESSONS[0].name
    lesson.write_text(LESSONS[0].read_text("utf-8").replace("[2.45, 6.65]", "[2.45, 6.66]"), "utf-8")
    with pytest.raises(AssertionError, match=r"6\.66"):
        run(lesson, tmp_path)


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.stem)
def test_the_notebook_is_generated_from_the_lesson(lesson):
    text = lesson.with_suffix(".ipynb").read_text("utf-8")
    assert text == NOTEBOOKS["notebook"](lesson.read_text("utf-8")), "run: python docs/course/notebooks.py"
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    sources = ["".join(cell["source"]) for cell in cells]
    blocks = steps(lesson.read_text("utf-8"))
    assert sources == [step.text if step.language == "python" else f"!{step.text}" for step in blocks]
    outputs = "".join(line for cell in cells for output in cell["outputs"] for line in output["text"])
    assert outputs == shown_output(body_and_question(lesson)[0])


def test_every_link_of_the_course_resolves():
    for page in COURSE.glob("*.md"):
        for link in re.findall(r"\]\((?!http)(.+?)\)", page.read_text("utf-8")):
            assert (COURSE / link).is_file(), f"{page.name}: {link}"
