"""Turns the log-probabilities of a translation into calibrated probabilities, which are reported to people.

A model is calibrated if, of the tokens with a probability of 80 %, about 80 % are right. One temperature T per model,
stored in its folder, divides the log-odds of every token: `log p/(1-p)` becomes `1/T · log p/(1-p)`. This needs only
the probability of the token itself, which every backend returns. Search, scores and `log_probabilities` never use it.
"""

import math
from collections.abc import Iterable

from regard.model_folder.folder import UNCALIBRATED


def calibrated_probability(log_probabilities: Iterable[float], temperature: float = UNCALIBRATED) -> float:
    """Return the calibrated probability of a token, or of a word or text with several tokens: the product of theirs.

    `temperature` is the `calibration_temperature` of the translator.
    """
    return math.exp(math.fsum(_calibrated(each, temperature) for each in log_probabilities))


def _calibrated(log_probability: float, temperature: float) -> float:
    """Return the logarithm of the calibrated probability of one token."""
    if log_probability >= 0 or temperature == UNCALIBRATED:
        return min(log_probability, 0.0)
    log_odds = (log_probability - math.log(-math.expm1(log_probability))) / temperature
    return -math.log1p(math.exp(-log_odds)) if log_odds > -700 else log_odds
