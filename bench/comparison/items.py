"""The result of comparing one item, and how it is printed."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

from comparison.checkout import CommandError


@dataclass(frozen=True)
class Item:
    """The result of one comparison.

    `difference` describes how the checkouts differ, `measured` what was measured; if both are None, they are equal.
    """

    name: str
    difference: str | None = None
    measured: str | None = None

    def line(self) -> str:
        """Return the item as a line of output."""
        if self.difference is not None:
            return f"DIFFERENT  {self.name}: {self.difference}"
        return f"measured   {self.name}: {self.measured}" if self.measured is not None else f"equal      {self.name}"


def compared(name: str, difference: Callable[[], str | None]) -> Item:
    """Compare one item. If a command fails, the item counts as different, because nothing was compared."""
    say(name)
    try:
        return Item(name, difference())
    except (CommandError, ValueError) as error:
        return Item(name, str(error))


def say(running: str) -> None:
    """Print to standard error what is running now."""
    sys.stderr.write(f"running: {running}\n")
    sys.stderr.flush()
