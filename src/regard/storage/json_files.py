"""Reads and writes JSON files. Large files are refused, and some files contain a hash of their own content."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.storage.atomic_files import write_atomically

MAX_JSON_BYTES = 1 << 24  # a larger file is refused; Regard only writes smaller ones


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented JSON, atomically."""
    write_atomically(path, json_text(value))


def json_text(value: Any) -> str:
    """Return `value` as indented JSON, as `write_json` writes it."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def read_json(path: Path) -> Any:
    """Read a JSON file. Raise a ValueError if it is too large, nested too deeply, or not JSON."""
    if path.stat().st_size > MAX_JSON_BYTES:
        raise ValueError(f"more than {MAX_JSON_BYTES:,} bytes")
    try:
        return json.loads(path.read_text("utf-8"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def write_hashed_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON object together with its hash, for a file that no manifest lists."""
    write_json(path, {**value, "sha256": _content_hash(value)})


def read_hashed_json(path: Path) -> dict[str, Any]:
    """Read a file that `write_hashed_json` has written. Raise a ValueError if it was changed since then."""
    try:
        value = read_json(path)
        expected = value.pop("sha256")
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ValueError(f"{path} is not readable") from None
    if expected != _content_hash(value):
        raise ValueError(f"{path} was changed after it was written (its SHA-256 differs)")
    return dict(value)


def _content_hash(value: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
