"""Measures how well the probabilities of a model agree with how often it is right, and fits the temperature for them.

The references of a test set are given to the model token by token (teacher forcing). At each position the most probable
token is right if it is that of the reference. The expected calibration error is the mean difference between probability
and accuracy, over bins with the same number of tokens. The fitted temperature minimises the cross entropy of these
right and wrong predictions (`regard.inference.token_probability`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from regard.errors import DataError
from regard.inference.length_buckets import length_buckets
from regard.models.inputs import Inputs
from regard.models.interface import AutoregressiveModel
from regard.tokenizers.protocol import Tokenizer
from regard.tokenizers.special_ids import BOS, EOS, PAD

_BINS = 20

_BATCH_TOKENS = 4096

_MIN_LOG_TEMPERATURE, _MAX_LOG_TEMPERATURE = -2.0, 2.0

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Predictions:
    """For each token of the references: the log-odds of the most probable token, and whether it is right."""

    log_odds: Floats
    is_right: NDArray[np.bool_]

    def probabilities(self, temperature: float = 1.0) -> Floats:
        scaled: Floats = self.log_odds / temperature
        return 1 / (1 + np.exp(-scaled))


def predict_references(
    model: AutoregressiveModel, tokenizer: Tokenizer, pairs: Iterable[tuple[str, str]]
) -> Predictions:
    """Return the predictions of a model for all tokens of the references, EOS included. Too long pairs are left out."""
    sides = list(pairs)
    sources, targets = (tokenizer.encode([pair[side] for pair in sides]) for side in (0, 1))
    longest = model.settings.max_positions - 1
    ids = [(s, t) for s, t in zip(sources, targets, strict=True) if max(len(s), len(t)) <= longest]
    if not ids:
        raise DataError(f"there is no pair of at most {longest} tokens on each side to predict")
    found = [
        _predict_batch(model, [ids[index] for index in indices])
        for indices in length_buckets([max(map(len, pair)) for pair in ids], _BATCH_TOKENS)
    ]
    log_odds, is_right = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Predictions(log_odds, is_right)


@torch.inference_mode()
def _predict_batch(
    model: AutoregressiveModel, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]
) -> tuple[Floats, NDArray[np.bool_]]:
    source = Inputs.from_ids([[*ids, EOS] for ids, _ in pairs], pad=PAD, device=model.device)
    target = Inputs.from_ids([[*ids, EOS] for _, ids in pairs], pad=PAD, device=model.device)
    given = Inputs.from_ids([[BOS, *ids] for _, ids in pairs], pad=PAD, device=model.device).values
    hidden_BTD, _ = model.decode(given, model.start(model.encode(source)))
    log_NV = model.project(target.real(hidden_BTD)).double().log_softmax(dim=1)
    log_N, best_N = log_NV.max(dim=1)
    log_odds_N = log_N - torch.log(-torch.expm1(log_N))
    return log_odds_N.clamp(max=100).cpu().numpy(), (best_N == target.real(target.values)).cpu().numpy()


def fit_temperature(predictions: Predictions) -> float:
    """Return the temperature with the lowest cross entropy, by golden-section search over its logarithm."""

    def cross_entropy(log_temperature: float) -> float:
        signed = np.where(predictions.is_right, predictions.log_odds, -predictions.log_odds)
        return float(np.logaddexp(0, -signed / np.exp(log_temperature)).mean())

    low, high = _MIN_LOG_TEMPERATURE, _MAX_LOG_TEMPERATURE
    ratio = (5**0.5 - 1) / 2
    while high - low > 1e-4:
        first, second = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, second) if cross_entropy(first) < cross_entropy(second) else (first, high)
    return float(np.exp((low + high) / 2))


def calibration_error(predictions: Predictions, temperature: float = 1.0) -> float:
    """Return the expected calibration error, between 0 and 1."""
    order = np.argsort(predictions.log_odds, kind="stable")
    probabilities, is_right = predictions.probabilities(temperature)[order], predictions.is_right[order]
    bins = np.array_split(np.arange(len(order)), min(_BINS, len(order)))
    total = sum(len(one) * abs(probabilities[one].mean() - is_right[one].mean()) for one in bins)
    return float(total / len(order))
