"""`tune` sets OpenMP variables, and keeps those of the user."""

import os

import pytest

from regard.machine import process
from regard.machine.process import tune

VARIABLES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")


def test_tune_sets_how_threads_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    tune()
    assert [os.environ[name] for name in VARIABLES] == ["ACTIVE", "300000"]
    assert process.set_by_regard == set(VARIABLES)


@pytest.mark.parametrize(("name", "other"), [VARIABLES, VARIABLES[::-1]])
def test_tune_keeps_the_values_of_the_user(monkeypatch: pytest.MonkeyPatch, name: str, other: str) -> None:
    monkeypatch.setattr(process, "set_by_regard", set[str]())
    monkeypatch.setenv(name, "1")
    monkeypatch.delenv(other, raising=False)
    tune()
    assert (os.environ[name], other in os.environ) == ("1", False)
    assert process.set_by_regard == set()
