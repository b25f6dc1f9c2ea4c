"""Whether a run still learns, judged by its losses alone, so that a resumed run is judged as an uninterrupted one.

A step whose gradient is not finite is skipped, and forgiven unless many follow each other. A run diverges when its
losses stay far above what they once were: three times their own spread and a whole unit, for a hundred steps. Then it
stops, with advice.
"""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from regard.settings.train import TrainSettings

SKIPPED_IN_A_ROW = 10

WORSE_IN_A_ROW = 100

SPREADS = 3.0

LEAST_RISE = 1.0  # per target piece: a fine-tune that begins near zero may rise by less, and learn

_MEMORY = 25  # steps that the recent level is made of


@dataclass(frozen=True)
class DivergenceMonitor:
    """What a run remembers of its losses. All of it is saved with its progress."""

    skipped: int = 0
    skipped_in_a_row: int = 0
    losses: int = 0
    level: float = 0.0  # the recent mean
    variance: float = 0.0
    lowest: float = math.inf  # the lowest level so far
    spread: float = 0.0  # the standard deviation there
    worse_in_a_row: int = 0

    def after_skipped(self) -> Self:
        return replace(self, skipped=self.skipped + 1, skipped_in_a_row=self.skipped_in_a_row + 1)

    def after(self, loss: float) -> Self:
        """With one more loss taken into account."""
        share = max(1 / (self.losses + 1), 1 / _MEMORY)
        difference = loss - self.level
        level = self.level + share * difference
        variance = (1 - share) * (self.variance + share * difference * difference)
        lowest, spread = self.lowest, self.spread
        if self.losses + 1 >= _MEMORY and level < lowest:
            lowest, spread = level, math.sqrt(variance)
        is_worse = level > lowest + max(LEAST_RISE, SPREADS * spread)
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

    def trouble(self) -> str | None:
        """What is wrong, if the run should not go on."""
        if self.skipped_in_a_row >= SKIPPED_IN_A_ROW:
            return f"the gradients of the last {self.skipped_in_a_row} steps were not finite numbers"
        if self.worse_in_a_row >= WORSE_IN_A_ROW:
            return (
                f"the loss is {self.level:.2f}, was {self.lowest:.2f} at its lowest, and has stayed far above that for "
                f"{self.worse_in_a_row} steps"
            )
        return None


def advice(seen: str, step: int, settings: TrainSettings, best: Path | None) -> str:
    """What to tell whoever started a run that diverges; `best` is the checkpoint worth keeping, if any."""
    ways = [f"a lower train.learning_rate (it is {settings.learning_rate:g}; try {settings.learning_rate / 3:.1g})"]
    if not settings.max_grad_norm:
        ways.append("--set train.max_grad_norm=1")
    ways.append(f"a longer train.warmup_steps (it is {settings.warmup_steps:,} steps)")
    kept = f"; the weights of the best validation loss stay in {best}" if best else ""
    return f"the run diverges at step {step:,}: {seen}; start again in another --out, with {', or '.join(ways)}{kept}"
