"""Hashes of files, and the manifest of a folder, which lists the sizes and hashes of its files."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from regard.storage.atomic_files import write_atomically
from regard.storage.json_files import read_json, write_json

CHUNK = 1 << 20


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(CHUNK):
            digest.update(block)
    return digest.hexdigest()


def write_manifest(folder: Path, names: list[str]) -> None:
    """Write the manifest of a folder, with the sizes and hashes of these files.

    Call this last, because a manifest marks a folder as complete.
    """
    write_json(folder / "manifest.json", {name: _entry(folder / name) for name in names})


def write_folder_manifest(folder: Path) -> None:
    """Write a manifest of all files in `folder` and its subfolders."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    write_manifest(folder, names)


def replace_file(folder: Path, name: str, text: str) -> None:
    """Replace one file that a manifest lists, and its entry in the manifest.

    A crash leaves the folder valid, with the old or the new file: until the file is replaced, the manifest accepts
    both.
    """
    manifest = read_json(folder / "manifest.json")
    content = text.encode()
    entry = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    # The entry of the file on disk, not that in the manifest: after a crash, that may be of a file never written.
    previous = _entry(folder / name)
    write_json(folder / "manifest.json", {**manifest, name: {**entry, "previous": previous}})
    write_atomically(folder / name, content)
    write_json(folder / "manifest.json", {**manifest, name: entry})


def _entry(path: Path) -> dict[str, Any]:
    return {"bytes": path.stat().st_size, "sha256": sha256(path)}


def is_safe_relative_name(name: str) -> bool:
    """Return whether a relative path stays inside its folder on all operating systems."""
    plain = not re.search(r"[\x00-\x1f\x7f\\:]", name)
    return (
        plain and name == str(PurePosixPath(name)) and name[:1] != "/" and ".." not in name.split("/") and name != "."
    )


def find_damage(folder: Path, only: Sequence[str] | None = None) -> str | None:
    """Compare the files of a folder with its manifest; return a description of the first problem, or None.

    With `only`, check only the files with these names.
    """
    try:
        manifest = read_json(folder / "manifest.json")
        names = manifest.keys() if only is None else only
        entries = {name: _accepted(manifest[name]) for name in names}
    except FileNotFoundError:
        return f"{folder / 'manifest.json'} is missing"
    except (AttributeError, KeyError, TypeError, ValueError):
        return f"{folder / 'manifest.json'} is not readable"
    if not all(map(is_safe_relative_name, entries)):
        return f"{folder / 'manifest.json'} is not readable"
    for name, accepted in entries.items():
        path = folder / name
        if not path.is_file():
            return f"{path} is missing"
        size = path.stat().st_size
        if size not in [expected for expected, _ in accepted]:
            return f"{path} has {size:,} bytes instead of {accepted[0][0]:,}"
        if (size, sha256(path)) not in accepted:
            return f"{path} was changed after it was written (its SHA-256 differs)"
    return None


def _accepted(entry: dict[str, Any]) -> list[tuple[int, str]]:
    """Return the size and hash that a file must have; while `replace_file` replaces it, also those of the old file."""
    versions = [entry, *([entry["previous"]] if "previous" in entry else [])]
    if any(type(version["bytes"]) is not int for version in versions):
        raise ValueError("the size of a file is not a whole number")
    return [(version["bytes"], version["sha256"]) for version in versions]


def is_up_to_date(folder: Path, wanted: dict[str, Any]) -> bool:
    """Return whether `folder` is undamaged and its `info.json` has the wanted values."""
    if not folder.is_dir() or find_damage(folder) is not None:
        return False
    info = read_json(folder / "info.json")
    return all(info.get(name) == value for name, value in wanted.items())
