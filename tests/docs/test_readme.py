"""Every command and program of README.md and two guides runs, in order, in one folder, on small data.

`sh` blocks hold commands; if some lines start with `$ `, the other lines are output. `python` blocks are complete
programs. A comment directly before a block changes how the test runs it:

    <!-- test: skip (trains for an hour) -->
    <!-- test: append "--steps 20" to "regard train" -->
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [README, *(ROOT / "docs" / "how-to" / f"{name}.md" for name in ("training", "translating"))]

# Installation commands, which must have run before this test does.
SETUP = ("cd ", "git clone ", "python -m venv ", "python3 -m venv ", ". .venv/", "source ")


@dataclass(frozen=True)
class Step:
    """A shell command or a Python program to run."""

    line: int
    language: str
    text: str


def steps(readme: str) -> list[Step]:
    """Return the commands and programs of a page, in order, as changed by the comments."""
    result: list[Step] = []
    directives: list[str] = []
    lines = iter(enumerate(readme.splitlines(), start=1))
    for number, line in lines:
        if line.startswith("<!-- test:"):
            directives.append(line)
        elif line.startswith("```"):
            block = []
            for _, inner in lines:
                if inner.startswith("```"):
                    break
                block.append(inner)
            result += _steps_of_block(number, line[3:].strip(), block, directives)
            directives = []
        elif line.strip():
            assert not directives, f"README.md:{number}: {directives[-1]} must be directly before a block"
    return result


def _steps_of_block(number: int, language: str, block: list[str], directives: list[str]) -> list[Step]:
    append = []
    for directive in directives:
        if re.fullmatch(r"<!-- test: skip \(.+\) -->", directive):
            return []
        if match := re.fullmatch(r'<!-- test: replace "(.+)" by "(.+)" -->', directive):
            assert any(match[1] in line for line in block), f"README.md:{number}: no command has {match[1]!r}"
            block = [line.replace(match[1], match[2]) for line in block]
            continue
        match = re.fullmatch(r'<!-- test: append "(.+)" to "(.+)" -->', directive)
        assert match, f"README.md:{number}: cannot parse {directive}"
        append.append(match.groups())
    if language == "python":
        return [Step(number, language, "\n".join(block))]
    if language not in ("sh", "bash", "console"):
        assert language, f"README.md:{number}: name the language of this block: sh, python, text, ..."
        return []
    result: list[Step] = []
    is_session = any(line.startswith("$ ") for line in block)
    continues = False
    for line_number, line in enumerate(block, start=number + 1):
        if continues:
            result[-1] = Step(result[-1].line, language, result[-1].text[:-1] + line)
        elif is_session and line.startswith("$ "):
            result.append(Step(line_number, language, line[2:]))
        elif not is_session and line.strip() and not line.startswith("#"):
            result.append(Step(line_number, language, line))
        else:
            continue
        continues = line.endswith("\\")
    for words, prefix in append:
        changed = [step for step in result if step.text.startswith(prefix)]
        assert changed, f"README.md:{number}: no command starts with {prefix!r}"
        # After a trailing comment the words would be part of the comment.
        result = [
            Step(step.line, language, f"{step.text.partition(' #')[0]} {words}") if step in changed else step
            for step in result
        ]
    return result


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


def check(step: Step, folder: Path, page: str = "README.md") -> str:
    """Run one step in `folder` and return its output. Only check that `make` targets and extras of `pip` exist."""
    where = f"{page}:{step.line}: {step.text}"
    first_line = step.text.partition("\n")[0]  # a here document may have unpaired quotes
    words = shlex.split(first_line, comments=True) if step.language != "python" else []
    if words[:1] == ["make"]:
        goals = {word for word in words[1:] if "=" not in word}
        assert goals <= make_targets(), f"{where}\nthe Makefile has only {sorted(make_targets())}"
    elif "pip" in words[:3] and "install" in words:
        extras = set(re.findall(r"[\w-]+", "".join(re.findall(r"\[(.+?)\]", step.text))))
        project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        assert extras <= set(project["optional-dependencies"]), f"{where}\nno such extra"
    elif step.language == "python" or not step.text.startswith(SETUP):
        shell = [sys.executable, "-c"] if step.language == "python" else ["bash", "-euo", "pipefail", "-c"]
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            [*shell, step.text],
            cwd=folder,
            env={**os.environ, "PATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, f"{where}\nexit code {done.returncode}\n{done.stdout}"
        return str(done.stdout)
    return ""


def write_data(folder: Path) -> None:
    """Write the files that the README mentions: a few hundred generated English and French sentences."""
    who = [("the cat", "le chat"), ("the dog", "le chien"), ("my sister", "ma sœur"), ("a student", "un étudiant")]
    does = [("sees", "voit"), ("wants", "veut"), ("takes", "prend"), ("paints", "peint"), ("finds", "trouve")]
    what = [("the house", "la maison"), ("an apple", "une pomme"), ("the table", "la table"), ("a book", "un livre")]
    when = [("today", "aujourd’hui"), ("now", "maintenant"), ("every day", "chaque jour"), ("again", "encore")]
    pairs = [
        tuple(f"{' '.join(words).capitalize()}." for words in zip(*parts, strict=True))
        for parts in product(who, does, what, when)
    ]
    test, more, train = pairs[::17], pairs[1::17], [pair for i, pair in enumerate(pairs) if i % 17 > 1]
    columns = {
        "train.en": [en for en, _ in train],
        "train.fr": [fr for _, fr in train],
        "input.txt": [en for en, _ in test],
    }
    columns |= {"test.tsv": [f"{en}\t{fr}" for en, fr in test], "more.tsv": [f"{en}\t{fr}" for en, fr in more]}
    for name, lines in columns.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), "utf-8", newline="\n")


@pytest.mark.skipif(shutil.which("bash") is None, reason="the commands of README.md are written for a POSIX shell")
def test_every_command_and_program_of_the_docs_runs(tmp_path):
    write_data(tmp_path)
    for page in PAGES:
        to_run = steps(page.read_text("utf-8"))
        assert to_run
        for step in to_run:
            check(step, tmp_path, page.name)


@pytest.mark.parametrize(
    "page", [README, ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda page: page.name
)
def test_every_link_of_a_page_resolves(page):
    links = re.findall(r"\]\((?!http|#)([^)#]+)", page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_readme_contains_make_demo_and_make_test():
    commands = {step.text for step in steps(README.read_text("utf-8"))}
    assert {"make demo", "make test"} <= {command.partition(" #")[0].rstrip() for command in commands}


@pytest.mark.slow
def test_the_demo_runs_in_a_fresh_copy(tmp_path):
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git repository: its files are unknown")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tmp_path / name)
    environment = {name: value for name, value in os.environ.items() if name not in ("OMP_NUM_THREADS", "PYTHONPATH")}
    done = subprocess.run(
        ["make", "demo", f"PYTHON={sys.executable}"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stdout


EXAMPLE = """
```sh
# a comment
first --now  # and why
second \\
  --more
```

