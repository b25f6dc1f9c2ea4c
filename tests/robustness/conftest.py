"""Fixtures of the robustness campaigns: tiny runs, processes to kill, and a report line."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.training.conftest import TinyRuns, _skip_speed_measurement, tiny
from tests.training.processes import Server

__all__ = ["TinyRuns", "_skip_speed_measurement", "tiny"]

Report = Callable[[str], None]


@pytest.fixture
def report(record_property: Callable[[str, object], None]) -> Report:
    """Print a line at the end of the test run, whichever worker process ran the test."""
    return lambda line: record_property("campaign", line)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if not hasattr(os, "fork") or not Path("/proc/self/fd").is_dir():
        pytest.skip("needs Linux")
    server = Server(tmp_path_factory.mktemp("server"))
    with server.process:
        yield server
