"""What a training run says while it goes: events that a caller shows or ignores."""

from dataclasses import dataclass
from pathlib import Path

from regard.progress import Progress
from regard.training.planning.plan import Plan
from regard.training.step import Step
from regard.training.validation import Validation


@dataclass(frozen=True)
class Note:
    """Something worth saying."""

    text: str


@dataclass(frozen=True)
class Planned:
    """The plan is fixed; learning begins, or goes on, after step `resumed`."""

    plan: Plan
    resumed: int


@dataclass(frozen=True)
class Stopped:
    """Asked to stop, the run saved itself after `step`. The same command goes on."""

    step: int


@dataclass(frozen=True)
class Finished:
    """The model is in `folder`, with these validation scores."""

    folder: Path
    scores: Validation | None = None
    kept: str = ""


Event = Progress | Note | Planned | Step | Validation | Stopped | Finished
