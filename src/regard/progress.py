"""Long work is a generator that yields its progress and returns its result."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeVar

Result = TypeVar("Result")

Work = Generator["Progress", None, Result]


@dataclass(frozen=True)
class Progress:
    """How much of a stage is done, in bytes, lines or other units."""

    stage: str
    done: int
    total: int


def run_to_end(work: Work[Result]) -> Result:
    """Run work to its end without showing its progress, and return its result."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: Result = end.value
            return result
