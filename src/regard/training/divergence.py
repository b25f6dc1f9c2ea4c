"""Detects a diverging run from its losses alone, so that a resumed run is judged like an uninterrupted one.

A step whose gradient is not finite is skipped, which is tolerated unless many follow each other. A run diverges when
its losses stay far above their lowest level for a hundred steps: by three standard deviations and by at least 1. Such a
run is stopped, with advice.
"""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from regard.settings.train import TrainSettings

SKIPPED_IN_A_ROW = 10

WORSE_IN_A_ROW = 100

STANDARD_DEVIATIONS = 3.0

MIN_RISE = 1.0  # per target token: the loss of a fine-tuning run that starts near zero may rise by less and be fine

_AVERAGED_STEPS = 25  # time constant of the moving average


@dataclass(frozen=True)
class DivergenceMonitor:
    """Statistics of the losses of a run, saved with every checkpoint."""

    skipped: int = 0
    skipped_in_a_row: int = 0
    losses: int = 0
    level: float = 0.0  # moving average of the losses
    variance: float = 0.0
    lowest: float = math.inf  # lowest level so far
    spread: float = 0.0  # standard deviation at the lowest level
    worse_in_a_row: int = 0

    def after_skipped(self) -> Self:
        """Return the statistics after a skipped step."""
        return replace(self, skipped=self.skipped + 1, skipped_in_a_row=self.skipped_in_a_row + 1)

    def after(self, loss: float) -> Self:
        """Return the statistics after a step with this loss."""
        share = max(1 / (self.losses + 1), 1 / _AVERAGED_STEPS)
        difference = loss - self.level
        level = self.level + share * difference
        variance = (1 - share) * (self.variance + share * difference * difference)
        lowest, spread = self.lowest, self.spread
        if self.losses + 1 >= _AVERAGED_STEPS and level < lowest:
            lowest, spread = level, math.sqrt(variance)
        is_worse = level > lowest + max(MIN_RISE, STANDARD_DEVIATIONS * spread)
        return replace(
            self,
            skipped_in_a_row=0,
            losses=self.losses + 1,
            level=level,
            variance=variance,
            lowest=lowest,
            spread=spread,
            worse_in_a_row=self.worse_in_a_row + 1 if is_worse else 0,
        )

    def problem(self) -> str | None:
        """Return why the run should not continue, or None."""
        if self.skipped_in_a_row >= SKIPPED_IN_A_ROW:
            return f"the gradients of the last {self.skipped_in_a_row} steps were not finite"
        if self.worse_in_a_row >= WORSE_IN_A_ROW:
            return (
                f"the loss is {self.level:.2f}, its lowest value was {self.lowest:.2f}, and it has stayed far above "
                f"that for {self.worse_in_a_row} steps"
            )
        return None


def divergence_message(problem: str, step: int, settings: TrainSettings, best: Path | None) -> str:
    """Return the error message for a diverging run; `best` is the checkpoint with the best validation loss, if any."""
    remedies = [f"a lower train.learning_rate (it is {settings.learning_rate:g}; try {settings.learning_rate / 3:.1g})"]
    if not settings.max_grad_norm:
        remedies.append("--set train.max_grad_norm=1")
    remedies.append(f"a longer warmup (train.warmup_steps is {settings.warmup_steps:,})")
    kept = f"; the parameters with the best validation loss are kept in {best}" if best else ""
    advice = f"start again in another --out with {', or '.join(remedies)}"
    return f"the run diverged at step {step:,}: {problem}; {advice}{kept}"
