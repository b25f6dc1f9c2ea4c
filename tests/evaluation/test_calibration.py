"""Calibration: predictions equal those of the model for each pair alone, and the fit finds a known temperature."""

import math

import numpy as np
import pytest

from regard.errors import DataError
from regard.evaluation.calibration import Predictions, calibration_error, fit_temperature, predict_references
from regard.inference.translator_loader import load_translator
from regard.model_folder.loader import open_folder
from regard.models.interface import as_autoregressive

PAIRS = [("the cat", "a red house"), ("a house", "the"), ("the red cat sees a house", "a cat"), ("a " * 80, "the")]


def simulated(temperature: float, count: int = 200_000) -> Predictions:
    """Predictions that are right as often as their log-odds, divided by the temperature, say."""
    random = np.random.default_rng(1)
    log_odds = random.normal(1.5, 2, count)
    return Predictions(log_odds, random.random(count) < 1 / (1 + np.exp(-log_odds / temperature)))


@pytest.mark.parametrize("temperature", [0.6, 1.0, 1.7])
def test_the_fit_finds_the_temperature(temperature: float) -> None:
    predictions = simulated(temperature)
    assert fit_temperature(predictions) == pytest.approx(temperature, rel=0.03)
    assert calibration_error(predictions, temperature) < 0.005
    if temperature != 1:
        assert calibration_error(predictions) > 0.02


def test_the_error_of_an_example_is_as_computed_by_hand() -> None:
    # One bin for each of the four tokens: |0.8 - 1|, |0.8 - 0|, |0.5 - 1|, |0.5 - 0|.
    log_odds = np.array([math.log(4), math.log(4), 0.0, 0.0])
    predictions = Predictions(log_odds, np.array([True, False, True, False]))
    assert calibration_error(predictions) == pytest.approx((0.2 + 0.8 + 0.5 + 0.5) / 4)


def test_predictions_of_a_batch_equal_those_of_each_pair_and_the_scores_of_the_translator(make_model) -> None:
    folder = open_folder(make_model(5, max_positions=64))
    model, tokenizer = as_autoregressive(folder.build()), folder.tokenizer
    together = predict_references(model, tokenizer, PAIRS)  # the last pair is too long, and is left out
    alone = [predict_references(model, tokenizer, [pair]) for pair in PAIRS[:3]]
    assert sorted(together.log_odds) == pytest.approx(
        sorted(np.concatenate([each.log_odds for each in alone])), abs=1e-4
    )
    assert together.is_right.sum() == sum(each.is_right.sum() for each in alone)
    # Where the most probable token is that of the reference, its probability is the one that `score` returns.
    for pair, each in zip(PAIRS, alone, strict=False):
        [scored] = load_translator(folder.path, backend="torch").score([pair])
        probabilities = np.exp(scored.log_probabilities)
        assert len(probabilities) == len(each.log_odds)
        # Unlike the predictions, scores leave out tokens that are never generated.
        assert (probabilities <= 1.05 * each.probabilities()).all()
        assert probabilities[each.is_right] == pytest.approx(each.probabilities()[each.is_right], rel=0.05)


def test_pairs_that_are_all_too_long(make_model) -> None:
    folder = open_folder(make_model(5, max_positions=64))
    model = as_autoregressive(folder.build())
    for pairs in ([], [("a " * 80, "the")]):
        with pytest.raises(DataError, match="no pair of at most 63 tokens"):
            predict_references(model, folder.tokenizer, pairs)
