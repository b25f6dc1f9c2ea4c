"""Loads the scripts of recipes/, which import each other by their names."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def script(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Return a function that imports a script by its name."""
    monkeypatch.syspath_prepend(str(repository / "recipes"))
    yield importlib.import_module
    for name in {path.stem for path in (repository / "recipes").glob("*.py")} & set(sys.modules):
        del sys.modules[name]
