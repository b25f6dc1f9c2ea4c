"""A sample of each campaign of bench/serve_campaigns.py finds no fault."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from regard.benchmark.server_process import ServerProcess

BENCH = Path(__file__).parents[2] / "bench"

SAMPLES = {"hostile_strings": 4, "limits": 1, "malformed_messages": 100, "mutated_requests": 150, "origins": 90}

OWN_SERVER_SAMPLES = {"dependencies": 1, "engine_kills": 1, "key_coverage": 300, "same_text": 30, "termination": 1}


@pytest.fixture(scope="module", autouse=True)
def patient() -> Iterator[None]:
    """No test depends on how fast the machine is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REGARD_SERVE_DEADLINE", "600")
        patch.setenv("REGARD_SERVE_QUEUE_SECONDS", "600")
        yield


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    running = ServerProcess.start([])
    yield running
    running.end()


@pytest.fixture
def campaign(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a module of bench/campaigns/, imported as a script of bench/ imports it."""
    monkeypatch.setattr(sys, "path", [str(BENCH), *sys.path])
    return importlib.import_module(f"campaigns.{request.param}")


@pytest.mark.parametrize(("campaign", "count"), SAMPLES.items(), ids=list(SAMPLES), indirect=["campaign"])
def test_a_sample_finds_no_fault(campaign: Any, count: int, server: ServerProcess) -> None:
    check(campaign, campaign.run(server, count))


@pytest.mark.parametrize(
    ("campaign", "count"), OWN_SERVER_SAMPLES.items(), ids=list(OWN_SERVER_SAMPLES), indirect=["campaign"]
)
def test_a_sample_with_its_own_server_finds_no_fault(campaign: Any, count: int) -> None:
    check(campaign, campaign.run(count))


def check(campaign: Any, outcome: Any) -> None:
    assert outcome.faults == []
    assert campaign.SENTENCE.format(**outcome.facts)
