"""What all tests share: one thread per worker, fixed seeds, and the way to real corpora."""

import os
import sys
from pathlib import Path

# Before anyone imports torch, and for child processes too: workers that share cores are slower with more threads.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings

import regard.decoding  # noqa: F401 (says how threads wait, which torch takes up when it is imported)

REPOSITORY = Path(__file__).parents[1]
SHARED_DATA = Path(os.environ.get("REGARD_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))

# The same examples in every run, and no time limit: the machine may be busy.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that asks for the `shared_data` fixture is marked so, and is skipped where there is none."""
    for item in items:
        if "shared_data" in getattr(item, "fixturenames", ()):
            item.add_marker("shared_data")
        if item.get_closest_marker("shared_data") and not SHARED_DATA.is_dir():
            item.add_marker(pytest.mark.skip(reason=f"no corpora in {SHARED_DATA}; set REGARD_SHARED_DATA"))


@pytest.fixture(scope="session")
def repository() -> Path:
    """The folder of pyproject.toml."""
    return REPOSITORY


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real corpora."""
    return SHARED_DATA


@pytest.fixture(autouse=True)
def _seed() -> None:
    """Start every test from the same torch seed, without importing torch for those that do not use it."""
    if torch := sys.modules.get("torch"):
        torch.manual_seed(1)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What campaigns found, word for word as docs/reliability.md has it."""
    lines = [
        f"{value}"
        for report in terminalreporter.getreports("passed")
        for name, value in report.user_properties
        if name == "campaign" and report.when == "call"
    ]
    if lines:
        terminalreporter.section("campaigns")
        terminalreporter.write("".join(line + "\n" for line in lines))
