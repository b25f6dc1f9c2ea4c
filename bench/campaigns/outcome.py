"""What a campaign found: figures, and faults, which are what must not happen."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

Item = TypeVar("Item")

_MAX_FAULTS = 20  # that are kept; all are counted


@dataclass
class Outcome:
    """The figures of a campaign by their name, and its faults."""

    facts: dict[str, Any] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    fault_count: int = 0

    def count(self, name: str, by: int = 1) -> None:
        self.facts[name] = self.facts.get(name, 0) + by

    def fault(self, text: str) -> None:
        self.fault_count += 1
        if len(self.faults) < _MAX_FAULTS:
            self.faults.append(text)

    def check(self, holds: bool, text: str) -> None:
        if not holds:
            self.fault(text)


async def for_each(items: Iterable[Item], tasks: int, work: Callable[[int, Iterable[Item]], Awaitable[None]]) -> None:
    """Let several tasks work through items at the same time; each gets its number and the items that it takes."""
    shared = iter(items)
    await asyncio.gather(*(work(number, shared) for number in range(tasks)))


def percentile(values: Iterable[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
