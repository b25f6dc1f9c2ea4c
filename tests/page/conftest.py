"""The page is tested with the models of the interpretation tests, and with a server of the bundled models."""

from collections.abc import Iterator

import pytest
from tests.interpret.conftest import _cache, model
from tests.server.running import RunningServer

__all__ = ["_cache", "model"]


@pytest.fixture(scope="session")
def server() -> Iterator[RunningServer]:
    """A server that gives up no request, because the machine may be busy."""
    running = RunningServer.start("--set", "serve.deadline=600")
    yield running
    assert running.end() == 0, "\n".join(running.lines)
