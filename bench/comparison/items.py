"""One compared item, and its line of output."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

from comparison.checkout import CommandError


@dataclass(frozen=True)
class Item:
    """What was compared, and how it differs or what was measured; without either, it is equal."""

    name: str
    difference: str | None = None
    measured: str | None = None

    def line(self) -> str:
        """Write the item as a line of output."""
        if self.difference is not None:
            return f"DIFFERENT  {self.name}: {self.difference}"
        return f"measured   {self.name}: {self.measured}" if self.measured is not None else f"equal      {self.name}"


def compared(name: str, difference: Callable[[], str | None]) -> Item:
    """Compare one item; a command that fails makes it different, because then nothing was compared."""
    say(name)
    try:
        return Item(name, difference())
    except (CommandError, ValueError) as error:
        return Item(name, str(error))


def say(running: str) -> None:
    """Tell on standard error what is running now."""
    sys.stderr.write(f"running: {running}\n")
    sys.stderr.flush()
