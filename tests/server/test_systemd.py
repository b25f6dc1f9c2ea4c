"""A supervisor learns that the server is ready, that it runs, and that it ends, and may ask under any address."""

import os
import socket
from pathlib import Path

import pytest
import requests
from tests.server.running import RunningServer

from regard.server.systemd import Supervisor


def test_messages_reach_the_socket_of_systemd(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(str(tmp_path / "notify"))
        supervisor = Supervisor({"NOTIFY_SOCKET": str(tmp_path / "notify")})
        supervisor.tell("READY=1")
        assert receiver.recv(100) == b"READY=1"
    supervisor.tell("STOPPING=1")  # systemd is gone: no error
    Supervisor({}).tell("READY=1")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        name = f"regard-test-{os.getpid()}"
        receiver.bind(f"\0{name}")
        Supervisor({"NOTIFY_SOCKET": f"@{name}"}).tell("READY=1")
        assert receiver.recv(100) == b"READY=1"


def test_a_server_under_systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    monkeypatch.setenv("WATCHDOG_USEC", "300000")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(str(tmp_path / "notify"))
        receiver.settimeout(60)
        server = RunningServer.start("--model", "fr-en", "--allow-host", "example.org")
        try:
            assert receiver.recv(100) == b"READY=1"
            assert {receiver.recv(100) for _ in range(3)} == {b"WATCHDOG=1"}
            for path in ("/readyz", "/livez", "/health", "/healthz"):
                asked = requests.get(server.url + path, headers={"Host": "10.0.0.1:5000"}, timeout=60)
                assert asked.status_code == 200
            assert requests.get(server.url + "/languages", timeout=60).status_code == 403
            allowed = requests.get(server.url + "/languages", headers={"Host": "example.org"}, timeout=60)
            assert allowed.status_code == 200
        finally:
            server.end()
        messages: list[bytes] = []
        while messages[-1:] != [b"STOPPING=1"]:
            messages.append(receiver.recv(100))
        assert set(messages) <= {b"WATCHDOG=1", b"STOPPING=1"}
