"""Rules of this repository that no other tool checks. (`make lint` checks the direction of imports.)"""

import ast
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from regard.cli import main

SOURCE = Path(__file__).parents[2] / "src"
FILES = sorted(SOURCE.rglob("*.py"))
TREES = {str(path.relative_to(SOURCE)): ast.parse(path.read_text("utf-8")) for path in FILES}
PRINTERS = {
    "regard/console.py",
    "regard/benchmark/load_client.py",  # its own process, which writes to a pipe
    *(file for file in TREES if file.startswith("regard/cli/")),
}

# Each of these can execute code from a file.
UNSAFE_MODULES = {"cloudpickle", "dill", "joblib", "marshal", "pickle", "shelve"}
UNSAFE_CALLS = {
    "__import__", "compile", "eval", "exec", "torch.hub.load", "torch.jit.load", "torch.load", "yaml.full_load",
    "yaml.load", "yaml.unsafe_load",
}  # fmt: skip

HEAVY = {"ctranslate2", "numpy", "pydantic", "sentencepiece", "torch"}


def dotted_names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the names that a file imports or uses, with their lines: `torch.load`, `print`, `sys.stdout`."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((alias.name, node.lineno) for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield module, node.lineno
                yield from ((f"{module}.{alias.name}", node.lineno) for alias in names)
            case ast.Attribute() | ast.Name():
                yield ast.unparse(node), node.lineno
            case ast.keyword(arg="allow_pickle", value=ast.Constant(value=True)):
                yield "pickle", node.value.lineno


def is_unsafe(name: str) -> bool:
    return name in UNSAFE_CALLS or name.split(".")[0] in UNSAFE_MODULES


def test_the_source_files_are_found():
    assert "regard/data/formats/pairs.py" in TREES


def test_no_code_from_a_file_is_executed():
    assert [
        f"{file}:{line}: {name}" for file, tree in TREES.items() for name, line in dotted_names(tree) if is_unsafe(name)
    ] == []


@pytest.mark.parametrize(
    "line",
    [
        "import pickle",
        "from pickle import loads",
        "eval('1')",
        "torch.load('x')",
        "from torch import load",
        "yaml.load(f)",
        "np.load('x', allow_pickle=True)",
    ],
)
def test_unsafe_code_is_detected(line):
    assert any(is_unsafe(name) for name, _ in dotted_names(ast.parse(line)))


@pytest.mark.parametrize("line", ["model.eval()", "re.compile('x')", "regard.load('x')", "safetensors.torch.load(b)"])
def test_safe_code_is_accepted(line):
    assert not any(is_unsafe(name) for name, _ in dotted_names(ast.parse(line)))


def test_only_the_command_line_prints():
    printing = {"print", "sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__"}
    found = [
        f"{file}:{line}: {name}"
        for file, tree in TREES.items()
        if file not in PRINTERS
        for name, line in dotted_names(tree)
        if name in printing
    ]
    assert found == []


def test_every_file_has_a_docstring():
    assert [file for file, tree in TREES.items() if not ast.get_docstring(tree)] == []


def regard_imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the names that a script imports from regard, each after its module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "regard":
            yield from ((node.module, alias.name) for alias in node.names)


def exists(module: str, name: str) -> bool:
    try:
        return hasattr(importlib.import_module(module), name) or bool(importlib.util.find_spec(f"{module}.{name}"))
    except ImportError:
        return False


def test_names_that_scripts_import_exist(repository):
    scripts = [path for folder in ("bench", "recipes") for path in sorted((repository / folder).rglob("*.py"))]
    wanted = {(path.name, *names) for path in scripts for names in regard_imports(ast.parse(path.read_text("utf-8")))}
    assert len(wanted) > 20
    assert [script for script in sorted(wanted) if not exists(*script[1:])] == []


@pytest.mark.parametrize("names", [("regard.settings.sections", "Sizes"), ("regard.training.helper", "help")])
def test_a_missing_name_is_detected(names):
    assert not exists(*names)


def imported_by(code: str) -> set[str]:
    """Return the heavy modules that a new Python process has imported after running `code`."""
    script = f"import sys\n{code}\nsys.stderr.write('loaded: ' + ' '.join(sorted(sys.modules)))"
    process = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return HEAVY & set(process.stderr.rpartition("loaded: ")[2].split())


def test_a_heavy_import_is_detected():
    assert imported_by("import numpy") == {"numpy"}


def test_importing_regard_imports_no_heavy_module():
    assert imported_by("import regard") == set()


def test_measuring_the_speed_of_translation_does_not_import_torch():
    assert "torch" not in imported_by("import regard.benchmark.translation_speed")


def test_the_doctor_imports_no_library_that_may_be_broken():
    assert imported_by("import regard.doctor.diagnosis, regard.cli") == set()


def commands(command: click.Command, *words: str) -> Iterator[list[str]]:
    """Yield the words of a command, and those of all commands below it."""
    yield list(words)
    for name, below in sorted(command.commands.items()) if isinstance(command, click.Group) else ():
        yield from commands(below, *words, name)


@pytest.mark.parametrize("command", list(commands(main)), ids=" ".join)
def test_help_imports_no_heavy_module(command):
    code = f"""
import runpy
sys.argv = {["regard", *command, "--help"]!r}
try:
    runpy.run_module("regard", run_name="__main__", alter_sys=True)
except SystemExit as stop:
    assert not stop.code, stop.code
"""
    assert imported_by(code) == set()


def test_the_settings_page_is_up_to_date(repository):
    from regard.settings.reference import as_markdown

    page = repository / "docs" / "reference" / "settings.md"
    assert page.read_text("utf-8") == as_markdown(), "update it: regard settings > docs/reference/settings.md"
