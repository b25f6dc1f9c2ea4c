"""Files that are written whole or not at all, and stay written when the power goes.

The order is always: write a temporary, sync it, rename it, sync its folder. A reader sees the old content or
the new, never a half.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHUNK = 1 << 20


def sync(path: Path) -> None:
    """Ask the disk to keep `path`, a file or a folder."""
    if path.is_dir() and os.name == "nt":
        return  # Windows cannot open a folder; its renames are durable without it.
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomically(path: Path, data: bytes | str) -> None:
    """Replace `path` by `data`, wholly or not at all."""
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_bytes(data.encode() if isinstance(data, str) else data)
    sync(temporary)
    temporary.replace(path)
    sync(path.parent)


def make_folder(path: Path) -> None:
    """Make a folder and those on the way to it, so that they stay when the power goes."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        sync(path.parent)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder that becomes `path` when the block ends well.

    What an interrupted attempt left under the temporary name is thrown away first.
    """
    temporary = path.with_name(path.name + ".tmp")
    if temporary.exists():
        shutil.rmtree(temporary)
    make_folder(path.parent)
    temporary.mkdir()
    try:
        yield temporary
        for inner in sorted(temporary.rglob("*")):
            sync(inner)
        sync(temporary)
    except BaseException:
        # A full disk should not stay full because of us.
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    if path.exists():
        shutil.rmtree(path)
    temporary.replace(path)
    sync(path.parent)


def sha256(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(CHUNK):
            digest.update(block)
    return digest.hexdigest()


def write_json(path: Path, value: Any) -> None:
    """Write `value` as readable JSON, atomically."""
    write_atomically(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """Read what `write_json` wrote."""
    return json.loads(path.read_text("utf-8"))


def write_manifest(folder: Path, names: list[str]) -> None:
    """Record size and hash of `names`, files of `folder`. Written last: its presence says the folder is whole."""
    entries = {name: {"bytes": (folder / name).stat().st_size, "sha256": sha256(folder / name)} for name in names}
    write_json(folder / "manifest.json", entries)


def damage(folder: Path, only: Sequence[str] | None = None) -> str | None:
    """What is wrong with a folder, or only with some of its files, according to its manifest; None if nothing is."""
    try:
        manifest = read_json(folder / "manifest.json")
        names = manifest.keys() if only is None else only
        entries = [(name, int(manifest[name]["bytes"]), manifest[name]["sha256"]) for name in names]
    except FileNotFoundError:
        return f"{folder / 'manifest.json'} is missing"
    except (AttributeError, KeyError, TypeError, ValueError):
        return f"{folder / 'manifest.json'} is not readable"
    for name, size, hashed in entries:
        path = folder / name
        if not path.is_file():
            return f"{path} is missing"
        if path.stat().st_size != size:
            return f"{path} has {path.stat().st_size:,} bytes instead of {size:,}"
        if sha256(path) != hashed:
            return f"{path} was changed after it was written (its SHA-256 differs)"
    return None
