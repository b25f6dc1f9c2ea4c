"""Fixtures of the server's tests: real servers on the loopback interface."""

import signal
from collections.abc import Iterator

import pytest
from tests.server.running import RunningServer


@pytest.fixture(scope="session")
def server() -> Iterator[RunningServer]:
    """A server of the bundled models."""
    running = RunningServer.start()
    yield running
    assert running.end() in (0, -signal.SIGTERM), "\n".join(running.lines)
