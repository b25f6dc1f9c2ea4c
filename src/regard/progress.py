"""Long work as a generator: it yields its progress and returns its result."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeVar

Result = TypeVar("Result")

Work = Generator["Progress", None, Result]


@dataclass(frozen=True)
class Progress:
    """How far a stage is, in bytes or lines."""

    stage: str
    done: int
    total: int


def run_to_end(work: Work[Result]) -> Result:
    """What some work comes to, when nobody watches."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: Result = end.value
            return result
