"""Files and folders that are written completely or not at all, and survive a power failure.

The order is always the same: write a temporary file, sync it, rename it, sync its folder. A reader sees the old content
or the new, never a mixture. A full disk leaves the old content too, and the error names the path and the bytes needed.
"""

import errno
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regard.errors import DiskError

_DISK_FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}


def sync(path: Path) -> None:
    """Flush a file or a folder to disk."""
    if path.is_dir() and os.name == "nt":
        return  # Windows cannot open a folder, but its renames are durable without a sync.
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomically(path: Path, data: bytes | str) -> None:
    """Replace the content of `path` by `data`, completely or not at all."""
    temporary = path.with_name(path.name + ".tmp")
    data = data.encode() if isinstance(data, str) else data
    with explain_full_disk(path, len(data)), _remove_on_failure(temporary):
        temporary.write_bytes(data)
        sync(temporary)
    temporary.replace(path)
    sync(path.parent)


@contextmanager
def explain_full_disk(path: Path, needed: int | None = None) -> Iterator[None]:
    """Turn the error of a full disk into a `DiskError` that says where, and how many bytes are `needed`, if known."""
    try:
        yield
    except Exception as error:
        if not _is_disk_full(error):
            raise
        free = shutil.disk_usage(path.parent).free
        if needed is None:
            problem = f"more than the {free:,} free bytes are needed"
        else:
            problem = f"{needed:,} bytes are needed and {free:,} are free"
        raise DiskError(
            f"{path}: the disk is full: {problem}; free some space, then run the same command again; earlier files are "
            "unchanged"
        ) from error


def _is_disk_full(error: Exception) -> bool:
    if isinstance(error, DiskError):
        return True  # raised for one file of a folder; the folder needs more
    if isinstance(error, OSError):
        return error.errno in _DISK_FULL
    # safetensors reports it only as text: "I/O error: No space left on device (os error 28)".
    match = re.search(r"\(os error (\d+)\)", str(error))
    return match is not None and int(match[1]) in _DISK_FULL


@contextmanager
def _remove_on_failure(path: Path) -> Iterator[None]:
    """Free the space of a failed attempt."""
    try:
        yield
    except BaseException:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
        raise


def make_folder(path: Path) -> None:
    """Create a folder and its missing parents, and sync each, so that they survive a power failure."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        sync(path.parent)


@contextmanager
def new_folder(path: Path, needed: int | None = None) -> Iterator[Path]:
    """Yield a temporary folder that becomes `path` if the block succeeds; `needed` is its size in bytes, if known.

    The temporary folder of an interrupted attempt is removed first.
    """
    temporary, old = path.with_name(path.name + ".tmp"), path.with_name(path.name + ".old")
    if temporary.exists():
        shutil.rmtree(temporary)
    make_folder(path.parent)
    recover_interrupted_replace(path)
    with explain_full_disk(path, needed), _remove_on_failure(temporary):
        temporary.mkdir()
        yield temporary
        for inner in sorted(temporary.rglob("*")):
            sync(inner)
        sync(temporary)
    # At every moment either the old or the new folder is complete: the old one is removed last.
    if path.exists():
        path.replace(old)
    temporary.replace(path)
    sync(path.parent)
    if old.exists():
        shutil.rmtree(old)


def recover_interrupted_replace(path: Path) -> None:
    """Undo or finish a replacement of the folder `path` that was interrupted."""
    old = path.with_name(path.name + ".old")
    if old.exists():
        if path.exists():
            shutil.rmtree(old)
        else:
            old.replace(path)
