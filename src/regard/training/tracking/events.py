"""The events that a training run yields; the caller may show or ignore them."""

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
    """The plan is complete, and training begins."""

    plan: Plan
    resumed: int  # step after which an interrupted run resumes, or 0 for a new run


@dataclass(frozen=True)
class Stopped:
    """The run was asked to stop and saved a checkpoint after `step`; the same command resumes it."""

    step: int


@dataclass(frozen=True)
class Finished:
    """The run is complete, and the model is in `folder`.

    `scores` and `kept` are missing if an earlier call has already finished the run.
    """

    folder: Path
    scores: Validation | None = None  # validation scores of the model
    kept: str = ""  # description of the parameters that were kept, such as "the last checkpoint"


Event = Progress | Note | Planned | Step | Validation | Stopped | Finished
