"""Sampling: tokens occur with the right frequency, among the allowed ones, and repeatably."""

import math
from collections import Counter
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.inference.search.sampler import sample, uniform_numbers
from regard.settings.decode import DecodeSettings

torch.set_num_threads(1)

SAMPLES = 10_000
PROBABILITIES = [0.02, 0.4, 0.0, 0.3, 0.08, 0.2]


def frequencies(**decode: Any) -> list[float]:
    """Return how often each token is sampled with random numbers that are spread evenly between 0 and 1."""
    even_BK = (torch.arange(SAMPLES, dtype=torch.float64)[None] + 0.5) / SAMPLES
    log_NV = torch.tensor([PROBABILITIES]).log()
    sampled = sample(log_NV, torch.zeros(1, 1), even_BK, DecodeSettings(**{"temperature": 1.0, **decode}))
    counts = Counter(sampled.tokens_BC[0].tolist())
    return [counts[token] / SAMPLES for token in range(len(PROBABILITIES))]


def normalised(weights: list[float]) -> list[float]:
    return [weight / sum(weights) for weight in weights]


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5])
def test_the_temperature_sets_the_frequencies(temperature: float) -> None:
    expected = normalised([probability ** (1 / temperature) for probability in PROBABILITIES])
    assert frequencies(temperature=temperature) == pytest.approx(expected, abs=2 / SAMPLES)


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
        ({"top_k": 2, "top_p": 0.5}, {1}),  # the first of the two most probable has 4/7 of their probability
    ],
    ids=str,
)
def test_tokens_are_sampled_from_the_most_probable(decode: dict[str, Any], kept: set[int]) -> None:
    expected = normalised([probability * (token in kept) for token, probability in enumerate(PROBABILITIES)])
    assert frequencies(**decode) == pytest.approx(expected, abs=2 / SAMPLES)


@pytest.mark.parametrize("temperature", [1e-3, 1e-9, 1e-300])
def test_a_temperature_near_zero_samples_the_most_probable_token(temperature: float) -> None:
    assert frequencies(temperature=temperature) == [0, 1, 0, 0, 0, 0]


def test_the_log_probability_does_not_depend_on_the_temperature() -> None:
    log_NV = torch.tensor([PROBABILITIES]).log()
    sampled = sample(log_NV, torch.tensor([[-1.0]]), torch.tensor([[0.5]]).double(), DecodeSettings(temperature=5.0))
    assert sampled.log_BC[0, 0] == log_NV[0, sampled.tokens_BC[0, 0]]
    assert sampled.total_BC.item() == pytest.approx(-1.0 + sampled.log_BC.item())


def test_a_sample_of_impossible_tokens_has_probability_zero() -> None:
    sampled = sample(
        torch.full((1, 4), -math.inf), torch.zeros(1, 1), torch.tensor([[0.9]]), DecodeSettings(temperature=1)
    )
    assert sampled.total_BC.item() == -math.inf


def test_the_random_numbers_of_a_source_depend_only_on_the_seed_and_the_source() -> None:
    def numbers(*sources: list[int], steps: int = 5, **decode: Any) -> Tensor:
        return uniform_numbers(sources, steps, DecodeSettings(temperature=1.0, n_best=3, **decode))

    alone = numbers([7, 8])
    assert alone.shape == (1, 5, 3)
    assert len(set(alone.flatten().tolist())) == 15
    assert bool(((alone >= 0) & (alone < 1)).all())
    assert torch.equal(numbers([1], [7, 8], [2, 2], steps=9)[1, :5], alone[0])
    for other in (numbers([8, 7]), numbers([7, 8], seed=2)):
        assert not set(other.flatten().tolist()) & set(alone.flatten().tolist())
    # If these numbers changed, the same seed would give users other samples.
    assert alone[0, 0].tolist() == [0.8061249022653794, 0.10925384849748354, 0.4425213733469564]
