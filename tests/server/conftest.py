"""Fixtures of the server's tests: real servers on the loopback interface."""

import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.server.running import RunningServer

from regard.inference.translator_loader import load_translator
from regard.server.keys import add_key


@pytest.fixture(scope="session")
def server() -> Iterator[RunningServer]:
    """A server of the bundled models."""
    running = RunningServer.start()
    yield running
    assert running.end() == 0, "\n".join(running.lines)


@pytest.fixture(scope="session")
def tiny(make_model: Callable[..., Path]) -> Path:
    """The folder of a tiny model from "en" to "xx", which loads fast."""
    folder = make_model()
    load_translator(folder).close()  # exports it
    return folder


@dataclass
class KeyedServer:
    """A server that asks for keys, with low limits."""

    server: RunningServer
    full: str  # a key without limits
    small: str  # a key with limits for characters and requests
    folder: Path

    def bearer(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"}


@pytest.fixture(scope="session")
def keyed(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeyedServer]:
    folder = tmp_path_factory.mktemp("keyed")
    keys = folder / "keys.toml"
    full = add_key(keys, "full", {})
    small = add_key(keys, "small", {"characters_per_month": 100, "requests_per_minute": 20})
    config = folder / "serve.toml"
    config.write_text(
        "[serve]\nchar_limit = 1000\nbatch_limit = 20\nbody_bytes = 30_000\nfile_bytes = 100_000\nreceive_seconds = 1\n"
    )
    running = RunningServer.start(
        *("--model", tiny, "--keys", keys, "--state", folder / "state", "--config", config, "--set"),
        "serve.allow_origins=https://allowed.example",
    )
    yield KeyedServer(running, full, small, folder)
    assert running.end() == 0, "\n".join(running.lines)


def connect(server: RunningServer) -> socket.socket:
    """Open a plain connection to a server."""
    host, port = server.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=30)
