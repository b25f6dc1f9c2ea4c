"""Long-running functions are generators: they yield their progress and return their result."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeVar

Result = TypeVar("Result")

Work = Generator["Progress", None, Result]


@dataclass(frozen=True)
class Progress:
    """How much of a task is done."""

    stage: str  # description of the task, such as "training the tokenizer"
    done: int  # in bytes, lines or other units
    total: int  # in the same units as `done`


def run_to_end(work: Work[Result]) -> Result:
    """Run a generator that yields its progress, without showing the progress, and return the generator's result."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: Result = end.value
            return result
