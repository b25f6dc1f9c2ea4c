"""Calibrated probabilities: the temperature divides the log-odds, and a word has the product of its tokens."""

import math

import pytest

from regard.inference.token_probability import calibrated_probability
from regard.inference.translator_loader import load_translator
from regard.model_folder.writer import save_calibration


def log_odds(probability: float) -> float:
    return math.log(probability / (1 - probability))


@pytest.mark.parametrize("temperature", [0.5, 0.8, 1.0, 3.0])
@pytest.mark.parametrize("probability", [1e-12, 0.01, 0.3, 0.5, 0.9, 1 - 1e-6])
def test_the_temperature_divides_the_log_odds(probability: float, temperature: float) -> None:
    calibrated = calibrated_probability([math.log(probability)], temperature)
    assert log_odds(calibrated) == pytest.approx(log_odds(probability) / temperature, rel=1e-5)


def test_a_word_has_the_product_of_its_tokens() -> None:
    one, two = (calibrated_probability([math.log(each)], 2) for each in (0.9, 0.4))
    assert calibrated_probability([math.log(0.9), math.log(0.4)], 2) == pytest.approx(one * two)
    assert calibrated_probability([], 2) == 1


def test_extreme_probabilities_stay_between_0_and_1() -> None:
    for temperature in (0.1, 1.0, 10.0):
        assert calibrated_probability([0.0], temperature) == calibrated_probability([1e-7], temperature) == 1
        assert 0 <= calibrated_probability([-1e4], temperature) < 1e-40
        assert 0 <= calibrated_probability([-1e-300], temperature) <= 1


def test_the_temperature_of_a_folder_changes_no_translation_and_no_score(make_model) -> None:
    folder, other = (make_model(3, max_positions=32) for _ in range(2))
    save_calibration(other, 2.5)
    plain, calibrated = load_translator(folder), load_translator(other)
    assert (plain.calibration_temperature, calibrated.calibration_temperature) == (1.0, 2.5)
    texts = ["the cat", "a red house sees the cat"]
    assert plain.translate(texts) == calibrated.translate(texts)
