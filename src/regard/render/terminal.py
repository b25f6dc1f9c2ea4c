"""The width and the colours of a terminal, and text in these colours."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass

from regard.render.colour_scale import colour


@dataclass(frozen=True)
class TerminalStyle:
    """The width of a terminal and its number of colours: 0, 256 or 16,777,216."""

    width: int = 80
    colours: int = 0

    def paint(self, text: str, weight: float) -> str:
        """Return text on a background whose colour shows a weight from 0 to 1."""
        if not self.colours:
            return text
        foreground = "30" if weight > 0.55 else "97"
        return f"\x1b[{foreground};{self._code(48, weight)}m{text}\x1b[0m"

    def pixel(self, upper: float, lower: float) -> str:
        """Return one character whose upper and lower half show two weights as colours."""
        return f"\x1b[{self._code(38, upper)};{self._code(48, lower)}m▀\x1b[0m"

    def strong(self, text: str) -> str:
        return f"\x1b[1m{text}\x1b[0m" if self.colours else text

    def _code(self, layer: int, weight: float) -> str:
        red, green, blue = colour(weight)
        if self.colours > 256:
            return f"{layer};2;{red};{green};{blue}"
        near = [round(channel / 255 * 5) for channel in (red, green, blue)]
        return f"{layer};5;{16 + 36 * near[0] + 6 * near[1] + near[2]}"


def terminal_style(environment: Mapping[str, str], is_terminal: bool) -> TerminalStyle:
    """Return the style of the current terminal.

    NO_COLOR turns colours off. FORCE_COLOR turns them on even if the output goes to a file or a pager.
    """
    width = shutil.get_terminal_size().columns
    forced = bool(environment.get("FORCE_COLOR"))
    if environment.get("NO_COLOR") or environment.get("TERM") == "dumb" or not (is_terminal or forced):
        return TerminalStyle(width)
    true_colour = environment.get("COLORTERM") in ("truecolor", "24bit")
    return TerminalStyle(width, 1 << 24 if true_colour else 256)
