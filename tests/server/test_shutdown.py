"""Signals to a real server: it drains, ends at once on the second signal, and reads keys and models again."""

import os
import resource
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
import requests
from tests.server.conftest import connect
from tests.server.running import RunningServer

from regard.server.keys import add_key

LONG = " ".join(["the cat sees a red house"] * 50)
REQUEST = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


def test_accepted_requests_are_finished(tiny: Path) -> None:
    """Clients send requests all the time. After SIGTERM, each request is answered, or refused with 503."""
    server = RunningServer.start("--model", tiny, "--set", "serve.drain_delay=1")
    engines = server.engines()
    assert len(engines) == 1
    statuses: list[int] = []
    problems: list[str] = []
    ended = threading.Event()

    def ask() -> None:
        while not ended.is_set():
            try:
                statuses.append(server.translate([LONG, "a house"], target="xx").status_code)
            except requests.ConnectionError as error:
                problems.append(str(error))
                return

    with ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(ask) for _ in range(8)]
        server.wait_until(lambda: len(statuses) > 20)
        body = b'{"q": "the cat", "source": "en", "target": "xx"}'
        sending = connect(server)
        sending.sendall(REQUEST % len(body) + body[:10])
        server.wait_until(lambda: sum(each > 200 for each in statuses) or len(statuses) > 30)
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        server.wait_until(lambda: server.get("/readyz").status_code == 503)
        refused = server.translate("a", target="xx")
        assert (refused.status_code, refused.headers["Connection"]) == (503, "close")
        assert int(refused.headers["Retry-After"]) > 0
        assert server.get("/livez").status_code == 200
        sending.sendall(body[10:])  # this request began before the signal
        assert sending.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        sending.close()
        assert server.process.wait(15) == 0
        assert time.monotonic() - began < 12
        ended.set()
        for each in asked:
            each.result()
    assert set(statuses) == {200, 503}
    # Once the server has ended, connections are refused; the system resets those that the server has not accepted yet.
    assert all("refused" in problem or "reset by peer" in problem for problem in problems), problems
    assert not any(psutil.pid_exists(pid) for pid in engines)
    server.end()


def test_sighup_reads_keys_and_models_again(tiny: Path, tmp_path: Path) -> None:
    keys = tmp_path / "keys.toml"
    first = add_key(keys, "first", {})
    server = RunningServer.start("--model", tiny, "--keys", keys)

    def status(key: str) -> int:
        return server.translate("the cat", target="xx", headers={"Authorization": f"Bearer {key}"}).status_code

    [engine] = server.engines()
    second = add_key(keys, "second", {})
    assert (status(first), status(second)) == (200, 403)
    for _ in range(3):  # several reloads at the same time
        server.process.send_signal(signal.SIGHUP)
        time.sleep(0.1)
    server.wait_until(lambda: sum("were read again" in line for line in server.lines) == 3)
    assert (status(first), status(second)) == (200, 200)
    server.wait_until(lambda: len(server.engines()) == 1 and server.engines() != [engine])
    keys.write_text("[[key]")
    server.process.send_signal(signal.SIGHUP)
    server.wait_until(lambda: any("the previous ones stay" in line for line in server.lines))
    assert (status(first), status(second)) == (200, 200)
    assert server.end() == 0


def test_killed_engines_come_back(tiny: Path) -> None:
    """Requests during two kills are answered. When the front process is killed, its engines end too."""
    server = RunningServer.start("--model", tiny)
    kill_engines(server, 2)
    engines = server.engines()
    os.kill(server.process.pid, signal.SIGKILL)
    server.wait_until(lambda: not any(psutil.pid_exists(pid) for pid in engines), 10)
    server.end()


@pytest.mark.slow
def test_twenty_kills(tiny: Path) -> None:
    server = RunningServer.start("--model", tiny)
    kill_engines(server, 20)
    assert server.end() == 0


def kill_engines(server: RunningServer, times: int) -> None:
    """Kill the engine while clients ask all the time."""
    statuses: list[int] = []
    ended = threading.Event()

    def ask() -> None:
        while not ended.is_set():
            statuses.append(server.translate(["the cat", "a house"], target="xx").status_code)

    with ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(ask) for _ in range(4)]
        try:
            for _ in range(times):
                server.wait_until(lambda: len(server.engines()) == 1 and server.get("/readyz").status_code == 200)
                os.kill(server.engines()[0], signal.SIGKILL)
                before = len(statuses)
                server.wait_until(lambda before=before: len(statuses) > before + 4)
        finally:
            ended.set()
        for each in asked:
            each.result()
    # A text may be lost only if a second engine was killed while it had the text.
    assert set(statuses) <= {200, 503} and statuses.count(503) <= 4 * times // 2


def test_a_unix_socket_a_root_path_and_a_second_signal(tiny: Path, tmp_path: Path) -> None:
    path = tmp_path / "regard.sock"
    server = RunningServer.launch(
        *("--model", tiny, "--unix-socket", path, "--root-path", "/prefix", "--set", "serve.drain_delay=30")
    )
    server.wait_until(lambda: any(f"serving at unix:{path}" in line for line in server.lines))
    for target in (b"/languages", b"/prefix/languages"):
        answer = ask_unix(path, target)
        assert answer.startswith(b"HTTP/1.1 200 ") and b'"code":"en"' in answer
    engines = server.engines()
    server.process.send_signal(signal.SIGTERM)
    server.wait_until(lambda: ask_unix(path, b"/readyz").startswith(b"HTTP/1.1 503 "))
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(5) == 1
    server.wait_until(lambda: not any(psutil.pid_exists(pid) for pid in engines), 10)
    server.end()


def ask_unix(path: Path, target: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        connection.sendall(b"GET " + target + b" HTTP/1.0\r\nHost: translate.example.org\r\n\r\n")
        with connection.makefile("rb") as answer:
            return answer.read()


def test_work_beyond_the_queue_is_refused_and_that_of_a_client_that_is_gone_is_dropped(tiny: Path) -> None:
    server = RunningServer.start("--model", tiny, "--set", "serve.queue_requests=1")
    [engine] = server.engines()
    os.kill(engine, signal.SIGSTOP)

    def metrics() -> str:
        return server.get("/metrics").text

    body = b'{"q": "the cat", "source": "en", "target": "xx"}'
    with connect(server) as connection:
        connection.sendall(REQUEST % len(body) + body)
        server.wait_until(lambda: "regard_queue_requests 1.0" in metrics())
        refused = server.translate("a house", target="xx")
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
        assert refused.json() == {"error": "Slowdown: the server is busy; try again later"}
        assert server.post("/detect", json={"q": "a house"}).status_code == 200
    server.wait_until(lambda: "regard_cancelled_total 1.0" in metrics())
    assert "regard_queue_requests 0.0" in metrics()
    server.wait_until(lambda: any('"status": 499' in line for line in server.lines))
    os.kill(engine, signal.SIGCONT)
    assert server.translate("the cat", target="xx").status_code == 200
    assert server.end() == 0


def test_more_connections_than_the_soft_limit_of_files(tiny: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))  # the server inherits it
    try:
        server = RunningServer.launch("--model", tiny)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    server.wait_until(lambda: server.url)
    silent = [connect(server) for _ in range(100)]
    assert server.translate("the cat", target="xx").status_code == 200
    for each in silent:
        each.close()
    assert server.end() == 0


def test_a_port_that_is_taken(tiny: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = RunningServer.launch("--model", tiny, port=port)
        assert server.process.wait(60) == 2
    server.end()
    assert f"cannot listen on 127.0.0.1:{port} (Address already in use); choose another --port" in server.lines[-1]
