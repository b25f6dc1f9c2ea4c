"""`tune` sets OpenMP variables and malloc options, and keeps the variables of the user."""

import os

import pytest

from regard.machine import malloc, process
from regard.machine.process import tune, tune_for_training

VARIABLES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests set no malloc options in their own process, and begin without variables set by Regard."""
    monkeypatch.setattr(malloc, "_set_options", lambda *options: None)
    monkeypatch.setattr(process, "set_by_regard", set[str]())


def test_tune_sets_how_threads_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    tune()
    assert [os.environ[name] for name in VARIABLES] == ["ACTIVE", "300000"]
    assert process.set_by_regard == set(VARIABLES)


@pytest.mark.parametrize(("name", "other"), [VARIABLES, VARIABLES[::-1]])
def test_tune_keeps_the_values_of_the_user(monkeypatch: pytest.MonkeyPatch, name: str, other: str) -> None:
    monkeypatch.setenv(name, "1")
    monkeypatch.delenv(other, raising=False)
    tune()
    assert (os.environ[name], other in os.environ) == ("1", False)
    assert process.set_by_regard == set()


@pytest.mark.parametrize(("usable", "value"), [(2, "2"), (8, None)])
def test_tune_limits_the_threads_to_the_quota_of_a_container(
    monkeypatch: pytest.MonkeyPatch, usable: int, value: str | None
) -> None:
    monkeypatch.setattr(process, "available_cpus", lambda: 8)
    monkeypatch.setattr(process, "usable_cpus", lambda: usable)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("GOMP_SPINCOUNT", "1")
    tune()
    assert os.environ.get("OMP_NUM_THREADS") == value
    assert process.set_by_regard == ({"OMP_NUM_THREADS"} if value else set())
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    tune()
    assert os.environ["OMP_NUM_THREADS"] == "5"


def test_training_retains_more_memory_than_translating(monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[int, int] = {}
    monkeypatch.setattr(malloc, "_set_options", lambda *pairs: options.update(pairs))
    tune()
    assert options == {-1: 256 << 20, -3: 32 << 20}
    tune_for_training()
    assert options == {-1: -1, -3: 32 << 20, -4: 0, -8: 1}
