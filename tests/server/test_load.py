"""`regard bench serve`, and the clients that it uses, with a real server."""

import asyncio

import pytest
from tests.cli.runner import call
from tests.server.running import RunningServer

from regard.benchmark.http_connection import Connection
from regard.benchmark.server_process import address_of, listener

TEXTS = [f"I am {number} years old." for number in range(60)]
LINES = "".join(f"{text}\n" for text in [*TEXTS, "", *TEXTS]).encode()


def test_a_server_is_measured(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.benchmark.server_load._ROUNDS", 1)
    monkeypatch.setattr("regard.benchmark.server_load._FEW_CLIENTS", ())
    done = call("bench", "serve", "--url", server.url, "--clients", 3, typed=LINES)
    assert done.code == 0, done.said
    assert done.said.splitlines() == ["measuring: one short sentence at a time", "measuring: 3 clients, round 1 of 1"]
    head, load, *rest = done.lines
    assert head.split("  ")[0] == "clients"
    clients, *_, refused, different = load.split()
    assert (clients, refused, different) == ("3", "0", "0")
    assert [line.split("  ")[0] for line in rest] == ["translate", "short sentence", "clients", "memory"]


@pytest.mark.parametrize("url", ["http://192.0.2.1:5000", "http://example.org", "https://127.0.0.1:5000", "127.0.0.1"])
def test_only_a_server_on_this_machine_is_measured(url: str) -> None:
    done = call("bench", "serve", "--url", url, typed=LINES)
    said = f"error: only a server on this machine is measured, such as http://127.0.0.1:5000, not {url}\n"
    assert (done.code, done.said) == (2, said)


def test_few_lines_are_refused() -> None:
    done = call("bench", "serve", typed=b"one\ntwo\none\n")
    assert (done.code, done.said) == (2, "error: measuring a server takes at least 40 different lines, got 2\n")


def test_a_connection_is_used_again_and_opened_again(server: RunningServer) -> None:
    async def ask() -> None:
        connection = Connection(*address_of(server.url))
        health = await connection.get("/health")
        assert (health.status, health.json()) == (200, {"status": "ok"})
        first = connection._streams
        values = {"q": "Hello.", "source": "en", "target": "fr"}
        assert (await connection.post("/translate", values)).json()["translatedText"]
        assert connection._streams is first
        connection.close()
        assert (await connection.get("/none")).status == 404
        assert connection._streams is not first
        connection.close()

    asyncio.run(ask())


def test_the_process_that_listens_on_a_port_is_found(server: RunningServer) -> None:
    found = listener(address_of(server.url)[1])
    assert found and found.root.pid == server.process.pid
    assert found.cpu_seconds() > 0 < found.resident_bytes()
