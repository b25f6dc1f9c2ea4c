"""Text for a terminal: its width and its colours."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass

from regard.render.colour_scale import colour


@dataclass(frozen=True)
class TerminalStyle:
    """What is written on: how wide it is, and how many colours it has (0, 256 or 16,777,216)."""

    width: int = 80
    colours: int = 0

    def paint(self, text: str, weight: float) -> str:
        """Text on the colour of a weight."""
        if not self.colours:
            return text
        ink = "30" if weight > 0.55 else "97"
        return f"\x1b[{ink};{self._code(48, weight)}m{text}\x1b[0m"

    def pixel(self, upper: float, lower: float) -> str:
        """Two weights, one above the other."""
        return f"\x1b[{self._code(38, upper)};{self._code(48, lower)}m▀\x1b[0m"

    def strong(self, text: str) -> str:
        return f"\x1b[1m{text}\x1b[0m" if self.colours else text

    def _code(self, ground: int, weight: float) -> str:
        red, green, blue = colour(weight)
        if self.colours > 256:
            return f"{ground};2;{red};{green};{blue}"
        near = [round(part / 255 * 5) for part in (red, green, blue)]
        return f"{ground};5;{16 + 36 * near[0] + 6 * near[1] + near[2]}"


def terminal_style(environment: Mapping[str, str], is_terminal: bool) -> TerminalStyle:
    """How wide the terminal is and what colours it has; NO_COLOR turns them off, FORCE_COLOR on (for a pager)."""
    width = shutil.get_terminal_size().columns
    forced = bool(environment.get("FORCE_COLOR"))
    if environment.get("NO_COLOR") or environment.get("TERM") == "dumb" or not (is_terminal or forced):
        return TerminalStyle(width)
    full = environment.get("COLORTERM") in ("truecolor", "24bit")
    return TerminalStyle(width, 1 << 24 if full else 256)
