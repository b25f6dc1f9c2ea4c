"""The paths that the server answers, as logs and metrics name them: with `{name}` for what differs between requests."""

import re
from collections.abc import Iterable

from starlette.routing import compile_path

OTHER = "other"  # what requests for other paths are called


class RouteTable:
    """Finds the route of a path."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = tuple(dict.fromkeys(paths))
        self._plain = {path for path in self.paths if "{" not in path}
        self._patterns: list[tuple[re.Pattern[str], str]] = [
            (compile_path(path)[0], path) for path in self.paths if "{" in path
        ]

    def find(self, path: str) -> str:
        """Return the route of a path without the root path, or "other"."""
        if path in self._plain:
            return path
        return next((route for pattern, route in self._patterns if pattern.match(path)), OTHER)