<!-- test: skip (takes an hour) -->

```sh
never
```

<!-- test: append "--steps 20" to "regard train" -->
```console
$ regard train a b --out m   # quick
step 1
$ regard translate --model m
bonjour
```

```text
not run
```

```python
print("bonjour")
```
"""


def test_steps_reads_commands_directives_and_programs():
    assert [(step.line, step.text) for step in steps(EXAMPLE)] == [
        (4, "first --now  # and why"),
        (5, "second   --more"),
        (17, "regard train a b --out m   --steps 20"),
        (19, "regard translate --model m"),
        (27, 'print("bonjour")'),
    ]


@pytest.mark.parametrize(
    ("readme", "message"),
    [
        ("<!-- test: skip -->\n```sh\nx\n```", "cannot parse"),
        ("<!-- test: skip (why) -->\nprose", "directly before a block"),
        ('<!-- test: append "--x" to "y" -->\n```sh\nz\n```', "no command starts with 'y'"),
        ("```\nx\n```", "name the language of this block"),
    ],
)
def test_steps_refuses_malformed_pages(readme, message):
    with pytest.raises(AssertionError, match=message):
        steps(readme)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("sh", "false"),
        ("sh", "false | cat"),
        ("sh", "make nonsense"),
        ("sh", "pip install 'regard[x]'"),
        ("python", "1/0"),
    ],
)
def test_a_broken_step_fails(language, text, tmp_path):
    with pytest.raises(AssertionError, match=r"README\.md:7"):
        check(Step(7, language, text), tmp_path)
