"""Every command and program of the tutorials and guides runs, and prints the output that the page shows.

A `text` block directly after a `sh` or `python` block shows lines of its output, in this order; `...` stands for lines
that are left out. Comments before a block change how it runs, as in test_readme.py.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.test_readme import README, ROOT, Step, check, steps, write_data

from regard.model_folder.bundled import HERE

DOCS = ROOT / "docs"
PAGES = [
    *sorted((DOCS / "tutorials").glob("[a-z]*.md")),
    *(DOCS / "how-to" / f"{name}.md" for name in ("aligning", "comparing-models", "figures")),
]
_BLOCK = re.compile(
    r"((?:^<!-- test: .*\n)*^```(sh|python)\n.*?^```\n)(?:\n?```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE
)

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="the commands are written for a POSIX shell")


def blocks(page: Path) -> Iterator[tuple[list[Step], list[str]]]:
    """Yield the steps of each block, with the lines of output that the page shows."""
    for match in _BLOCK.finditer(page.read_text("utf-8")):
        yield whole_block(match[1]), (match[3] or "").splitlines()


def whole_block(block: str) -> list[Step]:
    """Return the steps of a block; a shell block with a here document is one step."""
    found = steps(block)
    if "<< 'END'" in block:
        return [Step(1, "sh", "\n".join(step.text for step in found))]
    return found


def missing(shown: list[str], output: str) -> str | None:
    """Return the first shown line that the output does not have after the line before it."""
    lines = iter(line.rstrip() for line in output.splitlines())
    return next((line for line in shown if line != "..." and line.rstrip() not in lines), None)


@needs_bash
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_prints_what_it_shows(page: Path, tmp_path: Path) -> None:
    if page.parent.name != "tutorials":  # a tutorial makes its own data
        write_data(tmp_path)
        shutil.copytree(HERE / "en-fr", tmp_path / "other-model")
    found = list(blocks(page))
    assert found
    for commands, shown in found:
        output = "".join(check(step, tmp_path, page.name) for step in commands)
        assert missing(shown, output) is None, f"{page.name}: {missing(shown, output)}\nis not in\n{output}"


@needs_bash
def test_the_readme_begins_with_real_output(tmp_path: Path) -> None:
    [session] = re.findall(r"^```console\n.*?^```\n", README.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    commands = steps(session)
    output = "".join(check(step, tmp_path) for step in commands)
    shown = re.sub(r"\$ (.*\\\n)*.*\n", "", session).splitlines()[1:-1]
    assert len(shown) >= 3
    assert missing(shown, output) is None


@needs_bash
def test_the_python_reference_prints_what_it_shows(tmp_path: Path) -> None:
    page = (DOCS / "reference" / "python.md").read_text("utf-8")
    program = "\n".join(step.text for step in steps(page) if step.language == "python")
    shown = "".join(re.findall(r"^```text\n(.*?)^```$", page, re.DOTALL | re.MULTILINE))
    assert missing(shown.splitlines(), check(Step(1, "python", program), tmp_path, "python.md")) is None


def test_a_line_that_is_not_printed_is_missing() -> None:
    assert missing(["b", "...", "d"], "a\nb\nc\nd\n") is None
    assert missing(["d", "b"], "a\nb\nc\nd\n") == "b"
    assert missing(["b", "e"], "a\nb\n") == "e"
