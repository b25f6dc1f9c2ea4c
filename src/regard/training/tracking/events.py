"""The events of a training run, which a caller may show or ignore."""

from dataclasses import dataclass
from pathlib import Path

from regard.progress import Progress
from regard.training.planning.plan import Plan
from regard.training.step import Step
from regard.training.validation import Validation


@dataclass(frozen=True)
class Note:
    """A message for the user."""

    text: str


@dataclass(frozen=True)
class Planned:
    """The plan is fixed, and training starts or resumes after step `resumed`."""

    plan: Plan
    resumed: int


@dataclass(frozen=True)
class Stopped:
    """The run was asked to stop and saved a checkpoint after `step`; the same command resumes it."""

    step: int


@dataclass(frozen=True)
class Finished:
    """The model is in `folder`; `scores` and `kept` describe the chosen parameters, if they were chosen just now."""

    folder: Path
    scores: Validation | None = None
    kept: str = ""


Event = Progress | Note | Planned | Step | Validation | Stopped | Finished
