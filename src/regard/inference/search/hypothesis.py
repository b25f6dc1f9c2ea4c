"""What a search finds: a text in pieces, how probable it is, and which of several is best.

Free of torch, because the engine ranks what it finds by the same rule.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True)
class Hypothesis:
    """What was written, without the end mark, and how probable the model found it."""

    token_ids: tuple[int, ...]
    log_probability: float
    score: float  # log-probability over the length penalty
    token_log_probabilities: tuple[float, ...]  # the end mark's is the last of them, where one was written

    @classmethod
    def of(cls, pieces: Sequence[int], log_probabilities: Sequence[float], alpha: float) -> Self:
        """Pieces without the end mark; log-probabilities with that of the end mark, where one was written."""
        total = math.fsum(log_probabilities)
        score = total / length_penalty(len(log_probabilities), alpha)
        return cls(tuple(pieces), total, score, tuple(log_probabilities))


def length_penalty(length: int, alpha: float) -> float:
    """What a log-probability is divided by (Wu et al., 2016), so that short translations are not always the best."""
    return float(((5 + length) / 6) ** alpha)


def ranked(hypotheses: Iterable[Hypothesis], beams: int) -> list[Hypothesis]:
    """The most probable, `beams` of them, best score first. More are found when several finish at the last step."""
    likeliest = sorted(hypotheses, key=lambda hypothesis: -hypothesis.log_probability)[:beams]
    return sorted(likeliest, key=lambda hypothesis: -hypothesis.score)
