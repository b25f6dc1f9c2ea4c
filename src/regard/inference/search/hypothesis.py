"""The results of a search and their ranking.

Does not import torch, because the hypotheses of CTranslate2 are ranked by the same rule.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True)
class Hypothesis:
    """A generated text as token ids without EOS, with its log-probability."""

    token_ids: tuple[int, ...]
    log_probability: float
    score: float  # log-probability divided by the length penalty
    token_log_probabilities: tuple[float, ...]  # the last is that of EOS, if it was generated

    @classmethod
    def of(cls, token_ids: Sequence[int], log_probabilities: Sequence[float], alpha: float) -> Self:
        """Score token ids without EOS; the log-probabilities include that of EOS, if it was generated."""
        total = math.fsum(log_probabilities)
        score = total / length_penalty(len(log_probabilities), alpha)
        return cls(tuple(token_ids), total, score, tuple(log_probabilities))


def length_penalty(length: int, alpha: float) -> float:
    """Return the divisor of a log-probability that offsets the advantage of short translations (Wu et al., 2016)."""
    return float(((5 + length) / 6) ** alpha)


def rank(hypotheses: Iterable[Hypothesis], beams: int) -> list[Hypothesis]:
    """Return the `beams` most probable hypotheses, best score first.

    A search finds more than `beams` if several hypotheses finish at its last step.
    """
    most_probable = sorted(hypotheses, key=lambda hypothesis: -hypothesis.log_probability)[:beams]
    return sorted(most_probable, key=lambda hypothesis: -hypothesis.score)
