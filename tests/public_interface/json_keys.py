"""The keys of a JSON value, as sorted paths. Keys that are data (head addresses, side names) become `*`."""

from collections.abc import Iterator
from typing import Any


def key_paths(value: Any, data_keys: frozenset[str]) -> list[str]:
    """Return the paths of all keys; below the paths in `data_keys`, any key is written `*`."""
    return sorted(set(_paths(value, "", data_keys)))


def _paths(value: Any, path: str, data_keys: frozenset[str]) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _paths(item, f"{path}[]", data_keys)
    elif isinstance(value, dict):
        for key, item in value.items():
            inner = f"{path}.{'*' if path in data_keys else key}".lstrip(".")
            yield inner
            yield from _paths(item, inner, data_keys)
