"""The learning rate schedule: computes the learning rate from the number of the step."""

from regard.settings.train import TrainSettings


def learning_rate(step: int, settings: TrainSettings, width: int) -> float:
    """Return the learning rate of a step; the first step is 1."""
    if settings.schedule == "paper":
        # Section 5.3 of the paper: width^-0.5 * min(step^-0.5, step * warmup^-1.5)
        return float(
            settings.learning_rate * width**-0.5 * min(step**-0.5, step * max(1, settings.warmup_steps) ** -1.5)
        )
    # In a short run, the warm-up takes at most a quarter of the steps.
    warmup = min(settings.warmup_steps, settings.steps // 4)
    rising = step / max(1, warmup)
    falling = (settings.steps + 1 - step) / (settings.steps + 1 - warmup)
    return settings.learning_rate * min(rising, falling)


def peak_rate(settings: TrainSettings, width: int) -> float:
    """Return the learning rate at the end of the warm-up."""
    if settings.schedule == "paper":
        return float(settings.learning_rate * (width * max(1, settings.warmup_steps)) ** -0.5)
    return settings.learning_rate
