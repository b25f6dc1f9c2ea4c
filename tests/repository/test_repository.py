"""Rules of the house that no other tool checks. (`make lint` checks the direction of imports.)"""

import ast
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
FILES = sorted(SOURCE.rglob("*.py"))
TREES = {str(path.relative_to(SOURCE)): ast.parse(path.read_text("utf-8")) for path in FILES}
PRINTERS = {"regard/console.py", *(file for file in TREES if file.startswith("regard/cli/"))}

# Each of these can run what a file says.
UNSAFE_MODULES = {"cloudpickle", "dill", "joblib", "marshal", "pickle", "shelve"}
UNSAFE_CALLS = {
    "__import__", "compile", "eval", "exec", "torch.hub.load", "torch.jit.load", "torch.load", "yaml.full_load",
    "yaml.load", "yaml.unsafe_load",
}  # fmt: skip

HEAVY = {"ctranslate2", "numpy", "pydantic", "sentencepiece", "torch"}


def each(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """The dotted names a file imports, calls or mentions, with their lines: `torch.load`, `print`, `sys.stdout`."""
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


def unsafe(name: str) -> bool:
    return name in UNSAFE_CALLS or name.split(".")[0] in UNSAFE_MODULES


def test_there_is_something_to_check():
    assert "regard/data/formats/pairs.py" in TREES


def test_nothing_read_from_a_file_is_ever_run():
    assert [f"{file}:{line}: {name}" for file, tree in TREES.items() for name, line in each(tree) if unsafe(name)] == []


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
def test_the_gate_notices(line):
    assert any(unsafe(name) for name, _ in each(ast.parse(line)))


@pytest.mark.parametrize("line", ["model.eval()", "re.compile('x')", "regard.load('x')", "safetensors.torch.load(b)"])
def test_the_gate_lets_pass(line):
    assert not any(unsafe(name) for name, _ in each(ast.parse(line)))


def test_only_the_command_line_prints():
    printing = {"print", "sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__"}
    found = [
        f"{file}:{line}: {name}"
        for file, tree in TREES.items()
        if file not in PRINTERS
        for name, line in each(tree)
        if name in printing
    ]
    assert found == []


def test_every_file_says_what_it_is_for():
    assert [file for file, tree in TREES.items() if not ast.get_docstring(tree)] == []


def names_of_regard(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Modules of regard that a script imports from, each with the name it wants."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "regard":
            yield from ((node.module, alias.name) for alias in node.names)


def there_is(module: str, name: str) -> bool:
    try:
        return hasattr(importlib.import_module(module), name) or bool(importlib.util.find_spec(f"{module}.{name}"))
    except ImportError:
        return False


def test_the_scripts_beside_the_package_import_what_is_there(repository):
    scripts = [path for folder in ("bench", "recipes") for path in sorted((repository / folder).rglob("*.py"))]
    wanted = {(path.name, *names) for path in scripts for names in names_of_regard(ast.parse(path.read_text("utf-8")))}
    assert len(wanted) > 20
    assert [one for one in sorted(wanted) if not there_is(*one[1:])] == []


@pytest.mark.parametrize("names", [("regard.settings.sections", "Sizes"), ("regard.training.helper", "help")])
def test_a_script_that_imports_what_is_gone_would_be_seen(names):
    assert not there_is(*names)


def imported_by(code: str) -> set[str]:
    """The heavy modules that a fresh Python holds after running `code`."""
    script = f"import sys\n{code}\nsys.stderr.write('loaded: ' + ' '.join(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return HEAVY & set(done.stderr.rpartition("loaded: ")[2].split())


def test_a_heavy_import_would_be_seen():
    assert imported_by("import numpy") == {"numpy"}


def test_importing_regard_is_light():
    assert imported_by("import regard") == set()


def test_the_doctor_needs_nothing_that_may_be_broken():
    assert imported_by("import regard.doctor.diagnosis, regard.cli") == set()


COMMANDS = ["train", "translate", "evaluate", "check", "look", "measure", "demo", "doctor", "settings"]


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)], ids=" ".join)
def test_help_is_light(command):
    code = f"""
import runpy
sys.argv = {["regard", *command, "--help"]!r}
try:
    runpy.run_module("regard", run_name="__main__", alter_sys=True)
except SystemExit as stop:
    assert not stop.code, stop.code
"""
    assert imported_by(code) == set()


def test_the_page_of_settings_is_made_from_them(repository):
    from regard.settings.reference import as_markdown

    page = repository / "docs" / "settings.md"
    assert page.read_text("utf-8") == as_markdown(), "make it again: regard settings > docs/settings.md"
