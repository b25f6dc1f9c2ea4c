"""The results of a search and their ranking.

This module does not import torch, because the CTranslate2 backend uses it too.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass(frozen=True)
class Hypothesis:
    """A generated text as token ids without EOS, with its log-probability."""

    token_ids: tuple[int, ...]
    log_probability: float
    score: float  # log-probability divided by the length penalty
    token_log_probabilities: tuple[float, ...]  # one per token, then that of EOS if it was generated
    tokens: tuple[str, ...] | None = field(default=None, compare=False)  # as strings, if the backend has them
    attention: Any = field(default=None, compare=False)  # if requested: the weights of the alignment head, a matrix

    @classmethod
    def of(cls, token_ids: Sequence[int], log_probabilities: Sequence[float], alpha: float) -> Self:
        """Return a hypothesis with its score.

        `token_ids` has no EOS; `log_probabilities` has one more value if EOS was generated.
        """
        total = math.fsum(log_probabilities)
        score = total / length_penalty(len(log_probabilities), alpha)
        return cls(tuple(token_ids), total, score, tuple(log_probabilities))


def length_penalty(length: int, alpha: float) -> float:
    """Return the number that divides a log-probability, so that short texts have no advantage (Wu et al., 2016)."""
    return float(((5 + length) / 6) ** alpha)


def rank(hypotheses: Iterable[Hypothesis], beams: int) -> list[Hypothesis]:
    """Return the `beams` most probable hypotheses, sorted by score, best first.

    There may be more than `beams` hypotheses if several of them finish at the last step of a search.
    """
    most_probable = sorted(hypotheses, key=lambda hypothesis: -hypothesis.log_probability)[:beams]
    return sorted(most_probable, key=lambda hypothesis: -hypothesis.score)
