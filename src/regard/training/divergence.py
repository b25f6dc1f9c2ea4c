"""Detects that a training run diverges, so that it stops with advice instead of wasting time.

A run diverges if the gradient is not finite in 10 steps in a row, or if the average loss is far above its lowest
value in 100 steps in a row. It is far above if it is higher by more than three standard deviations, and by more than 1.
The statistics are saved with every checkpoint, so the decision is the same for a resumed run and an uninterrupted one.
"""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from regard.settings.train import TrainSettings

SKIPPED_IN_A_ROW = 10  # a run stops after this many steps in a row whose gradients are not finite

WORSE_IN_A_ROW = 100  # a run stops after this many steps in a row whose average loss is far above the lowest

STANDARD_DEVIATIONS = 3.0  # an average loss is far above the lowest if it is higher by this many standard deviations

# Minimum rise of the loss per target token that counts as divergence. A smaller rise may be harmless in a fine-tuning
# run that starts with a loss near zero.
MIN_RISE = 1.0

_AVERAGED_STEPS = 25  # time constant, in steps, of the moving average of the losses


@dataclass(frozen=True)
class DivergenceMonitor:
    """Statistics of the losses of a run so far, which are saved with every checkpoint."""

    skipped: int = 0  # number of skipped steps
    skipped_in_a_row: int = 0  # number of skipped steps since the last step that was not skipped
    losses: int = 0  # number of steps that were not skipped
    level: float = 0.0  # moving average of the losses
    variance: float = 0.0  # moving variance of the losses
    lowest: float = math.inf  # lowest moving average so far
    spread: float = 0.0  # standard deviation of the losses when the moving average was lowest
    worse_in_a_row: int = 0  # number of steps since the moving average was last close to the lowest

    def after_skipped(self) -> Self:
        """Return the statistics after a step that was skipped because its gradient was not finite."""
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
        """Return the reason why the run diverges, or None if it does not."""
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
    remedies.append(f"a longer warm-up (train.warmup_steps is {settings.warmup_steps:,})")
    kept = f"; the parameters with the best validation loss are kept in {best}" if best else ""
    advice = f"start again in another --out with {', or '.join(remedies)}"
    return f"the run diverged at step {step:,}: {problem}; {advice}{kept}"
