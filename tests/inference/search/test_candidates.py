"""Pieces are drawn as often as they are probable, among those they should be drawn from, and the same every time."""

import math
from collections import Counter
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.inference.search.sampler import sample, uniform_numbers
from regard.settings.decode import DecodeSettings

torch.set_num_threads(1)

DRAWS = 10_000
PROBABILITIES = [0.02, 0.4, 0.0, 0.3, 0.08, 0.2]


def shares(**decode: Any) -> list[float]:
    """How often each piece is drawn by chances that lie evenly between 0 and 1."""
    even_BK = (torch.arange(DRAWS, dtype=torch.float64)[None] + 0.5) / DRAWS
    log_NV = torch.tensor([PROBABILITIES]).log()
    found = sample(log_NV, torch.zeros(1, 1), even_BK, DecodeSettings(**{"temperature": 1.0, **decode}))
    counts = Counter(found.tokens_BC[0].tolist())
    return [counts[piece] / DRAWS for piece in range(len(PROBABILITIES))]


def normalised(weights: list[float]) -> list[float]:
    return [weight / sum(weights) for weight in weights]


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5])
def test_pieces_come_as_often_as_the_temperature_says(temperature: float) -> None:
    wanted = normalised([probability ** (1 / temperature) for probability in PROBABILITIES])
    assert shares(temperature=temperature) == pytest.approx(wanted, abs=2 / DRAWS)


@pytest.mark.parametrize(
    ("decode", "kept"),
    [
        ({"top_k": 1}, {1}),
        ({"top_k": 3}, {1, 3, 5}),
        ({"top_k": 99}, {0, 1, 3, 4, 5}),
        ({"top_p": 0.3}, {1}),
        ({"top_p": 0.5}, {1, 3}),
        ({"top_p": 0.75}, {1, 3, 5}),
        ({"top_p": 0.95}, {1, 3, 4, 5}),
        ({"top_k": 2, "top_p": 0.5}, {1}),  # of the two likeliest, the first has 4 parts in 7
    ],
    ids=str,
)
def test_pieces_are_drawn_from_the_likeliest(decode: dict[str, Any], kept: set[int]) -> None:
    wanted = normalised([probability * (piece in kept) for piece, probability in enumerate(PROBABILITIES)])
    assert shares(**decode) == pytest.approx(wanted, abs=2 / DRAWS)


@pytest.mark.parametrize("temperature", [1e-3, 1e-9, 1e-300])
def test_the_colder_the_nearer_to_the_likeliest(temperature: float) -> None:
    assert shares(temperature=temperature) == [0, 1, 0, 0, 0, 0]


def test_the_log_probability_is_the_models_own_whatever_the_temperature() -> None:
    log_NV = torch.tensor([PROBABILITIES]).log()
    found = sample(log_NV, torch.tensor([[-1.0]]), torch.tensor([[0.5]]).double(), DecodeSettings(temperature=5.0))
    assert found.gains_BC[0, 0] == log_NV[0, found.tokens_BC[0, 0]]
    assert found.total_BC.item() == pytest.approx(-1.0 + found.gains_BC.item())


def test_where_nothing_is_possible_nothing_is_gained() -> None:
    found = sample(
        torch.full((1, 4), -math.inf), torch.zeros(1, 1), torch.tensor([[0.9]]), DecodeSettings(temperature=1)
    )
    assert found.total_BC.item() == -math.inf


def test_the_chances_of_a_source_hang_on_the_seed_and_on_nothing_beside_it() -> None:
    def of(*sources: list[int], steps: int = 5, **decode: Any) -> Tensor:
        return uniform_numbers(sources, steps, DecodeSettings(temperature=1.0, n_best=3, **decode))

    alone = of([7, 8])
    assert alone.shape == (1, 5, 3)
    assert len(set(alone.flatten().tolist())) == 15
    assert bool(((alone >= 0) & (alone < 1)).all())
    assert torch.equal(of([1], [7, 8], [2, 2], steps=9)[1, :5], alone[0])
    for other in (of([8, 7]), of([7, 8], seed=2)):
        assert not set(other.flatten().tolist()) & set(alone.flatten().tolist())
    # Other numbers here would change what everyone has drawn.
    assert alone[0, 0].tolist() == [0.8061249022653794, 0.10925384849748354, 0.4425213733469564]
