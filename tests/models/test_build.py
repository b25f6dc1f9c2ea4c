"""Building a model disturbs neither other threads nor the random generators of GPUs."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.toy_kind import TOY, ToyModel, ToySettings

from regard.models.build import build_model
from regard.settings.kinds import KINDS

SETTINGS = ToySettings(width=16, max_positions=16).with_vocab_size(24)

together = threading.Barrier(2)


class WaitingModel(ToyModel):
    """A model whose constructor waits for the constructor in another thread before it draws random numbers."""

    def __init__(self, settings: ToySettings, dropout: float = 0.0) -> None:
        try:
            together.wait(0.5)
        except threading.BrokenBarrierError:
            together.reset()
        super().__init__(settings, dropout)


def test_two_threads_may_build_models_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "toy", TOY)
    alone = [build_model(SETTINGS, seed=seed).state_dict() for seed in (1, 2)]
    monkeypatch.setitem(KINDS, "toy", replace(TOY, model="tests.models.test_build:WaitingModel"))
    with ThreadPoolExecutor(2) as pool:
        built = list(pool.map(lambda seed: build_model(SETTINGS, seed=seed).state_dict(), (1, 2)))
    for one, other in zip(alone, built, strict=True):
        assert all(torch.equal(tensor, other[name]) for name, tensor in one.items())


def test_the_generators_of_gpus_are_not_seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    seeded: list[Any] = []
    monkeypatch.setitem(KINDS, "toy", TOY)
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeded.append)
    torch.manual_seed(1)
    assert seeded == [1]  # otherwise the test would prove nothing
    build_model(SETTINGS, seed=5)
    assert seeded == [1]
